//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
)

// A lane does one work after the other, in one project after the other, and kills
// whatever does it until its kills are used up.
type lane struct {
	*project
	number  int
	planner *planner
	works   int
}

func (w *world) newLane(number, kills int) *lane {
	return &lane{project: &project{world: w}, number: number, planner: newPlanner(w.Seed, uint64(number), kills)}
}

const (
	// worksEach is how many works a project sees.
	worksEach = 3
	// killsEach is how often a work is cut before it is left to come to its end. A run
	// that has ended five processes in a row is given up, as it should be.
	killsEach = 4
)

func (l *lane) run(ctx context.Context) (err error) {
	for ; l.planner.more(); l.works++ {
		if l.works%worksEach == 0 {
			if l.project, err = l.world.newProject(ctx, fmt.Sprintf("lane-%d-%d", l.number, l.works)); err != nil {
				return err
			}
		}
		w, err := l.newWork(l.number+l.works, (l.number<<20+l.works)*tasksEach)
		if err != nil {
			return err
		}
		if err := l.do(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// do goes on with a work until it is done, whatever becomes of its processes.
func (l *lane) do(ctx context.Context, w *work) error {
	for {
		args := w.next(l.project, l.planner.random.IntN(6) == 0)
		if args == nil {
			return l.conclude(w)
		}
		c := command{args: args}
		if args[1] == "chat" {
			c.input = strings.Join(w.left(l.project), "\n")
		}
		if l.planner.more() && w.kills < killsEach {
			c.end = l.planner.next(func(p failpoint.Point) bool { return l.reaches(w, args, p) })
		}
		o, err := l.project.do(ctx, c)
		if err != nil {
			return err
		}
		l.count(w, c.end, o)
		if !o.killed && o.code != 0 && o.code != exitInput {
			l.problem("troupe %q: exit code %d: %s", args, o.code, o.err)
			return nil
		}
		w.done = o.code == 0
		if err := l.inspect(ctx, w, o); err != nil {
			return err
		}
	}
}

// exitInput is troupe's exit code where the user must answer first.
const exitInput = 4

// reaches reports whether a command may get to a point.
func (l *lane) reaches(w *work, args []string, p failpoint.Point) bool {
	switch p {
	case failpoint.StoreBeforeRename, failpoint.StoreAfterRename:
		return l.isFresh()
	case failpoint.AnswerRecorded:
		return args[1] == "chat" && slices.Contains(w.left(l.project), approval)
	case failpoint.FolderMade:
		return len(w.sessions) == 0
	case failpoint.FolderSetAside, failpoint.SessionForgotten, failpoint.DeliveryForgotten, failpoint.RepositoryMade, failpoint.BranchTaking, failpoint.BranchTaken:
		return false // only deletions do
	}
	return true
}

func (l *lane) count(w *work, how plan, o *outcome) {
	l.planner.note(how, o)
	if !o.killed {
		return
	}
	w.kills++
	if how.point != "" {
		l.world.report.hit(how.point)
	} else {
		l.world.report.add(randomKills, 1)
	}
}

// conclude looks at the answers that a work has come to.
func (l *lane) conclude(w *work) error {
	l.world.report.add(sessions, len(w.sessions))
	if w.batch != "" && len(w.sessions) != len(w.messages) {
		l.problem("%s has %d sessions, of %d inputs", filepath.Base(w.batch), len(w.sessions), len(w.messages))
	}
	for _, id := range w.sessions {
		s := l.seen[id]
		last := w.messages[len(w.messages)-1]
		if w.batch != "" {
			last = s.info.Title
		}
		if want := taskIs.FindString(last) + "-"; s.info.Status != "completed" || !strings.HasPrefix(s.answer, want) {
			l.problem("session %s is %s with the answer %q, which does not begin with %s", id, s.info.Status, s.answer, want)
		}
	}
	for _, message := range w.messages {
		if task := taskIs.FindString(message); task != "" {
			l.world.model.check(task, w.kills)
		}
	}
	return l.checkLedger(w)
}

// checkLedger looks for what was done twice, and for what was said to be done and
// was not.
func (l *lane) checkLedger(w *work) error {
	lines, err := entries(l.ledger())
	if err != nil {
		return err
	}
	for line, n := range lines {
		if n > 1 {
			l.problem("the ledger has %s %d times", line, n)
		}
	}
	for _, id := range w.sessions {
		for i := range l.seen[id].events {
			if b, ok := l.seen[id].events[i].Body.(*troupe.ToolReturned); ok && b.Tool == "ledger__enter" {
				l.world.report.add(effects, 1)
				if b.Class == "" && lines[b.CallID] == 0 {
					l.problem("session %s: the ledger does not have %s, which returned", id, b.CallID)
				} else if b.Class != "" && b.Class != "interrupted" {
					l.problem("session %s: %s: %s", id, b.CallID, b.Error)
				}
			}
		}
	}
	return nil
}

// results reads what a batch has printed: the session and the answer of each input.
func (l *lane) results(o *outcome) map[string]string {
	answers := map[string]string{}
	for _, line := range o.lines() {
		var r struct{ Session, Status, Answer, Error string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Status != "success" {
			l.problem("a batch's result: %s", strings.TrimSpace(line))
			continue
		}
		answers[r.Session] = r.Answer
	}
	return answers
}

// leftovers looks for files that only a process at work may have.
func (p *project) leftovers() error {
	return filepath.WalkDir(filepath.Join(p.dir, "data"), func(path string, d os.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), ".troupe-tmp-") || strings.Contains(d.Name(), ".db.new") || strings.Contains(d.Name(), "damaged")) {
			p.problem("%s is there after a process that came to its end", path)
		}
		return err
	})
}

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A work is something to be done with one session, or with several at once.
type work struct {
	agent string
	// messages are what the user says, one after the other. Of a batch, each is the
	// task of a session of its own.
	messages []string
	batch    string // the file, empty for one session
	sessions []string
	kills    int
	done     bool // that is, the batch's last command has said so
}

// approval is the answer to a question.
const approval = "yes"

// newWork begins something else each time. Tasks are numbered from first.
func (p *project) newWork(kind, first int) (*work, error) {
	task := func(i int, script string) string { return fmt.Sprintf("T%d %s", first+i, script) }
	switch kind % 4 {
	case 0:
		return &work{agent: "scribe", messages: []string{
			task(0, "{scribe=ledger,write:a.md+calc+ledger,ledger+write:b.md}"), task(1, "{scribe=write:guarded.md+ledger}"), approval,
			task(2, "{scribe=write:a.md,write:a.md}"), task(3, "{scribe=ledger}"),
		}}, nil
	case 1:
		return &work{agent: "story", messages: []string{
			task(0, "{scribe=ledger,write:s.md} {writer=write:w.md,write:w.md} {critic=ledger,calc+ledger} {editor=write:e.md}")}}, nil
	case 2:
		w := &work{agent: "scribe", batch: filepath.Join(p.dir, fmt.Sprintf("batch-%d.jsonl", first))}
		var file strings.Builder
		for i := range 4 {
			w.messages = append(w.messages, task(i, "{scribe=ledger,write:a.md+ledger,write:b.md}"))
			fmt.Fprintf(&file, "%q\n", w.messages[i])
		}
		return w, os.WriteFile(w.batch, []byte(file.String()), 0o644)
	default:
		return &work{agent: "mira", messages: []string{task(0, "{mira=save:a.md,save:a.md+save:b.md}"), task(1, "{mira=save:b.md}")}}, nil
	}
}

// tasksEach is how many numbers a work may use up.
const tasksEach = 6

var taskNumber = regexp.MustCompile(`^T[0-9]+ `)

// has reports whether a session belongs to the work, by what the user said first.
func (w *work) has(summary string) bool {
	number := taskNumber.FindString(summary)
	return number != "" && slices.ContainsFunc(w.messages, func(m string) bool { return strings.HasPrefix(m, number) })
}

// said is how many of the messages are in a session's log.
func (w *work) said(s *session) int {
	n := 0
	for i := range s.events {
		if said, ok := s.events[i].Body.(*troupe.UserSaid); ok && s.events[i].Parent == "" {
			n = max(n, 1+slices.Index(w.messages, said.Text))
		}
	}
	return n
}

// next returns the command that goes on with the work, or none if all is done. With
// skip, a run that was cut is not resumed where the user can say something else.
func (w *work) next(p *project, skip bool) []string {
	switch {
	case w.batch != "" && w.done:
		return nil
	case w.batch != "":
		return []string{"--json", "run", w.agent, "--each", w.batch}
	case len(w.sessions) == 0 && w.agent == "story":
		return []string{"--json", "run", w.agent, w.messages[0]}
	case len(w.sessions) == 0:
		return []string{"--json", "chat", w.agent}
	}
	id := w.sessions[0]
	s, left := p.seen[id], w.left(p)
	switch {
	case (s.info.Status == "running" || s.info.Status == "failed") && !(skip && len(left) > 0 && left[0] != approval):
		return []string{"--json", "sessions", "resume", id}
	case len(left) > 0:
		return []string{"--json", "chat", w.agent, "--session", id}
	}
	return nil
}

// left are the messages that are still to be sent.
func (w *work) left(p *project) []string {
	if len(w.sessions) == 0 {
		return w.messages
	}
	return w.messages[w.said(p.seen[w.sessions[0]]):]
}

//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// cutsEach is how often a deletion and a fork are killed at each point.
const cutsEach = 3

// cutDeletions kills processes that delete a session, and such that fork one, and looks
// for what is left: a session is there with its files, or nothing of it is.
func (w *world) cutDeletions(ctx context.Context) error {
	p, old, err := w.prepared(ctx, "deletions", cutTasks)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(w.Seed, lanes+1))
	points := []failpoint.Point{failpoint.FolderSetAside, failpoint.SessionForgotten, failpoint.StoreBeforeCommit, failpoint.StoreAfterCommit, ""}
	for i := range cutsEach * len(points) {
		end := plan{point: points[i%len(points)], pass: 1 + random.IntN(2)}
		if end.point == failpoint.FolderSetAside || end.point == failpoint.SessionForgotten {
			end.pass = 1
		}
		if end.point == "" {
			end = plan{after: time.Duration(1+random.IntN(100)) * time.Millisecond}
		}
		if err := w.cutDeletion(ctx, p, cutTasks+1+i, end); err != nil {
			return err
		}
		if err := w.cutFork(ctx, p, old, end); err != nil {
			return err
		}
	}
	return p.leftovers()
}

// cutDeletion kills a deletion, and has the next process find all or nothing.
func (w *world) cutDeletion(ctx context.Context, p *project, task int, end plan) error {
	o, err := p.do(ctx, runTask(task))
	if err != nil {
		return err
	}
	id, err := p.mustAnswer(ctx, task, o)
	if err != nil || id == "" {
		return err
	}
	delete := command{args: []string{"sessions", "delete", id}, end: end}
	if o, err = p.do(ctx, delete); err != nil {
		return err
	}
	if o.killed {
		w.report.add(deletions, 1)
		if end.point != "" {
			w.report.hit(end.point)
		}
	} else if o.code != 0 {
		p.problem("delete session %s: exit code %d: %s", id, o.code, o.err)
	}
	// The next start finishes what was begun.
	if o, err = p.do(ctx, command{args: []string{"-q", "chat", "writer", "-m", fmt.Sprintf("T%d {writer=write:a.md}", task+1<<10)}}); err != nil {
		return err
	}
	if o.code != 0 {
		p.problem("after a deletion was killed: exit code %d: %s", o.code, o.err)
	}
	listed, err := p.isListed(ctx, id)
	if err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Join(p.folders(), id, "a.md"))
	if listed != (missing == nil) {
		p.problem("session %s: it is listed: %v, and its files: %v", id, listed, missing)
	}
	if left, _ := filepath.Glob(filepath.Join(p.folders(), ".deleted", "*")); len(left) > 0 {
		p.problem("of deleted sessions these are left: %s", strings.Join(left, ", "))
	}
	return nil
}

func (p *project) isListed(ctx context.Context, id string) (bool, error) {
	list, err := p.list(ctx)
	for _, listed := range list {
		if listed.ID == id {
			return true, err
		}
	}
	return false, err
}

// cutFork kills a fork: there is a whole one, or none.
func (w *world) cutFork(ctx context.Context, p *project, old string, end plan) error {
	if end.point == failpoint.FolderSetAside || end.point == failpoint.SessionForgotten {
		end.point = failpoint.StoreBeforeAcknowledging
	}
	before, err := p.list(ctx)
	if err != nil {
		return err
	}
	o, err := p.do(ctx, command{args: []string{"-q", "sessions", "fork", old}, end: end})
	if err != nil {
		return err
	}
	if o.killed {
		w.report.add(forks, 1)
	} else if o.code != 0 {
		p.problem("fork session %s: exit code %d: %s", old, o.code, o.err)
	}
	after, err := p.list(ctx)
	if err != nil {
		return err
	}
	if n := len(after) - len(before); n < 0 || n > 1 {
		p.problem("a fork made %d sessions", n)
	}
	for _, listed := range after {
		if _, err := p.show(ctx, listed.ID, nil); err != nil {
			return err
		}
	}
	return nil
}

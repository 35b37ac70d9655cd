package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

type checkRequest struct {
	state
	Check string    `json:"check"`
	At    time.Time `json:"at"`
	// Clean runs it in a checkout of the commit alone, Label says what for.
	Clean bool   `json:"clean,omitempty"`
	Label string `json:"label,omitempty"`
	// After are the checks that run before it in the same clean checkout.
	After []string `json:"after,omitempty"`
	// Spent is what other checks of the same round took.
	Spent time.Duration `json:"spent,omitempty"`
	// Retry is how often it is run again, unchanged, where tests fail that did not at the
	// base: Before is what the check said there, nil where that is not known.
	Retry  int             `json:"retry,omitempty"`
	Before *checks.Outcome `json:"before,omitempty"`
}

// How often a check that fails is run again. The last word is on the clean checkout.
const (
	retriesInStep  = 1
	retriesOnClean = 2
)

// retry is how the check is run again, with what puts the files back in between.
func (in *checkRequest) retry(restore func() error) checks.Retry {
	return checks.Retry{Times: in.Retry, Before: in.Before, Restore: restore}
}

// roundTime is how long all checks of a round may take together.
const roundTime = 30 * time.Minute

// within is a check that keeps to what is left of a round.
func within(c checks.Check, spent time.Duration) *checks.Check {
	left := max(roundTime-spent, time.Second)
	if c.Timeout <= 0 || c.Timeout > left {
		c.Timeout = min(left, cmp.Or(c.Timeout, 10*time.Minute))
	}
	return &c
}

type checkResult struct {
	state
	checks.Outcome
	// Feedback is what an agent is told of a failure.
	Feedback string `json:"feedback,omitempty"`
}

func (s *workshop) checkTool() troupe.Tool {
	return onSite(s, toolCheck, "Runs a check of the repository.", func(ctx context.Context, o *openSite, in checkRequest) (checkResult, error) {
		return o.check(ctx, in)
	})
}

func (o *openSite) check(ctx context.Context, in checkRequest) (checkResult, error) {
	out := checkResult{state: in.state}
	check, err := o.checkNamed(in.Check)
	if err != nil {
		return out, err
	}
	check = within(*check, in.Spent)
	if in.Clean {
		out.Outcome, err = o.checkClean(ctx, check, &in)
	} else {
		out.Outcome, out.state, err = o.checkWorktree(ctx, check, &in)
	}
	if err != nil {
		return out, err
	}
	if err := o.keepOutput(&out.Outcome, in.Label); err != nil {
		return out, err
	}
	if !out.OK {
		v, err := o.view(ctx, out.Tree)
		if err != nil {
			return out, err
		}
		out.Feedback = out.Outcome.Feedback(func(path string) string { content, _, _ := v.Read(path); return content })
	}
	if in.Clean && (in.Label != labelBaseline || o.worktree.Filled()) {
		return out, nil
	}
	// The worktree is filled after the first check of the base, while agents think.
	return out, o.become(ctx, out.Tree)
}

// checkWorktree runs a check where the steps work.
func (o *openSite) checkWorktree(ctx context.Context, check *checks.Check, in *checkRequest) (checks.Outcome, state, error) {
	now, err := o.find(ctx, in.state, in.At)
	if err != nil {
		return checks.Outcome{}, now, err
	}
	room, err := o.room(ctx, o.worktree)
	if err != nil {
		return checks.Outcome{}, now, &troupe.ToolError{Class: "failed", Message: err.Error()}
	}
	if failed, err := o.furnished(ctx, now); err != nil || failed != nil {
		if failed != nil {
			failed.Name = check.Name
			return *failed, now, nil
		}
		return checks.Outcome{}, now, err
	}
	o.mark()
	outcome, err := check.RunWithRetry(ctx, room, in.retry(func() error { return o.worktree.Restore(ctx, now.Tree) }))
	return outcome, now, err
}

func (o *openSite) checkNamed(name string) (*checks.Check, error) {
	i := slices.IndexFunc(o.Checks, func(c checks.Check) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no check %q", name)
	}
	return &o.Checks[i], nil
}

// keepOutput keeps the whole output of a check.
func (o *openSite) keepOutput(outcome *checks.Outcome, label string) error {
	name := OutputFile(outcome.Name)
	if err := replaceFile(filepath.Join(o.folder, name), []byte(outcome.Output)); err != nil {
		return err
	}
	if label != "" {
		outcome.File = o.freeFile("checks/" + nameOf(label) + "-" + strings.TrimSuffix(filepath.Base(name), ".txt"))
		return replaceFile(filepath.Join(o.folder, outcome.File), []byte(outcome.Output))
	}
	outcome.File = name
	return nil
}

// freeFile is a name for an output that no other has: an earlier attempt has a file of its own.
func (o *openSite) freeFile(name string) string {
	file := name + ".txt"
	for n := 2; ; n++ {
		if _, err := os.Stat(filepath.Join(o.folder, file)); err != nil {
			return file
		}
		file = fmt.Sprintf("%s-%d.txt", name, n)
	}
}

// OutputFile is where the last output of a check is, in a delivery's folder.
func OutputFile(check string) string { return "checks/" + nameOf(check) + ".txt" }

type formatRequest struct {
	state
	Since string    `json:"since" jsonschema:"the tree before the step"`
	At    time.Time `json:"at"`
}

func (s *workshop) formatTool() troupe.Tool {
	return onSite(s, toolFormat, "Runs the formatters and keeps what they change in changed files.", func(ctx context.Context, o *openSite, in formatRequest) (state, error) {
		at, err := o.find(ctx, in.state, in.At)
		if err != nil {
			return at, err
		}
		room, err := o.room(ctx, o.worktree)
		if err != nil {
			return at, err
		}
		if failed, err := o.furnished(ctx, at); err != nil || failed != nil {
			if failed != nil {
				err = errors.New(failed.Remedy)
			}
			return at, err
		}
		o.mark()
		for _, command := range s.Format {
			r, err := room.Command(ctx, []string{"/bin/sh", "-c", command}, "", sandbox.Limits{})
			if err != nil {
				return at, err
			}
			if r.Exit != 0 || r.Missing != "" {
				return at, errors.Join(fmt.Errorf("format %q: exit code %d: %s%s", command, r.Exit, r.Missing, clipText(r.Output, 1000)), o.become(ctx, at.Tree))
			}
		}
		return o.keepFormatted(ctx, at, in.Since)
	})
}

// keepFormatted takes over what formatters did to files that the step changed.
func (o *openSite) keepFormatted(ctx context.Context, at state, since string) (state, error) {
	now, err := o.worktree.Snapshot(ctx)
	if err != nil {
		return at, err
	}
	changed, err := o.worktree.Stats(ctx, since, at.Tree)
	if err != nil {
		return at, err
	}
	after, err := o.worktree.Tree(ctx, now)
	if err != nil {
		return at, err
	}
	before, err := o.worktree.Tree(ctx, at.Tree)
	if err != nil {
		return at, err
	}
	var writes []edit.Write
	for _, c := range changed {
		f, ok, err := after.File(c.Path)
		if err != nil {
			return at, err
		}
		if old, was, _ := before.File(c.Path); ok && was && old.Content != f.Content && edit.IsText(f.Content) {
			writes = append(writes, edit.Write{Path: c.Path, Content: f.Content, Mode: old.Mode})
		}
	}
	if writes != nil {
		if at.Tree, err = before.With(writes); err != nil {
			return at, err
		}
	}
	return at, o.become(ctx, at.Tree)
}

func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

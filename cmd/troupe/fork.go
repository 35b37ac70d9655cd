package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/workspace"
)

// A forkOrder is where a session is forked, and what a step is given there.
type forkOrder struct {
	after int64
	step  string
	// task, summary and value are nil where they stay as they were.
	task, summary, value *string
}

func (p *program) forkSessionCommand() *cobra.Command {
	var order forkOrder
	var task, summary, value string
	c := &cobra.Command{
		Use:   "fork ID",
		Short: "Begin a new session with another's events, up to any of them or up to a step of a flow; 'show --events' has their numbers",
		Long: "Begins a new session with the events of another, up to any of them. With --step it has all that does not come after a step of a\n" +
			"flow: 'troupe sessions resume' then does that step again and what follows it, and nothing of what came before. What the step\n" +
			"is given can be changed with --task, --summary and --value; the log says that it was. The other session stays as it is.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			for name, to := range map[string]struct {
				value *string
				field **string
			}{"task": {&task, &order.task}, "summary": {&summary, &order.summary}, "value": {&value, &order.value}} {
				if c.Flags().Changed(name) {
					*to.field = to.value
				}
			}
			switch isEdit := order.task != nil || order.summary != nil || order.value != nil; {
			case isEdit && order.step == "":
				return usage("--task, --summary and --value say what a step is given: name it with --step")
			case order.step != "" && order.after != 0:
				return usage("--after or --step, not both")
			}
			return p.inStore(c.Context(), func(s *stage) error { return p.fork(c.Context(), s, args[0], order) })
		},
	}
	c.Flags().Int64Var(&order.after, "after", 0, "the number of the last event to take over (default: the last of all)")
	c.Flags().StringVar(&order.step, "step", "", "the step of a flow to do again: its name, which means its last run, or the id of a run")
	c.Flags().StringVar(&task, "task", "", "with --step: the task that the step is given")
	c.Flags().StringVar(&summary, "summary", "", "with --step: the summary that the step is given, which is what the step before it has said")
	c.Flags().StringVar(&value, "value", "", "with --step: the value that the step is given, as JSON")
	return c
}

func (p *program) fork(ctx context.Context, s *stage, id string, order forkOrder) error {
	info, err := s.infoOfSession(ctx, id)
	if err != nil {
		return err
	}
	made := map[string]any{"forked_from": info.ID}
	var forked string
	if order.step != "" {
		run, err := stepRun(ctx, s.folders, info.ID, order.step)
		if err != nil {
			return err
		}
		made["run"] = run
		forked, err = s.engine.ForkStep(ctx, info.ID, run, order.edit, troupe.Input{})
		if err != nil {
			return err
		}
	} else {
		if order.after == 0 {
			order.after = info.Events
		}
		made["after"] = order.after
		if forked, err = s.engine.Fork(ctx, info.ID, order.after, troupe.Input{}); err != nil {
			return err
		}
	}
	if err := p.equip(ctx, s, info.ID, forked); err != nil {
		return err
	}
	if p.flags.json {
		made["session"] = forked
		return p.writeJSON(made)
	}
	fmt.Fprintln(p.out, forked)
	if order.step != "" {
		p.tell("To go on: troupe sessions resume %s", forked[:8])
	}
	return nil
}

// edit puts what a person has said in place of what a step was given.
func (o *forkOrder) edit(h troupe.Handoff) (troupe.Handoff, error) {
	if o.task != nil {
		h.Task = *o.task
	}
	if o.summary != nil {
		h.Summary = *o.summary
	}
	if o.value != nil {
		h.Value = json.RawMessage(*o.value)
	}
	return h, nil
}

// stepRun returns the last run of a step, by its name or its id.
func stepRun(ctx context.Context, store troupe.Store, session, step string) (string, error) {
	run := ""
	var names []string
	for e, err := range store.Events(ctx, session, 0) {
		if err != nil {
			return "", err
		}
		if _, ok := e.Body.(*troupe.RunStarted); !ok || e.Parent == "" && e.Run != step {
			continue
		}
		if e.Agent == step || e.Run == step {
			run = e.Run
		}
		if e.Parent != "" && !slices.Contains(names, e.Agent) {
			names = append(names, e.Agent)
		}
	}
	switch {
	case run != "":
		return run, nil
	case len(names) == 0:
		return "", fmt.Errorf("session %.8s: it is of no flow: it has no steps", session)
	}
	return "", fmt.Errorf("session %.8s: no step %.64q has run in it; these have: %s", session, step, terminal.OneLine(strings.Join(names, ", "), 300))
}

// equip gives a fork the model that was chosen for the session that it goes on from, and says
// which of the files that its events speak of were not there to go with it.
func (p *program) equip(ctx context.Context, s *stage, session, forked string) error {
	if err := s.project.CopyChoice(ctx, session, forked); err != nil {
		return err
	}
	files, err := savedIn(ctx, s.folders, forked)
	if err != nil {
		return err
	}
	if _, err := s.folders.Copy(ctx, session, forked, nil); err != nil { // the folder is there, and elsewhere too where it is shared
		return err
	}
	dir, err := s.folders.Path(forked)
	if err != nil {
		return err
	}
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			p.tell("%s is not there any more", terminal.Clean(name))
		}
	}
	return nil
}

// savedIn returns the files in a session's folder that its events saved.
func savedIn(ctx context.Context, store troupe.Store, session string) ([]string, error) {
	var files []string
	for e, err := range store.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		if saved, ok := e.Body.(*troupe.ArtifactSaved); ok {
			name, inFolder := strings.CutPrefix(saved.Path, "{"+workspace.SessionFolder+"}/")
			if inFolder && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

package main

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/workspace"
)

// A conversation is one session with one agent, or with a flow.
type conversation struct {
	stage   *stage
	step    troupe.Step
	model   string // that answers
	window  int    // of the model, 0 where nobody knows
	chosen  string // by the person and not yet on record, because the session has not begun
	session string // empty until the first event
	stop    string
	isOpen  bool          // the last run has not come to its end
	related []string      // sessions whose files may be read, too
	parts   []troupe.Part // what goes with the next message
	failure string        // what the last run says of itself, if it is that it failed
	saved   []string      // files, as a person in the project would write their paths
	used    terminal.Meter
}

// converse begins a conversation, or goes on with the session of that id.
func (s *stage) converse(ctx context.Context, agent, session string) (*conversation, error) {
	var err error
	if session != "" {
		if session, err = sessionID(ctx, s.project, session); err != nil {
			return nil, err
		}
		if err := s.mustHave(ctx, session); err != nil {
			return nil, err
		}
	}
	step, err := s.project.StepIn(ctx, agent, session)
	if err != nil {
		return nil, err
	}
	c := &conversation{stage: s, step: step, model: "flow", session: session}
	if m, _, ok := s.project.AnsweredBy(step); ok {
		c.model, c.window = m.Ref, m.Window
	}
	return c, nil
}

// mustHave fails if the store does not know the session.
func (s *stage) mustHave(ctx context.Context, session string) error {
	for _, err := range s.folders.Events(ctx, session, 0) {
		return err
	}
	return nil
}

// say sends a message and shows all that happens until it is answered.
func (c *conversation) say(ctx context.Context, text string, show func(*troupe.Event)) error {
	input := troupe.Input{Session: c.session, Text: text, Parts: c.parts}
	c.parts = nil
	if len(c.related) > 0 {
		input.Custom, input.Values = outputs.Related(c.related)
	}
	return c.follow(c.stage.run(ctx, c.step, input), show)
}

// open has the agent speak first, where its author wrote so.
func (c *conversation) open(ctx context.Context, show func(*troupe.Event)) error {
	text, ok := c.stage.project.Opening(c.step.Name())
	if !ok {
		return nil
	}
	return c.follow(c.stage.run(ctx, c.step, troupe.Input{Session: c.session, Text: text, Hidden: true}), show)
}

// resume goes on with a run that was interrupted, cancelled or failed.
func (c *conversation) resume(ctx context.Context, show func(*troupe.Event)) error {
	return c.follow(c.stage.engine.Resume(ctx, c.step, c.session), show)
}

func (c *conversation) follow(events iter.Seq2[troupe.Event, error], show func(*troupe.Event)) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		c.note(&e)
		show(&e)
		if err := c.keepChoice(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// keepChoice has the model that the person chose go on with the session another day, too.
func (c *conversation) keepChoice(ctx context.Context) error {
	if c.chosen == "" || c.session == "" {
		return nil
	}
	err := c.stage.project.ChooseModel(ctx, c.session, c.chosen)
	c.chosen = ""
	return err
}

func (c *conversation) note(e *troupe.Event) {
	c.session = e.Session
	c.used.Note(e)
	switch b := e.Body.(type) {
	case *troupe.ArtifactSaved:
		if path := c.pathOf(b.Path); !slices.Contains(c.saved, path) {
			c.saved = append(c.saved, path)
		}
	case *troupe.RunStarted:
		c.isOpen = c.isOpen || e.Parent == ""
	case *troupe.RunFinished:
		if e.Parent == "" {
			c.stop, c.isOpen, c.failure = b.Stop, false, ""
			if b.Output.Meta.Status == "failed" {
				c.failure = b.Output.Summary
			}
		}
	}
}

// pathOf returns where a saved file is.
func (c *conversation) pathOf(saved string) string {
	if name, ok := strings.CutPrefix(saved, "{"+workspace.SessionFolder+"}/"); ok {
		if folder, err := c.stage.folders.Path(c.session); err == nil {
			return shown(c.stage.project, filepath.Join(folder, filepath.FromSlash(name)))
		}
	}
	if name, ok := strings.CutPrefix(saved, "{"+workspace.ProjectRoot+"}/"); ok {
		return filepath.FromSlash(name)
	}
	return saved
}

// verdict is what the way in which the conversation stopped means to scripts.
func (c *conversation) verdict() error {
	if c.failure != "" { // as a delivery's is that came to its end and is none
		return fmt.Errorf("%s: %s", c.step.Name(), c.failure)
	}
	switch c.stop {
	case "", "answered":
		return nil
	case "input_requested":
		return errInput
	}
	return fmt.Errorf("%s: not finished: %s", c.step.Name(), terminal.Unfinished(c.stop))
}

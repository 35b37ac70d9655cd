package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A note is what a conversation has to know again after a restart, and days later: the
// workflow that it is in, with the values and the day that it began with, and the files
// whose neighbours are named without their directory.
type note struct {
	Agent    string         `json:"agent"`
	Workflow string         `json:"workflow,omitempty"`
	Input    map[string]any `json:"input,omitempty"`
	Date     string         `json:"date,omitempty"`
	Read     []string       `json:"read,omitempty"`
}

// noteName is that of the events that hold notes.
const noteName = "workflow"

// keepNote puts a note on record: as an event, from which it is recalled where
// Options.Events says how, and else in a file as well.
func (s *sessions) keepNote(ctx context.Context, run *troupe.Run, n note) error {
	n.Agent = s.agent.ID
	if err := run.Note(ctx, noteName, n); err != nil || s.options.Events != nil {
		return err
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	file := s.noteFile(run.Session())
	if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("keep note: %w", causeOf(err))
	}
	return nil
}

// recallNote returns what was put on record last, an empty note if nothing was.
func (s *sessions) recallNote(ctx context.Context, session string) (n note, err error) {
	if s.options.Events != nil {
		for e, err := range s.options.Events(ctx, session, 0) {
			if err != nil {
				if errors.Is(err, troupe.ErrNotFound) {
					break
				}
				return note{}, fmt.Errorf("recall note: %w", err)
			}
			var later note
			body, ok := e.Body.(*troupe.Noted)
			if ok && body.Name == noteName && json.Unmarshal(body.Data, &later) == nil && later.Agent == s.agent.ID {
				n = later
			}
		}
		return n, nil
	}
	data, err := os.ReadFile(s.noteFile(session))
	if errors.Is(err, fs.ErrNotExist) {
		return note{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		return note{}, fmt.Errorf("recall note: %w", causeOf(err))
	}
	return n, nil
}

func (s *sessions) noteFile(session string) string {
	agent := strings.ReplaceAll(s.agent.ID, "/", "_")
	return filepath.Join(filepath.Dir(s.outputs), "session-notes", session, agent+".json")
}

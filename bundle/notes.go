package bundle

import (
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
	Workflow string         `json:"workflow,omitempty"`
	Input    map[string]any `json:"input,omitempty"`
	Date     string         `json:"date,omitempty"`
	Read     []string       `json:"read,omitempty"`
}

// keepNote puts a note on record. It is the only place that does; recallNote is the only
// one that reads it.
func (s *sessions) keepNote(_ *troupe.Run, session string, n note) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	file := s.noteFile(session)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep note: %w", causeOf(err))
	}
	temp := file + ".new"
	if err = os.WriteFile(temp, data, 0o600); err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return fmt.Errorf("keep note: %w", causeOf(err))
	}
	return nil
}

// recallNote returns what was put on record last, an empty note if nothing was.
func (s *sessions) recallNote(session string) (note, error) {
	var n note
	data, err := os.ReadFile(s.noteFile(session))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
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

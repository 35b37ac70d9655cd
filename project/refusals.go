package project

import (
	"fmt"
	"path/filepath"

	"github.com/troupe-dev/troupe/project/internal/models"
)

// A refusal is a key that a provider did not accept when it was last tried. It is on record so
// that whoever comes next, after a restart too, does not take the key for a good one.
type refusal struct {
	// Of is the key and the address, as a hash: it says nothing of another key, or of the
	// same one elsewhere.
	Of     string `json:"of"`
	Detail string `json:"detail"`
}

func keySum(at models.Endpoint) string { return sumOf(string(at.Key) + "\x00" + at.BaseURL) }

func (s *settings) refusalsFile() string {
	return filepath.Join(s.stage.project.DataDir(), "page", "refused.json")
}

// refusals are the keys that were refused, by provider.
func (s *settings) refusals() map[string]refusal { return readNotes[refusal](s.refusalsFile()) }

// noteRefusal keeps that a provider refused its key, or, with nil, that it does not any more.
func (s *settings) noteRefusal(name string, refused *refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.refusals()
	if _, ok := known[name]; !ok && refused == nil {
		return nil
	}
	if delete(known, name); refused != nil {
		known[name] = *refused
	}
	if err := writeNotes(s.refusalsFile(), known); err != nil {
		return fmt.Errorf("note that a key was refused: %w", err)
	}
	return nil
}

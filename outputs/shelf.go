package outputs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// A shelf is what a log has of the files in a session's folder.
type shelf struct {
	files []string // in the order in which they were first saved
	// saves counts how often each was saved, and latest has the hash of what was saved last.
	saves  map[string]int
	latest map[string]string
	// texts are what calls were given to write, by their hashes.
	texts map[string]string
}

func newShelf() *shelf {
	return &shelf{saves: map[string]int{}, latest: map[string]string{}, texts: map[string]string{}}
}

// note takes in the next event.
func (s *shelf) note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.ToolCalled:
		var values struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(b.Arguments), &values) == nil && values.Content != "" {
			sum := sha256.Sum256([]byte(values.Content))
			s.texts[hex.EncodeToString(sum[:])] = values.Content
		}
	case *troupe.ArtifactSaved:
		s.noteSaved(b)
	}
}

// noteSaved takes in that a file was saved.
func (s *shelf) noteSaved(b *troupe.ArtifactSaved) {
	name, inFolder := strings.CutPrefix(b.Path, "{"+workspace.SessionFolder+"}/")
	if !inFolder || !filepath.IsLocal(name) || strings.EqualFold(path.Clean(name), manifestFile) {
		return
	}
	if s.saves[name] == 0 {
		s.files = append(s.files, name)
	}
	s.saves[name]++
	s.latest[name] = b.SHA256
}

// text is what was saved last of a file, if a call on record was given it.
func (s *shelf) text(name string) (string, bool) {
	text, ok := s.texts[s.latest[name]]
	return text, ok
}

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// An edit is a version of a session's file that a person wrote.
type edit struct {
	Path    string    `json:"path"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Content string    `json:"content"`
	// Restored is the number of the version that it brings back, 0 for none.
	Restored int `json:"restored,omitempty"`
}

// A content is a version with what it held.
type content struct {
	Version
	text string
}

// contents returns all versions of a session's file, the first one first: those that
// agents saved, by the calls on record, and those that people wrote.
func (s *Server) contents(c *call, session, name string) ([]content, error) {
	var list []content
	written := map[string]string{} // by hash: what calls were given to write
	for e, err := range s.config.Store.Events(c.r.Context(), session, 0) {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			if text := writtenBy(json.RawMessage(b.Arguments)); text != "" {
				written[sumOf(text)] = text
			}
		case *troupe.ArtifactSaved:
			if path, ok := strings.CutPrefix(b.Path, "{"+workspace.SessionFolder+"}/"); !ok || path != name {
				continue
			}
			v := content{Version: Version{At: e.Time, Size: b.Size, By: e.Agent, SHA256: b.SHA256, Description: b.Description}}
			v.text, v.Known = written[b.SHA256]
			list = append(list, v)
		}
	}
	n, err := s.notes.of(session)
	if err != nil {
		return nil, err
	}
	for _, e := range n.Edits {
		if e.Path == name {
			v := Version{At: e.At, Size: int64(len(e.Content)), By: e.By, ByHand: true, Known: true, SHA256: sumOf(e.Content)}
			list = append(list, content{v, e.Content})
		}
	}
	slices.SortStableFunc(list, func(a, b content) int { return a.At.Compare(b.At) })
	if current, err := s.readFile(session, name); err == nil {
		sum := sumOf(current)
		if len(list) == 0 {
			list = append(list, content{Version: Version{At: time.Now().UTC(), Size: int64(len(current)), SHA256: sum}})
		}
		if last := &list[len(list)-1]; last.SHA256 == sum || last.SHA256 == "" {
			last.text, last.Known = current, true
		}
	}
	for i := range list {
		list[i].Number = i + 1
	}
	return list, nil
}

// writtenBy is the content that a call writes, as the tools that do so are given it.
func writtenBy(arguments json.RawMessage) string {
	var values struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(arguments, &values) != nil {
		return ""
	}
	return values.Content
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *Server) listVersions(c *call) ([]Version, error) {
	info, err := s.found(c)
	if err != nil {
		return nil, err
	}
	list, err := s.contents(c, info.ID, c.r.URL.Query().Get("path"))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errNoFile
	}
	versions := make([]Version, len(list))
	for i, v := range list {
		versions[len(list)-1-i] = v.Version
	}
	return versions, nil
}

// versionOf returns a version of a session's file.
func (s *Server) versionOf(c *call, session, name string, number int64) (string, error) {
	list, err := s.contents(c, session, name)
	if err != nil {
		return "", err
	}
	if number < 1 || number > int64(len(list)) {
		return "", refuse(http.StatusNotFound, "there is no version %d", number)
	}
	v := list[number-1]
	if !v.Known {
		return "", refuse(http.StatusGone, "version %d was not kept", number)
	}
	return v.text, nil
}

// A fileEdit is what a person writes into a file.
type fileEdit struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// Version is the one that was edited: if there is a later one, nothing is written.
	Version int `json:"version,omitempty" jsonschema:"the version that was edited; a later one is not overwritten"`
}

func (s *Server) editFile(c *call, in fileEdit) (Version, error) {
	info, err := s.found(c)
	if err != nil {
		return Version{}, err
	}
	return s.writeVersion(c, info.ID, in.Path, in.Content, in.Version, 0)
}

// A restore names the version to bring back.
type restore struct {
	Path    string `json:"path"`
	Version int    `json:"version"`
}

func (s *Server) restoreFile(c *call, in restore) (Version, error) {
	info, err := s.found(c)
	if err != nil {
		return Version{}, err
	}
	text, err := s.versionOf(c, info.ID, in.Path, int64(in.Version))
	if err != nil {
		return Version{}, err
	}
	return s.writeVersion(c, info.ID, in.Path, text, 0, in.Version)
}

// writeVersion adds a version by hand. What was there is kept first.
func (s *Server) writeVersion(c *call, session, name, text string, base, restored int) (Version, error) {
	before, err := s.contents(c, session, name)
	if err != nil {
		return Version{}, err
	}
	if len(before) == 0 {
		return Version{}, errNoFile
	}
	if base != 0 && base != len(before) {
		return Version{}, refuse(http.StatusConflict, "version %d was edited, and there is a version %d already", base, len(before)).withCode("edited")
	}
	if err := s.writeFile(c.r.Context(), session, name, text); err != nil {
		return Version{}, err
	}
	by := c.user
	if by == "" {
		by = s.config.UserName
	}
	added := edit{Path: name, By: by, At: time.Now().UTC(), Content: text, Restored: restored}
	err = s.notes.change(session, func(n *notes) { n.Edits = append(n.Edits, added) })
	if err != nil {
		return Version{}, err
	}
	s.hub.changed(session)
	after, err := s.contents(c, session, name)
	if err != nil {
		return Version{}, err
	}
	return after[len(after)-1].Version, nil
}

// writeFile writes a file that is there already into a session's folder.
func (s *Server) writeFile(ctx context.Context, session, name, text string) error {
	if s.config.Folders == nil {
		return errNoFile
	}
	dir, err := s.config.Folders.Path(session)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir)); err != nil {
		return errNoFile
	}
	folder, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: workspace.ReadWrite}}})
	if err != nil {
		return err
	}
	defer folder.Close()
	place, err := folder.Resolve("{" + workspace.SessionFolder + "}/" + name)
	if err != nil {
		return errNoFile
	}
	if err := folder.Write(place, []byte(text)); err != nil {
		return refuse(http.StatusUnprocessableEntity, "the file could not be written")
	}
	if s.config.FileChanged == nil {
		return nil
	}
	return s.config.FileChanged(ctx, session)
}

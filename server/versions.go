package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	// After is the number of the session's last event when it was written: what agents save
	// later is a later version, whatever the clocks say. It is 0 in what was written before
	// this was noted, where the time decides.
	After int64 `json:"after,omitempty"`
	// Original says that nobody wrote it here: it is what the file held before the first edit.
	Original bool `json:"original,omitempty"`
	// Outside says that somebody wrote it where the file is, in a directory that was granted.
	Outside bool `json:"outside,omitempty"`
}

// precedes says whether an edit was there when an event happened.
func (e *edit) precedes(seq int64, at time.Time) bool {
	if e.After == 0 {
		return e.At.Before(at)
	}
	return e.After < seq
}

// editsOf are the edits of one file, in order.
func (n *notes) editsOf(name string) (list []edit) {
	for _, e := range n.Edits {
		if e.Path == name {
			list = append(list, e)
		}
	}
	return list
}

// byHand counts the edits that somebody made here.
func (n *notes) byHand() (count int) {
	for _, e := range n.Edits {
		if !e.Outside {
			count++
		}
	}
	return count
}

func (e *edit) version() content {
	return content{Version: Version{At: e.At, Size: int64(len(e.Content)), By: e.By, ByHand: !e.Original && !e.Outside, Known: true, SHA256: sumOf(e.Content)}, text: e.Content, isOutside: e.Outside}
}

// A content is a version with what it held.
type content struct {
	Version
	text string
	run  string // in which an agent wrote it
	// isInFile says that the file alone has its text: whoever writes into it has to keep that.
	isInFile bool
	// isOutside says that it was written in a granted directory, not by an agent. What is written
	// there before an agent writes again is one version. Where the notes do not have this text of it,
	// unnoted is what they are to have, isAgain in place of another one.
	isOutside, isAgain bool
	unnoted            *edit
}

// contents returns all versions of a session's file, the first one first: those that
// agents saved, by the calls on record, and those that people wrote.
func (s *Server) contents(ctx context.Context, session, name string) ([]content, error) {
	n, err := s.notes.of(session)
	if err != nil {
		return nil, err
	}
	return s.contentsWith(ctx, session, name, &n)
}

// contentsWith is contents for somebody who has the notes.
func (s *Server) contentsWith(ctx context.Context, session, name string, n *notes) ([]content, error) {
	var list []content
	edits := n.editsOf(name)
	written := map[string]string{} // by hash: what calls were given to write
	for _, text := range n.Kept {
		written[sumOf(text)] = text
	}
	var pieces replacing
	var latest int64
	for e, err := range s.config.Store.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		latest = e.Seq
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			if c := writingOf(json.RawMessage(b.Arguments)); c.Content != "" {
				written[sumOf(c.Content)] = c.Content
			} else if len(c.Edits) > 0 && path.Base(c.FilePath) == path.Base(name) {
				pieces.add(json.RawMessage(b.Arguments))
			}
		case *troupe.ArtifactSaved:
			if saved, ok := s.savedName(e.Agent, b.Path); !ok || saved != name {
				continue
			}
			for len(edits) > 0 && edits[0].precedes(e.Seq, e.Time) {
				list, edits = append(list, edits[0].version()), edits[1:]
			}
			v := content{Version: Version{At: e.Time, Size: b.Size, By: e.Agent, SHA256: b.SHA256, Description: b.Description}, run: e.Run}
			v.text, v.Known = written[b.SHA256]
			if n := len(list); !v.Known && n > 0 && list[n-1].Known {
				v.text, v.Known = pieces.of(list[n-1].text, b.SHA256)
			}
			list = append(list, v)
		}
	}
	for i := range edits {
		list = append(list, edits[i].version())
	}
	if current, err := s.readFile(ctx, session, name); err == nil {
		sum := sumOf(current)
		if len(list) == 0 {
			list = append(list, content{Version: Version{At: time.Now().UTC(), Size: int64(len(current)), SHA256: sum}})
		}
		if last := list[len(list)-1]; isGranted(name) && last.SHA256 != "" && last.SHA256 != sum { // others write there as well
			outside := &edit{Path: name, At: time.Now().UTC(), Content: current, After: latest, Outside: true}
			v := outside.version()
			v.unnoted, v.isAgain = outside, last.isOutside
			if v.isAgain {
				list = list[:len(list)-1]
			}
			list = append(list, v)
		}
		if last := &list[len(list)-1]; last.SHA256 == sum || last.SHA256 == "" {
			last.isInFile = !last.Known
			last.text, last.Known = current, true
		}
	}
	for i := range list {
		list[i].Number = i + 1
	}
	return list, nil
}

// mostNoted bounds the texts of granted directories that are kept, in bytes.
const mostNoted = 1 << 20

// noted returns all versions of a session's file, as contents does. What somebody has written in a
// granted directory is kept, for an agent may write over it.
func (s *Server) noted(ctx context.Context, session, name string) ([]content, error) {
	n, err := s.notes.of(session)
	if err != nil {
		return nil, err
	}
	list, err := s.contentsWith(ctx, session, name, &n)
	if err != nil || len(list) == 0 {
		return list, err
	}
	last, edits := list[len(list)-1], n.editsOf(name)
	if last.unnoted == nil || len(last.text) > mostNoted {
		return list, nil
	}
	return list, s.notes.change(session, func(n *notes) {
		if !slices.Equal(n.editsOf(name), edits) {
			return // somebody else was faster
		}
		if last.isAgain { // in place of the latest one
			n.Edits = slices.DeleteFunc(n.Edits, func(e edit) bool { return e == edits[len(edits)-1] })
		}
		n.Edits = append(n.Edits, *last.unnoted)
	})
}

// A writing is what a call writes, as the tools that do so are given it: a whole, or pieces in place
// of others.
type writing struct {
	Content  string          `json:"content"`
	FilePath string          `json:"file_path"`
	Edits    json.RawMessage `json:"edits"`
}

// writingOf reads the arguments of a call, and is empty where it writes nothing.
func writingOf(arguments json.RawMessage) (c writing) {
	_ = json.Unmarshal(arguments, &c) // what other tools mean by these names is left out
	return c
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
	name, err := s.calledHere(c.r.Context(), &info, c.r.URL.Query().Get("path"))
	if err != nil {
		return nil, err
	}
	list, err := s.noted(c.r.Context(), info.ID, name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errNoFile
	}
	known, err := s.summaryOf(c.r.Context(), &info)
	if err != nil {
		return nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	p := s.placesOf(known)
	versions := make([]Version, len(list))
	for i, v := range list {
		if p != nil {
			v.Node, v.Round = p.of[v.run].node, p.of[v.run].round
		}
		versions[len(list)-1-i] = v.Version
	}
	return versions, nil
}

// versionOf returns a version of a session's file.
func (s *Server) versionOf(c *call, session, name string, number int64) (string, error) {
	list, err := s.noted(c.r.Context(), session, name)
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
	name, err := s.calledHere(c.r.Context(), &info, in.Path)
	if err != nil {
		return Version{}, err
	}
	return s.writeVersion(c, info.ID, name, in.Content, in.Version, 0)
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
	name, err := s.calledHere(c.r.Context(), &info, in.Path)
	if err != nil {
		return Version{}, err
	}
	text, err := s.versionOf(c, info.ID, name, int64(in.Version))
	if err != nil {
		return Version{}, err
	}
	return s.writeVersion(c, info.ID, name, text, 0, in.Version)
}

// writeVersion adds a version by hand. What was there is kept first.
func (s *Server) writeVersion(c *call, session, name, text string, base, restored int) (v Version, err error) {
	by := c.user
	if by == "" {
		by = s.config.UserName
	}
	if _, isMade, err := s.made(c.r.Context(), session, name); err != nil {
		return v, err
	} else if isGranted(name) && !isMade {
		return v, refuse(http.StatusForbidden, "%.100s is in a directory of the project's, and is changed there", name)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	info, err := s.found(c) // with what has happened until now
	if err != nil {
		return v, err
	}
	before, err := s.contents(c.r.Context(), session, name)
	if err != nil {
		return v, err
	}
	if len(before) == 0 {
		return v, errNoFile
	}
	last := before[len(before)-1]
	if last.Known && last.text == text { // nothing was changed, or it was a second click
		return last.Version, nil
	}
	if base != 0 && base != last.Number {
		return v, errEdited(base, last.Number)
	}
	n, err := s.notes.of(session)
	if err != nil {
		return v, err
	}
	edits, isLate := len(n.editsOf(name)), false
	added := edit{Path: name, By: by, At: time.Now().UTC(), Content: text, Restored: restored, After: info.Events}
	err = s.notes.change(session, func(n *notes) {
		if isLate = base != 0 && len(n.editsOf(name)) != edits; isLate { // by way of another server
			return
		}
		if last.isInFile && last.Number == 1 && last.By == "" {
			n.Edits = append(n.Edits, edit{Path: name, At: last.At, Content: last.text, After: info.Events, Original: true})
		} else if last.isInFile {
			n.Kept = append(n.Kept, last.text)
		}
		n.Edits = append(n.Edits, added)
	})
	if err != nil {
		return v, err
	}
	if isLate {
		return v, errEdited(base, last.Number+1)
	}
	if err := s.writeFile(c.r.Context(), session, name, text); err != nil {
		return v, errors.Join(err, s.notes.change(session, func(n *notes) {
			n.Edits = slices.DeleteFunc(n.Edits, func(e edit) bool { return e == added })
		}))
	}
	s.hub.changed(session)
	after, err := s.contents(c.r.Context(), session, name)
	if err != nil {
		return v, err
	}
	return after[len(after)-1].Version, nil
}

// errEdited says that somebody has edited a version which is not the latest one.
func errEdited(base, latest int) error {
	return refuse(http.StatusConflict, "version %d was edited, and there is a version %d already", base, latest).withCode("edited")
}

// versionNumber is the number of the version that an event tells of, 0 if it tells of none.
func (s *Server) versionNumber(e *troupe.Event) (int, error) {
	saved, ok := e.Body.(*troupe.ArtifactSaved)
	if !ok {
		return 0, nil
	}
	name, ok := s.savedName(e.Agent, saved.Path)
	if !ok {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shelfTime)
	defer cancel()
	known, err := s.summaryOf(ctx, &troupe.SessionInfo{ID: e.Session, Events: e.Seq})
	if err != nil {
		return 0, err
	}
	n, err := s.notes.of(e.Session)
	if err != nil {
		return 0, err
	}
	number := 0
	known.mu.Lock()
	if f := known.files[name]; f != nil {
		number, _ = slices.BinarySearch(f.Saved, e.Seq+1)
	}
	known.mu.Unlock()
	for _, edited := range n.editsOf(name) {
		if edited.precedes(e.Seq, e.Time) {
			number++
		}
	}
	return number, nil
}

// writeFile writes a file that is there already into a session's folder.
func (s *Server) writeFile(ctx context.Context, session, name, text string) error {
	if path, isMade, err := s.made(ctx, session, name); err != nil {
		return err
	} else if isMade {
		return s.writeMade(ctx, session, path, text)
	}
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

package project

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/workspace"
)

// A documentRecord knows who wrote which content of a document, and who reads it: by
// the events of all sessions for agents, and by a file of its own for people.
type documentRecord struct {
	stage *stage
	file  string

	mu sync.Mutex
	// seen is the number of the latest event that was taken in, and read how much of
	// the file.
	seen, read int64
	// writers are by name and hash, the latest last; readings by what agents called
	// the file.
	writers  map[string][]written
	readings map[string][]reading
	owners   map[string]string // of sessions
}

// written says who wrote a content of a document.
type written struct {
	Owner       string    `json:"owner,omitempty"`
	Name        string    `json:"name"`
	SHA256      string    `json:"sha256"`
	By          string    `json:"by"`
	ByHand      bool      `json:"by_hand,omitempty"`
	At          time.Time `json:"at"`
	Session     string    `json:"session,omitempty"`
	Description string    `json:"description,omitempty"`
}

type reading struct{ agent, session string }

// update takes in what has happened since it was last called.
func (r *documentRecord) update(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writers == nil {
		r.writers, r.readings, r.owners = map[string][]written{}, map[string][]reading{}, map[string]string{}
	}
	if err := r.readFile(); err != nil {
		return err
	}
	latest := r.seen
	for _, query := range []sqlite.Query{
		{Kinds: []string{savedKind}, After: r.seen},
		{Kinds: []string{calledKind}, Tool: "read_file", After: r.seen},
	} {
		for hit, err := range r.stage.store.Search(ctx, query) {
			if err != nil {
				return fmt.Errorf("who wrote the documents: %w", err)
			}
			latest = max(latest, hit.Number)
			if hit.Err == nil {
				r.take(&hit.Event)
			}
		}
	}
	r.seen = latest
	return nil
}

// take takes in what an event says of documents.
func (r *documentRecord) take(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.ArtifactSaved:
		name, ok := strings.CutPrefix(b.Path, "{"+workspace.ProjectRoot+"}/")
		if !ok {
			return
		}
		w := written{Name: name, SHA256: b.SHA256, By: e.Agent, At: e.Time, Session: e.Session, Description: b.Description}
		r.put(w)
	case *troupe.ToolCalled:
		var arguments struct {
			Path string `json:"file_path"`
		}
		if json.Unmarshal([]byte(b.Arguments), &arguments) != nil {
			return
		}
		called := strings.TrimSpace(arguments.Path)
		if elsewhere.MatchString(called) {
			return
		}
		name := leadingVariable.ReplaceAllString(called, "")
		if who := (reading{e.Agent, e.Session}); name != "" && !slices.Contains(r.readings[name], who) {
			r.readings[name] = append(r.readings[name], who)
		}
	}
}

// The kinds of events that tell of documents.
var (
	savedKind  = (*troupe.ArtifactSaved)(nil).Kind()
	calledKind = (*troupe.ToolCalled)(nil).Kind()
)

var (
	leadingVariable = regexp.MustCompile(`^\{\{?[^{}]+\}?\}/`)
	// elsewhere is what names no document.
	elsewhere = regexp.MustCompile(`(?i)^\{\{?(session|bundle|core)[-_](folder|root)\}?\}`)
)

// put keeps a writer. Of two for the same content the earlier one wrote it.
func (r *documentRecord) put(w written) {
	key := w.SHA256
	r.writers[key] = append(r.writers[key], w)
	slices.SortStableFunc(r.writers[key], func(a, b written) int { return a.At.Compare(b.At) })
}

// writer says who wrote the content of a document, the last one before it was replaced: a
// content may be there again, by somebody else. It is not replaced where that is zero. In a
// project inside this one names are shorter by where that is.
func (r *documentRecord) writer(ctx context.Context, owner, name, hash string, replaced time.Time) (found written, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range slices.Backward(r.writers[hash]) {
		if (w.Name == name || strings.HasSuffix(name, "/"+w.Name)) && (w.Owner == owner && w.ByHand || !w.ByHand && r.isOf(ctx, w.Session, owner)) {
			found, ok = w, true
			if replaced.IsZero() || !w.At.After(replaced) {
				break
			}
		}
	}
	return found, ok
}

// readers are the agents that have read a document.
func (r *documentRecord) readers(ctx context.Context, owner, name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var agents []string
	for rest, more := name, true; more; _, rest, more = strings.Cut(rest, "/") {
		for _, who := range r.readings[rest] {
			if r.isOf(ctx, who.session, owner) && !slices.Contains(agents, who.agent) {
				agents = append(agents, who.agent)
			}
		}
	}
	slices.Sort(agents)
	return agents
}

// isOf says whether a session is of a user whose documents are their own.
func (r *documentRecord) isOf(ctx context.Context, session, owner string) bool {
	if owner == "" {
		return true
	}
	user, known := r.owners[session]
	if !known {
		for info, err := range r.stage.store.Sessions(ctx, troupe.SessionFilter{ID: session, Limit: 1}) {
			if err != nil {
				return false
			}
			user = info.User
		}
		r.owners[session] = user
	}
	return user == owner
}

// readFile takes in what people have written since it was last read.
func (r *documentRecord) readFile() error {
	f, err := os.Open(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(r.read, 0); err != nil {
		return err
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // a line that is not complete is read when it is
		}
		r.read += int64(len(line))
		var w written
		if json.Unmarshal(bytes.TrimSpace(line), &w) == nil {
			r.put(w)
		}
	}
}

// add puts on record that somebody writes a content.
func (r *documentRecord) add(w written) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if r.writers == nil {
		r.writers, r.readings, r.owners = map[string][]written{}, map[string][]reading{}, map[string]string{}
	}
	return r.readFile()
}

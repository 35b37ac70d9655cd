package skill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/workspace"
)

// What a loaded skill may take.
const (
	maxFile      = 256 << 10
	maxResources = 200
	maxBelow     = 5 // levels of directories below a skill's folder
)

// A Document is a skill with its body.
type Document struct {
	Skill
	// Version is the SHA-256 of the file, in hexadecimal.
	Version string `json:"version"`
	// Content is the file without its header. {skill-root} in it became the folder
	// of the skill, as agents name it.
	Content string `json:"content"`
	// Folder is where the skill's other files are, {skills}/pdf. A single file has none.
	Folder string `json:"folder,omitempty"`
	// Resources are these files, as agents may name them: at most 200 of them, none
	// that begin with a dot or look like keys.
	Resources []string `json:"resources"`
}

// Load reads a skill: its file as it is now or, if that is being written or cannot
// be used, the version that was loaded before. It fails with ErrNotFound if there
// is no skill of that name. Its errors name no path of the host.
func (l *Library) Load(ctx context.Context, name string) (*Document, error) {
	p, err := l.place(name)
	if err != nil {
		return nil, err
	}
	doc, wait, err := l.read(p)
	if wait > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		if doc, wait, err = l.read(p); wait > 0 {
			err = errors.New("the file is being written; try again")
		}
	}
	if err == nil && doc.Name != name {
		err = fmt.Errorf("the file has become the skill %s", doc.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[p]
	switch {
	case err == nil && e != nil:
		e.good = doc
	case err != nil && e != nil && e.good != nil && e.good.Name == name:
		l.log.Warn("skill kept as it was", "skill", name, "version", e.good.Version, "err", err)
		doc, err = e.good, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load skill %s: %w", name, causeOf(err))
	}
	loaded := *doc
	return &loaded, nil
}

// place returns where a skill is. For one that is not known it always looks.
func (l *Library) place(name string) (place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookAgain()
	if l.byName[name] == nil {
		l.look()
	}
	if e := l.byName[name]; e != nil && !l.isOff(name) {
		return e.place, nil
	}
	return place{}, fmt.Errorf("load skill %.80q: %w", name, ErrNotFound)
}

// read reads a skill as it is now. If the file is so young that it may not be
// finished, read also says how long to wait.
func (l *Library) read(p place) (doc *Document, wait time.Duration, err error) {
	dir, err := os.OpenRoot(l.roots[p.root].dir)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	content, wait, err := readWhole(dir, p.name)
	if err != nil {
		return nil, wait, err
	}
	top, err := readTop(bytes.NewReader(content))
	if err != nil {
		return nil, wait, err
	}
	h, findings := parseHeader(l.shown(p), l.folder(p), top)
	if h == nil {
		return nil, wait, fmt.Errorf("line %d: %s", findings[len(findings)-1].Line, findings[len(findings)-1].Message)
	}
	sum := sha256.Sum256(content)
	doc = &Document{Skill: l.skillOf(p, h), Version: hex.EncodeToString(sum[:]), Resources: []string{}}
	doc.Content = strings.TrimSpace(strings.ToValidUTF8(string(content[h.length:]), "\uFFFD"))
	if isSkillFile(p.name) {
		doc.Folder = path.Dir(doc.Path)
		doc.Content = strings.ReplaceAll(doc.Content, "{skill-root}", doc.Folder)
		doc.Resources = l.resources(p)
	}
	return doc, wait, nil
}

// readWhole reads a text file and says how long to wait until it counts as finished.
func readWhole(dir *os.Root, name string) (content []byte, wait time.Duration, err error) {
	f, _, err := openFile(dir, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat() // what it was changed to while it was read counts too
	if err != nil {
		return nil, 0, err
	}
	switch wait = waitFor(info); {
	case len(content) > maxFile:
		err = fmt.Errorf("a skill has at most %d bytes; move parts of it to files of their own", maxFile)
	case int64(len(content)) != info.Size():
		err = errors.New("the file changed while it was read")
	case bytes.IndexByte(content, 0) >= 0:
		err = errors.New("the file is not text")
	}
	return content, wait, err
}

// resources lists the other files in a skill's folder, as far as agents may read
// them: none if a workspace does not open the folder.
func (l *Library) resources(p place) []string {
	names := []string{}
	ws, err := workspace.Open(workspace.Config{
		Roots:  []workspace.Root{l.grant(p.root)},
		Limits: workspace.Limits{Entries: maxResources},
	})
	if err != nil {
		return names
	}
	defer ws.Close()
	folder := path.Dir(l.told(p))
	loc, err := ws.Resolve(folder)
	if err != nil {
		return names
	}
	listing, err := ws.List(loc, maxBelow)
	if err != nil {
		return names
	}
	for _, e := range listing.Entries {
		if !e.IsDir && !e.IsLink && e.Path != path.Base(p.name) {
			names = append(names, folder+"/"+e.Path)
		}
	}
	return names
}

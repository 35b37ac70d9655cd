package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/workspace"
)

// A library shows people the documents of the project, each with its versions, and takes
// the versions that they write. Agents have the same documents by the same names.
type library struct {
	stage   *stage
	record  documentRecord
	writing sync.Mutex
}

func newLibrary(s *stage) *library {
	return &library{stage: s, record: documentRecord{stage: s, file: filepath.Join(s.project.DataDir(), "page", "documents.jsonl")}}
}

// errNoDocument reports a name that no document has.
var errNoDocument = fmt.Errorf("no such document: %w", fs.ErrNotExist)

// ownerOf is whose documents a user has: empty where everybody has the same.
func (p *Project) ownerOf(user string) string {
	if p.documents().Owner == nil {
		return ""
	}
	return user
}

// open opens the documents of a user. It returns nil where there are none yet.
func (s *library) open(user string) (*workspace.Workspace, error) {
	p := s.stage.project
	if s.stage.files != nil {
		if err := s.stage.files.pullDocuments(context.Background()); err != nil {
			return nil, err
		}
	}
	documents := p.documents()
	dir := documents.DirOf(p.ownerOf(user))
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if !documents.InPlace {
			return nil, nil
		}
		if err := os.MkdirAll(dir, 0o755); err != nil { // for the versions
			return nil, err
		}
	}
	c := workspace.Config{
		Roots:     []workspace.Root{{Name: workspace.ProjectRoot, Dir: p.dir}},
		Closed:    p.walls,
		Documents: workspace.Documents{Dir: dir, InPlace: documents.InPlace, Folders: s.folders()},
		Logger:    p.log,
	}
	return workspace.Open(c)
}

// folders are the directories in the project that hold documents which are in place.
func (s *library) folders() []string {
	p := s.stage.project
	if !p.documents().InPlace {
		return nil
	}
	var all []string
	for _, b := range p.catalog().Bundles() {
		for _, folder := range b.DocumentFolders() {
			if !slices.Contains(all, folder) {
				all = append(all, folder)
			}
		}
	}
	return all
}

// place finds the document of a name. What is beside the documents, such as those of
// other people and earlier versions, has no name here.
func (s *library) place(ws *workspace.Workspace, name string) (workspace.Location, error) {
	name = path.Clean(name)
	first, _, _ := strings.Cut(name, "/")
	if !filepath.IsLocal(filepath.FromSlash(name)) || isReserved(first) || strings.ContainsAny(name, "{}\\") {
		return workspace.Location{}, errNoDocument
	}
	loc, err := ws.Resolve("{" + workspace.ProjectRoot + "}/" + name)
	if err != nil {
		return loc, errNoDocument
	}
	return loc, nil
}

func isReserved(element string) bool {
	element = strings.ToLower(element)
	return strings.HasPrefix(element, ".troupe")
}

// Documents implements [server.Documents].
func (s *library) Documents(ctx context.Context, user string) ([]server.Document, error) {
	ws, err := s.open(user)
	if err != nil || ws == nil {
		return nil, err
	}
	defer ws.Close()
	if err := s.record.update(ctx); err != nil {
		return nil, err
	}
	roots := []string{""}
	if s.stage.project.documents().InPlace {
		roots = s.folders()
	}
	var list []server.Document
	seen := map[string]bool{} // folders may be inside each other
	for _, root := range roots {
		loc, err := ws.Resolve(strings.TrimSuffix("{"+workspace.ProjectRoot+"}/"+root, "/"))
		if err != nil {
			continue
		}
		listing, err := ws.List(loc, documentDepth)
		if err != nil {
			continue // a folder that nobody has made yet
		}
		for _, e := range listing.Entries {
			if first, _, _ := strings.Cut(e.Path, "/"); e.IsDir || e.IsLink || root == "" && isReserved(first) {
				continue
			}
			d := server.Document{Name: path.Join(root, e.Path), Size: e.Size, Changed: e.Modified.UTC()}
			if seen[d.Name] {
				continue
			}
			seen[d.Name] = true
			if s.describe(ctx, ws, user, &d) == nil {
				list = append(list, d)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b server.Document) int {
		return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// documentDepth is how deep documents are listed.
const documentDepth = 16

// describe says of a document how many versions it had, who wrote the last one and who
// reads it.
func (s *library) describe(ctx context.Context, ws *workspace.Workspace, user string, d *server.Document) error {
	loc, err := s.place(ws, d.Name)
	if err != nil {
		return err
	}
	earlier, err := ws.Versions(loc)
	if err != nil {
		return err
	}
	d.Version = 1
	if len(earlier) > 0 {
		d.Version = earlier[len(earlier)-1].Number + 1
	}
	d.Readers = s.record.readers(ctx, s.stage.project.ownerOf(user), d.Name)
	if d.Size > mostHashed {
		return nil
	}
	content, err := ws.ReadFile(loc)
	if err != nil {
		return err
	}
	if m := firstHeading.FindStringSubmatch(content[:min(len(content), 4<<10)]); m != nil && strings.HasSuffix(strings.ToLower(d.Name), ".md") {
		d.Heading = strings.ToValidUTF8(m[1], "")
	}
	if w, ok := s.record.writer(ctx, s.stage.project.ownerOf(user), d.Name, sumOf(content), time.Time{}); ok {
		d.By, d.Session, d.ByHand = w.By, w.Session, w.ByHand
	}
	return nil
}

var firstHeading = regexp.MustCompile(`(?m)^#{1,3} +(.{1,200}?)[ #]*$`)

// mostHashed is how large a document may be whose author is looked up in a list.
const mostHashed = 4 << 20

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Versions implements [server.Documents].
func (s *library) Versions(ctx context.Context, user, name string) ([]server.Version, error) {
	ws, err := s.open(user)
	if err != nil {
		return nil, err
	}
	if ws == nil {
		return nil, errNoDocument
	}
	defer ws.Close()
	if err := s.record.update(ctx); err != nil {
		return nil, err
	}
	return s.versions(ctx, ws, user, name)
}

func (s *library) versions(ctx context.Context, ws *workspace.Workspace, user, name string) ([]server.Version, error) {
	loc, err := s.place(ws, name)
	if err != nil {
		return nil, err
	}
	current, err := ws.ReadFile(loc)
	if err != nil {
		return nil, err
	}
	entry, err := ws.Stat(loc)
	if err != nil {
		return nil, err
	}
	earlier, err := ws.Versions(loc)
	if err != nil {
		return nil, err
	}
	var list []server.Version
	last := 0
	var begun time.Time // when the version is known to have begun at the latest
	for _, v := range earlier {
		content, err := ws.ReadVersion(loc, v.Number)
		made := s.version(ctx, user, name, content, v.Number, v.Modified)
		made.Known = err == nil
		if made.At.IsZero() {
			made.At = cmp.Or(begun, v.Modified).UTC()
		}
		list, last, begun = append(list, made), v.Number, v.Modified
	}
	now := s.version(ctx, user, name, current, last+1, time.Time{})
	now.Known = true
	if now.At.IsZero() {
		now.At = entry.Modified.UTC()
	}
	list = append(list, now)
	slices.Reverse(list)
	return list, nil
}

// version describes a version by its content, and when that was replaced. Its time is zero where
// nobody knows.
func (s *library) version(ctx context.Context, user, name, content string, number int, replaced time.Time) server.Version {
	v := server.Version{Number: number, Size: int64(len(content)), SHA256: sumOf(content)}
	if w, ok := s.record.writer(ctx, s.stage.project.ownerOf(user), name, v.SHA256, replaced); ok {
		v.By, v.ByHand, v.At, v.Description = w.By, w.ByHand, w.At.UTC(), w.Description
	}
	return v
}

// Read implements [server.Documents].
func (s *library) Read(_ context.Context, user, name string, version int) ([]byte, error) {
	ws, err := s.open(user)
	if err != nil {
		return nil, err
	}
	if ws == nil {
		return nil, errNoDocument
	}
	defer ws.Close()
	loc, err := s.place(ws, name)
	if err != nil {
		return nil, err
	}
	if version > 0 {
		earlier, err := ws.Versions(loc)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(earlier, func(v workspace.Version) bool { return v.Number == version }) {
			content, err := ws.ReadVersion(loc, version)
			return []byte(content), err
		}
		if last := len(earlier); last > 0 && earlier[last-1].Number+1 != version || last == 0 && version != 1 {
			return nil, errNoDocument
		}
	}
	content, err := ws.ReadFile(loc)
	return []byte(content), err
}

// Write implements [server.Documents]: it replaces a document that is there, whose
// content is kept as a version.
func (s *library) Write(ctx context.Context, user, name string, content []byte) (server.Version, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	ws, err := s.open(user)
	if err != nil {
		return server.Version{}, err
	}
	if ws == nil {
		return server.Version{}, errNoDocument
	}
	defer ws.Close()
	loc, err := s.place(ws, name)
	if err != nil {
		return server.Version{}, err
	}
	if entry, err := ws.Stat(loc); err != nil || entry.IsDir {
		return server.Version{}, errNoDocument
	}
	return s.put(ctx, ws, user, name, content)
}

// Add implements [server.Documents]: the file goes where agents keep their documents. One
// that is called so already gets a version.
func (s *library) Add(ctx context.Context, user, name string, content []byte) (string, server.Version, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	p := s.stage.project
	if name != path.Base(path.Clean(name)) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "{}\\") {
		return "", server.Version{}, fmt.Errorf("a file cannot be called %.100q here", name)
	}
	folders := p.documentFolders()
	if len(folders) == 0 && p.documents().InPlace {
		return "", server.Version{}, errors.New("no agent of this project names a folder for documents")
	}
	if len(folders) > 0 {
		name = path.Join(folders[0], name)
	}
	if err := os.MkdirAll(p.documents().DirOf(p.ownerOf(user)), 0o755); err != nil {
		return "", server.Version{}, err
	}
	ws, err := s.open(user)
	if err != nil {
		return "", server.Version{}, err
	}
	defer ws.Close()
	if _, err := s.place(ws, name); err != nil {
		return "", server.Version{}, err
	}
	made, err := s.put(ctx, ws, user, name, content)
	return name, made, err
}

// put writes a version of a document, and notes who did.
func (s *library) put(ctx context.Context, ws *workspace.Workspace, user, name string, content []byte) (server.Version, error) {
	target, _, err := ws.ResolveOutput("{" + workspace.ProjectRoot + "}/" + path.Clean(name))
	if err != nil {
		return server.Version{}, err
	}
	p := s.stage.project
	by := cmp.Or(user, p.userName())
	w := written{Owner: p.ownerOf(user), Name: path.Clean(name), SHA256: sumOf(string(content)), By: by, ByHand: true, At: time.Now().UTC()}
	if err := s.record.add(w); err != nil { // first, so that nobody else is taken for its author
		return server.Version{}, err
	}
	if err := ws.Write(target, content); err != nil {
		return server.Version{}, err
	}
	if s.stage.files != nil {
		if err := s.stage.files.pullDocuments(ctx); err != nil { // which stores what was changed here
			return server.Version{}, err
		}
	}
	list, err := s.versions(ctx, ws, user, name)
	if err != nil {
		return server.Version{}, err
	}
	return list[0], nil
}

// userName is how the configuration of the bundles calls the person who works here.
func (p *Project) userName() string {
	for _, b := range p.catalog().Bundles() {
		settings, _ := b.Settings()
		for _, s := range settings {
			name := strings.TrimSpace(s.Value)
			if s.Name == "user_name" && name != "" && !strings.ContainsAny(name, "{}\n") && !slices.Contains(nobodys, strings.ToLower(name)) {
				return name
			}
		}
	}
	return ""
}

// nobodys are the names that installers write where nobody has said one.
var nobodys = []string{"user", "friend", "bmad", "your name", "yourname", "[your name]", bundle.NoName}

package server

import (
	"archive/zip"
	"cmp"
	"context"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// A libraryFile is a file of any conversation, or a document of the project.
type libraryFile struct {
	// Session is empty for a document.
	Session string `json:"session,omitempty"`
	Title   string `json:"title,omitempty"`
	Path    string `json:"path"`
	// Heading is the first heading of a document.
	Heading string    `json:"heading,omitempty"`
	Kind    string    `json:"kind"`
	Size    int64     `json:"size"`
	Version int       `json:"version"`
	Changed time.Time `json:"changed"`
	By      string    `json:"by,omitempty"`
	ByHand  bool      `json:"by_hand,omitempty"`
	// Readers are the agents that have read a document, and In is the conversation in
	// which its latest version was written.
	Readers []string `json:"readers,omitempty"`
	In      string   `json:"in,omitempty"`
	// Found is where the words stand that were looked for.
	Found string `json:"found,omitempty"`
}

const (
	mostLibrary  = 2000
	mostSearched = 1 << 20 // bytes of a file whose content is searched
)

// kindsOfFiles are the kinds that people tell apart, by extension.
var kindsOfFiles = map[string]string{
	".md": "document", ".markdown": "document", ".txt": "document", ".pdf": "document", ".docx": "document", ".html": "document", ".htm": "document",
	".csv": "data", ".tsv": "data", ".json": "data", ".xlsx": "data", ".yaml": "data", ".yml": "data", ".xml": "data", ".toml": "data",
	".png": "image", ".jpg": "image", ".jpeg": "image", ".gif": "image", ".svg": "image", ".webp": "image",
}

func kindOf(name string) string {
	if kind := kindsOfFiles[strings.ToLower(path.Ext(name))]; kind != "" {
		return kind
	}
	return "code"
}

// A libraryList is the files that fit.
type libraryList struct {
	Files []libraryFile `json:"files"`
	// Truncated says that there are more.
	Truncated bool `json:"truncated,omitempty"`
}

// listLibrary lists the files of all of a person's conversations.
func (s *Server) listLibrary(c *call) (libraryList, error) {
	query := c.r.URL.Query()
	words, kind, agent, by := strings.ToLower(query.Get("q")), query.Get("kind"), query.Get("agent"), query.Get("by")
	list := libraryList{Files: []libraryFile{}}
	for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user, Agent: agent}) {
		if err != nil {
			return list, err
		}
		known, err := s.summaryOf(c.r.Context(), &info)
		if err != nil {
			return list, err
		}
		n, err := s.notes.of(info.ID)
		if err != nil {
			return list, err
		}
		known.mu.Lock()
		var own []libraryFile
		for _, f := range known.files {
			own = append(own, n.listed(f, &info))
		}
		known.mu.Unlock()
		for _, f := range own {
			if kind != "" && f.Kind != kind || by != "" && f.By != by || words != "" && !s.finds(c.r.Context(), &f, words) {
				continue
			}
			list.Files = append(list.Files, f)
		}
		if len(list.Files) >= mostLibrary {
			list.Truncated = true
			break
		}
	}
	slices.SortStableFunc(list.Files, func(a, b libraryFile) int { return b.Changed.Compare(a.Changed) })
	return list, nil
}

// listed is a file of a session as the library has it: by its latest version, whoever wrote that.
func (n *notes) listed(f *savedFile, info *troupe.SessionInfo) libraryFile {
	l := libraryFile{
		Session: info.ID, Title: info.Title, Path: f.Path, Heading: f.heading(), Kind: kindOf(f.Path),
		Size: f.Size, Version: len(f.Saved) + len(n.editsOf(f.Path)), Changed: f.Changed, By: f.Agent,
	}
	last := n.latestEdit(f)
	if last == nil {
		return l
	}
	l.Size, l.Changed = int64(len(last.Content)), last.At
	if l.Kind == "document" {
		l.Heading = headingOf(last.Content)
	}
	if !last.Outside { // of what was written outside nobody knows by whom: it stays its agent's
		l.By, l.ByHand = last.By, true
	}
	return l
}

// latestEdit is what was written to a file by hand, or outside, since an agent wrote it last: nil where
// that is nothing.
func (n *notes) latestEdit(f *savedFile) *edit {
	edits := n.editsOf(f.Path)
	if len(edits) == 0 || edits[len(edits)-1].precedes(f.Saved[len(f.Saved)-1], f.Changed) {
		return nil
	}
	return &edits[len(edits)-1]
}

// headingOf is the first heading of a markdown text, "" if it has none.
func headingOf(text string) string {
	for line := range strings.Lines(text[:min(len(text), 4<<10)]) {
		heading := strings.TrimLeft(line, "#")
		if level := len(line) - len(heading); level > 0 && level <= 6 && strings.HasPrefix(heading, " ") {
			return strings.TrimSpace(strings.ToValidUTF8(heading, ""))
		}
	}
	return ""
}

// finds says whether a file has the words in its name or in its text, and where.
func (s *Server) finds(ctx context.Context, f *libraryFile, words string) bool {
	if f.Kind != "image" && f.Size <= mostSearched {
		if text, err := s.readFile(ctx, f.Session, f.Path); err == nil {
			f.Found = excerpt(text, words)
		}
	}
	return f.Found != "" || strings.Contains(strings.ToLower(f.Path), words) || strings.Contains(strings.ToLower(f.Title), words)
}

// aroundFound is how much of a line is shown before and after what was found in it, in characters.
const aroundFound = 60

// excerpt is the line in which words stand, shortened at its blanks, or "" if they do not.
func excerpt(text, words string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		at := strings.Index(lower, words)
		if at < 0 {
			continue
		}
		// A capital may have another length than its small letter.
		begin, all := utf8.RuneCountInString(lower[:at]), []rune(line)
		end := begin + utf8.RuneCountInString(words)
		before, after := string(all[max(0, begin-aroundFound):begin]), string(all[end:min(len(all), end+aroundFound)])
		if begin > aroundFound {
			_, rest, _ := strings.Cut(before, " ")
			before = "…" + cmp.Or(rest, before)
		}
		if end+aroundFound < len(all) {
			after = after[:cmp.Or(max(0, strings.LastIndex(after, " ")), len(after))] + "…"
		}
		return before + string(all[begin:end]) + after
	}
	return ""
}

// listDocuments lists the documents of the project.
func (s *Server) listDocuments(c *call) (libraryList, error) {
	list := libraryList{Files: []libraryFile{}}
	if s.config.Documents == nil {
		return list, nil
	}
	query := c.r.URL.Query()
	words, kind, agent, by := strings.ToLower(query.Get("q")), query.Get("kind"), query.Get("agent"), query.Get("by")
	documents, err := s.config.Documents.Documents(c.r.Context(), c.user)
	if err != nil {
		return list, err
	}
	for _, d := range documents {
		f := libraryFile{Session: "", Title: "", Path: d.Name, Heading: d.Heading, Kind: kindOf(d.Name), Size: d.Size, Version: d.Version, Changed: d.Changed, By: d.By, ByHand: d.ByHand, Readers: d.Readers, In: d.Session}
		if kind != "" && f.Kind != kind || by != "" && f.By != by || agent != "" && f.By != agent && !slices.Contains(f.Readers, agent) {
			continue
		}
		if words != "" {
			if content, err := s.config.Documents.Read(c.r.Context(), c.user, d.Name, 0); err == nil && f.Kind != "image" && len(content) <= mostSearched {
				f.Found = excerpt(string(content), words)
			}
			if f.Found == "" && !strings.Contains(strings.ToLower(f.Path), words) {
				continue
			}
		}
		list.Files = append(list.Files, f)
	}
	return list, nil
}

func (s *Server) listDocumentVersions(c *call) ([]Version, error) {
	if s.config.Documents == nil {
		return nil, errNoFile
	}
	list, err := s.config.Documents.Versions(c.r.Context(), c.user, c.r.URL.Query().Get("path"))
	if err != nil {
		return nil, errNoFile
	}
	return listed(list), nil
}

// sendDocument sends a document, as sendFile does.
func (s *Server) sendDocument(c *call) error {
	if s.config.Documents == nil {
		return errNoFile
	}
	version, err := c.number("version", 0, 1<<31)
	if err != nil {
		return err
	}
	name := c.r.PathValue("path")
	content, err := s.config.Documents.Read(c.r.Context(), c.user, name, int(version))
	if err != nil {
		return errNoFile
	}
	return c.sendContent(name, string(content))
}

func (s *Server) editDocument(c *call, in fileEdit) (Version, error) {
	if s.config.Documents == nil {
		return Version{}, errNoFile
	}
	s.writing.Lock() // of two who edit the same version one is told
	defer s.writing.Unlock()
	versions, err := s.config.Documents.Versions(c.r.Context(), c.user, in.Path)
	if err != nil || len(versions) == 0 {
		return Version{}, errNoFile
	}
	if versions[0].SHA256 == sumOf(in.Content) { // nothing was changed
		return versions[0], nil
	}
	if in.Version != 0 && in.Version != versions[0].Number {
		return Version{}, errEdited(in.Version, versions[0].Number)
	}
	return s.writeDocument(c, in.Path, []byte(in.Content))
}

// writeDocument adds a version of a document by hand, and tells whoever sees it.
func (s *Server) writeDocument(c *call, name string, content []byte) (Version, error) {
	made, err := s.config.Documents.Write(c.r.Context(), c.user, name, content)
	if err == nil {
		s.hub.saved(s.documentsOf(c.user))
	}
	return made, err
}

// documentsOf is whose documents somebody writes: where all people share them, nobody's.
func (s *Server) documentsOf(user string) string {
	if s.config.SharedDocuments {
		return ""
	}
	return user
}

// An addedFile is a file that a person brings.
type addedFile struct {
	Name string `json:"name" jsonschema:"what it is called, without a folder"`
	Data []byte `json:"data" jsonschema:"its content, in base64"`
}

// An addedDocument is what became of it.
type addedDocument struct {
	Path    string  `json:"path"`
	Version Version `json:"version"`
}

// addDocument puts a file of a person's among the project's documents.
func (s *Server) addDocument(c *call, in addedFile) (addedDocument, error) {
	if s.config.Documents == nil {
		return addedDocument{}, absent("documents")
	}
	name, version, err := s.config.Documents.Add(c.r.Context(), c.user, in.Name, in.Data)
	if err != nil {
		return addedDocument{}, told(http.StatusUnprocessableEntity, err)
	}
	s.hub.saved(s.documentsOf(c.user))
	return addedDocument{name, version}, nil
}

func (s *Server) restoreDocument(c *call, in restore) (Version, error) {
	if s.config.Documents == nil {
		return Version{}, errNoFile
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	content, err := s.config.Documents.Read(c.r.Context(), c.user, in.Path, in.Version)
	if err != nil {
		return Version{}, errNoFile
	}
	if versions, err := s.config.Documents.Versions(c.r.Context(), c.user, in.Path); err == nil && len(versions) > 0 && versions[0].SHA256 == sumOf(string(content)) {
		return versions[0], nil // as after a second click
	}
	return s.writeDocument(c, in.Path, content)
}

// A zipOrder names the files that an archive holds.
type zipOrder struct {
	Files []fileName `json:"files"`
}

// A fileName names a file of a session, or a document.
type fileName struct {
	// Session is empty for a document.
	Session string `json:"session,omitempty"`
	Path    string `json:"path"`
}

const mostZipped = 1000

func (s *Server) zipFiles(c *call, in zipOrder) error {
	if len(in.Files) == 0 || len(in.Files) > mostZipped {
		return refuse(http.StatusBadRequest, "an archive holds 1 to %d files", mostZipped)
	}
	contents := make([]string, len(in.Files))
	for i, f := range in.Files { // all are read before anything is sent, so that a file that is missing is said
		var err error
		if contents[i], err = s.readNamed(c, f); err != nil {
			return err
		}
	}
	return c.sendZip("files.zip", func(add func(name, text string) error) error {
		for i, f := range in.Files {
			if err := add(f.Path, contents[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// readNamed returns the content of a file that whoever calls may read.
func (s *Server) readNamed(c *call, f fileName) (content string, err error) {
	if f.Session == "" {
		content, err = s.readDocument(c, f.Path)
	} else {
		content, err = s.readOf(c, f.Session, f.Path)
	}
	if err != nil {
		return "", refuse(http.StatusNotFound, "there is no file %.100q", f.Path)
	}
	return content, nil
}

// readOf reads a file of a session of whoever asks.
func (s *Server) readOf(c *call, session, name string) (string, error) {
	info, _, err := s.find(c, session)
	if err != nil {
		return "", err
	}
	if name, err = s.calledHere(c.r.Context(), &info, name); err != nil {
		return "", err
	}
	return s.readFile(c.r.Context(), session, name)
}

func (s *Server) readDocument(c *call, name string) (string, error) {
	if s.config.Documents == nil {
		return "", errNoFile
	}
	content, err := s.config.Documents.Read(c.r.Context(), c.user, name, 0)
	return string(content), err
}

// zipSession sends all files of a session.
func (s *Server) zipSession(c *call) error {
	list, err := s.listFiles(c)
	if err != nil {
		return err
	}
	session := c.r.PathValue("id")
	return c.sendZip("files.zip", func(add func(name, text string) error) error {
		for _, f := range list.Files {
			text, err := s.readFile(c.r.Context(), session, f.Path)
			if err != nil {
				continue // it was deleted since
			}
			if err := add(f.Path, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendZip sends an archive. Of two files of one name the second gets a number. A directory that an
// agent was granted is a folder in it.
func (c *call) sendZip(name string, fill func(add func(name, text string) error) error) error {
	header := c.w.Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	archive := zip.NewWriter(c.w)
	names := map[string]int{}
	err := fill(func(name, text string) error {
		if isGranted(name) {
			name = strings.Replace(name[1:], "}", "", 1)
		}
		if names[name]++; names[name] > 1 {
			ext := path.Ext(name)
			name = strings.TrimSuffix(name, ext) + "-" + string(rune('0'+min(names[name], 9))) + ext
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
		if err != nil {
			return err
		}
		_, err = w.Write([]byte(text))
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

package server

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/workspace"
)

// A fileList is what a session's folder holds.
type fileList struct {
	Files []file `json:"files"`
	// Truncated says that there are more.
	Truncated bool `json:"truncated,omitempty"`
}

type file struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// maxFileDepth is how deep a session's folder is listed.
const maxFileDepth = 32

// openFolder opens a session's folder, for reading and by handle. It returns nil if
// there is none yet.
func (s *Server) openFolder(session string) (*workspace.Workspace, error) {
	if s.config.Folders == nil {
		return nil, nil
	}
	dir, err := s.config.Folders.Path(session)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: workspace.ReadOnly}}})
}

func (s *Server) listFiles(c *call) (fileList, error) {
	list := fileList{Files: []file{}}
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return list, err
	}
	granted, err := s.listGranted(c.r.Context(), &info)
	if err != nil {
		return list, err
	}
	list.Files = append(list.Files, granted...)
	folder, err := s.openFolder(info.ID)
	if err != nil || folder == nil {
		return list, err
	}
	defer folder.Close()
	all, err := folder.Resolve("{" + workspace.SessionFolder + "}")
	if err != nil {
		return list, err
	}
	found, err := folder.List(all, maxFileDepth)
	if err != nil {
		return list, err
	}
	for _, e := range found.Entries {
		if !e.IsDir && !e.IsLink {
			list.Files = append(list.Files, file{e.Path, e.Size, e.Modified.UTC()})
		}
	}
	list.Truncated = found.Truncated
	return list, nil
}

// errNoFile is all that is said of a file that cannot be read, for whatever reason.
var errNoFile = refuse(http.StatusNotFound, "there is no such file")

// readFile returns the content of a session's file.
func (s *Server) readFile(ctx context.Context, session, name string) (string, error) {
	if isGranted(name) {
		content, err := s.readGranted(ctx, session, name)
		return content, notRead(err)
	}
	folder, err := s.openFolder(session)
	if err != nil {
		return "", err
	}
	if folder == nil {
		return "", errNoFile
	}
	defer folder.Close()
	place, err := folder.Resolve("{" + workspace.SessionFolder + "}/" + name)
	if err != nil {
		return "", errNoFile
	}
	content, err := folder.ReadFile(place)
	return content, notRead(err)
}

// notRead is what is said of a file that could not be read.
func notRead(err error) error {
	if errors.Is(err, workspace.ErrTooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "the file is too large")
	}
	if err != nil {
		return errNoFile
	}
	return nil
}

// sendFile sends a file to be kept, not to be shown: whatever it is, it does nothing
// in a browser. As text or as rendered markdown it is for the page to show.
func (s *Server) sendFile(c *call) error {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return err
	}
	name, err := s.calledHere(c.r.Context(), &info, c.r.PathValue("path"))
	if err != nil {
		return err
	}
	version, err := c.number("version", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	var content string
	if version > 0 {
		content, err = s.versionOf(c, info.ID, name, version)
	} else {
		content, err = s.readFile(c.r.Context(), info.ID, name)
	}
	if err != nil && version == 0 && s.config.Made != nil && info.Agent == Pipeline { // what it has built
		if made, failed := s.config.Made.Read(c.r.Context(), info.ID, name); failed == nil {
			content, err = made, nil
		}
	}
	if err != nil {
		return err
	}
	return c.sendContent(name, content)
}

// previewTypes are what the page may show by itself: pictures, and pages that have no
// rights at all.
var previewTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".pdf": "application/pdf",
}

const (
	filePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"
	// previewPolicy lets a page of somebody's be shown in a frame of ours, in which it
	// runs nothing and loads nothing.
	previewPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)

// sendContent sends the content of a file as the query asks for it.
func (c *call) sendContent(name, content string) (err error) {
	header := c.w.Header()
	header.Set("Content-Security-Policy", filePolicy)
	switch query := c.r.URL.Query(); {
	case query.Has("html"):
		if content, err = renderMarkdown(name, content); err != nil {
			return err
		}
		header.Set("Content-Type", "text/html; charset=utf-8")
	case query.Has("raw"):
		header.Set("Content-Type", "text/plain; charset=utf-8")
	case query.Has("preview") && previewTypes[strings.ToLower(path.Ext(name))] != "":
		header.Set("Content-Security-Policy", previewPolicy)
		header.Set("Content-Type", previewTypes[strings.ToLower(path.Ext(name))])
	default:
		header.Set("Content-Type", "application/octet-stream")
		header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
	}
	http.ServeContent(c.w, c.r, "", time.Time{}, strings.NewReader(content))
	return nil
}

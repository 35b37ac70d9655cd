package server

import (
	"cmp"
	"mime"
	"net/http"
	"path"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

// given reads files that a session is begun with, and returns them as a model gets them.
func (s *Server) given(c *call, files []fileName) ([]troupe.Part, error) {
	if len(files) > mostAttachments {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a message has at most %d attachments", mostAttachments)
	}
	var all []attachment
	for _, f := range files {
		content, err := s.readNamed(c, f)
		if err != nil {
			return nil, err
		}
		all = append(all, attachment{path.Base(f.Path), mediaTypeOf(f.Path, content), []byte(content)})
	}
	return s.parts(all)
}

// mediaTypeOf is the media type of a file. What is text is plain text to a model, whatever
// its name.
func mediaTypeOf(name, content string) string {
	if known := previewTypes[path.Ext(name)]; known != "" && known[:5] == "image" && path.Ext(name) != ".svg" || path.Ext(name) == ".pdf" {
		return known
	}
	if utf8.ValidString(content) {
		return "text/plain"
	}
	return cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
}

// withGiven adds to the first message of a session what the session was begun with.
func (s *Server) withGiven(c *call, input *troupe.Input) error {
	known, err := s.notes.of(input.Session)
	if err != nil || len(known.Given) == 0 {
		return err
	}
	parts, err := s.given(c, known.Given)
	input.Parts = append(parts, input.Parts...)
	return err
}

// forgetGiven is called once a message has begun a run: the next one comes without the
// files.
func (s *Server) forgetGiven(session string) error {
	known, err := s.notes.of(session)
	if err != nil || len(known.Given) == 0 {
		return err
	}
	return s.notes.change(session, func(n *notes) { n.Given = nil })
}

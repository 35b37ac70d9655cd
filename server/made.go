package server

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// madeIn begins the names of what a delivery makes, among the files of its session, as they are on
// record: {output}/specs/plan.md.
const madeIn = "{" + pipeline.OutputRoot + "}/"

// made is the path of a file in the output of a delivery. It reports false for what is no file that
// the delivery has saved: an agent may be granted a directory of that name.
func (s *Server) made(ctx context.Context, session, name string) (path string, ok bool, err error) {
	path, ok = strings.CutPrefix(name, madeIn)
	if !ok || s.config.Made == nil {
		return "", false, nil
	}
	known, err := s.summaryOf(ctx, &troupe.SessionInfo{ID: session, Events: math.MaxInt64}) // whatever there is by now
	if err != nil {
		return "", false, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	return path, known.delivers && known.files[name] != nil, nil
}

// calledHere is the name of a file among those of its session. What a delivery makes is
// found by its path in the output, too, which is what the delivery calls it.
func (s *Server) calledHere(ctx context.Context, info *troupe.SessionInfo, name string) (string, error) {
	if s.config.Made == nil || info.Agent != Pipeline || isGranted(name) {
		return name, nil
	}
	known, err := s.summaryOf(ctx, info)
	if err != nil {
		return name, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.files[name] == nil && known.files[madeIn+name] != nil {
		return madeIn + name, nil
	}
	return name, nil
}

// isEdited reports whether a document of a delivery is another than its phase wrote.
func (s *Server) isEdited(ctx context.Context, session string, d *pipeline.ArtifactSummary) bool {
	if s.config.Made == nil {
		return false
	}
	text, err := s.config.Made.Read(ctx, session, d.Path)
	return err == nil && sumOf(text) != d.SHA256
}

// writeMade writes a document of a delivery that is there already.
func (s *Server) writeMade(ctx context.Context, session, path, text string) error {
	switch err := s.config.Made.Write(ctx, session, path, text); {
	case errors.Is(err, fs.ErrNotExist):
		return errNoFile
	case err != nil:
		return refuse(http.StatusUnprocessableEntity, "the file could not be written")
	}
	return nil
}

package outputs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Register adds a file to the session's outputs that was saved by other means than
// an agent's tools, or says more about one that is there.
func (f *Folders) Register(ctx context.Context, session string, output Output) error {
	if !hasFolder(session) {
		return fmt.Errorf("session %.64q: %w", session, troupe.ErrNotFound)
	}
	if !filepath.IsLocal(output.File) || strings.ContainsAny(output.File, "\\\x00") || output.File == manifestFile {
		return fmt.Errorf("session %s: register output %.200q: not the name of a file in its folder", session, output.File)
	}
	if !isType(output.Type) {
		return fmt.Errorf("session %s: register output %s: type %.20q is not document, data, report or artifact", session, output.File, output.Type)
	}
	if output.CreatedAt.IsZero() {
		output.CreatedAt = time.Now().UTC()
	}
	r := f.hold(session)
	defer f.letGo(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := f.follow(ctx, r, nil); err != nil {
		return fmt.Errorf("session %s: register output: %w", session, err)
	}
	if err := f.write(r, output); err != nil {
		return fmt.Errorf("session %s: register output: %w", session, err)
	}
	return nil
}

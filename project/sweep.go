package project

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/troupe-dev/troupe/workspace"
)

// sweepAge is how old a half-written document is that nobody writes any more: no write takes
// longer, in whatever process.
const sweepAge = time.Minute

// sweepDocuments removes what killed processes left behind among the documents that Troupe
// keeps. The project's own files are left alone.
func (p *Project) sweepDocuments(before time.Time) error {
	documents := p.documents()
	if _, err := os.Stat(documents.Dir); documents.InPlace || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	places, err := documents.Places()
	if err != nil {
		return err
	}
	for _, dir := range places {
		ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: "documents", Dir: dir, Access: workspace.ReadWrite, Trusted: true}}})
		if err != nil {
			return err
		}
		_, err = ws.Sweep(before)
		if err = errors.Join(err, ws.Close()); err != nil {
			return err
		}
	}
	return nil
}

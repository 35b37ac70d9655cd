package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// described is a tool's description: what it does, and how files are named.
func described(what, naming string) string {
	return strings.TrimSpace(strings.TrimSpace(what) + "\n\n" + naming)
}

// put writes a file and puts that on record.
func (v view) put(ctx context.Context, run *troupe.Run, loc workspace.Location, text string) error {
	content := []byte(text)
	if err := v.Write(loc, content); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	// The file is there, so it goes on record even if the run was stopped meanwhile.
	return run.Emit(context.WithoutCancel(ctx), &troupe.ArtifactSaved{
		Path:        v.names.show(loc),
		Size:        int64(len(content)),
		SHA256:      hex.EncodeToString(sum[:]),
		Type:        artifactType(loc.Name()),
		Description: describe(loc.Name(), text),
	})
}

// writing is held by whoever reads a file in order to write it, so that nobody
// else's change in between is lost: one of these locks, chosen by the file's name.
// Tools are made anew for every call and agent; the files are the same.
var writing [64]sync.Mutex

var seed = maphash.MakeSeed()

// hold waits until nobody else in this process is writing the file.
func hold(loc workspace.Location) *sync.Mutex {
	lock := &writing[maphash.String(seed, loc.String())%uint64(len(writing))]
	lock.Lock()
	return lock
}

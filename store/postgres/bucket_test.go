package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shelfOfBlobs is what keeps files elsewhere, in memory.
type shelfOfBlobs struct {
	mu     sync.Mutex
	kept   map[string][]byte
	broken error
	puts   int
}

func (b *shelfOfBlobs) Put(_ context.Context, name string, content []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.puts++
	if b.broken == nil {
		b.kept[name] = bytes.Clone(content)
	}
	return b.broken
}

func (b *shelfOfBlobs) Get(_ context.Context, name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[name], b.broken
}

func (b *shelfOfBlobs) Delete(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept, name)
	return nil
}

// What is in files may be kept elsewhere: once, as long as a file has it, and beside what the database
// has from before.
func TestFilesMayBeKeptElsewhere(t *testing.T) {
	address := shared.Server(t).Schema()
	blobs := &shelfOfBlobs{kept: map[string][]byte{}}
	inside, s := openAt(t, address), openAt(t, address, Options{Blobs: blobs})
	ctx := t.Context()
	put := func(s *Store, path, hash, content string) {
		t.Helper()
		if err := s.PutFile(ctx, "documents", path, hash, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	put(inside, "old.md", "h1", "from before")
	put(s, "same.md", "h1", "from before")
	put(s, "new.md", "h2", "from now on")
	put(s, "twice.md", "h2", "from now on")
	if len(blobs.kept) != 1 {
		t.Errorf("kept elsewhere: %d", len(blobs.kept))
	}
	for hash, want := range map[string]string{"h1": "from before", "h2": "from now on"} {
		if got, err := s.ReadBlob(ctx, hash); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", hash, got, err)
		}
	}
	if _, err := inside.ReadBlob(ctx, "h2"); err == nil || !strings.Contains(err.Error(), "files in troupe.yaml") {
		t.Errorf("without what keeps it: %v", err)
	}
	blobs.broken = errors.New("the bucket is full")
	if err := s.PutFile(ctx, "documents", "lost.md", "h3", []byte("lost")); !errors.Is(err, blobs.broken) {
		t.Errorf("not kept: %v", err)
	}
	// One that is out of reach is no database that is, and it was tried often enough.
	blobs.broken, blobs.puts = &net.OpError{Op: "dial", Err: errors.New("connection refused")}, 0
	if err := s.PutFile(ctx, "documents", "lost.md", "h3", []byte("lost")); err == nil || errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "postgres") || blobs.puts != 1 {
		t.Errorf("not kept: %v, after %d tries", err, blobs.puts)
	}
	if files, err := s.Files(ctx, "documents"); err != nil || len(files) != 4 {
		t.Errorf("%v, %v", files, err)
	}
	blobs.broken = nil
	for _, path := range []string{"new.md", "twice.md"} {
		if err := s.DropFile(ctx, "documents", path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.pool.Exec(ctx, "UPDATE blobs SET made = made - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	before := slices.Collect(func(yield func(string) bool) {
		for name := range blobs.kept {
			if !yield(name) {
				return
			}
		}
	})
	// One that cannot reach them leaves them alone, and one that comes back is sent again.
	if err := inside.sweepBlobs(ctx); err != nil || len(blobs.kept) != 1 {
		t.Errorf("%v, %d kept", err, len(blobs.kept))
	}
	put(s, "again.md", "h2", "from now on")
	if len(blobs.kept) != 1 || blobs.kept[before[0]] == nil {
		t.Errorf("kept as %v, not as %v alone", blobs.kept, before)
	}
	if err := s.DropFile(ctx, "documents", "again.md"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(ctx, "UPDATE blobs SET made = made - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	if err := s.sweepBlobs(ctx); err != nil || len(blobs.kept) != 0 {
		t.Errorf("%v, %d kept that nobody has", err, len(blobs.kept))
	}
}

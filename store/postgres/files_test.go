package postgres

import (
	"bytes"
	"testing"
)

// A file is kept by what is in it, once, for as long as it has a place.
func TestFilesAreKeptByTheirHashes(t *testing.T) {
	s, other := pair(t, Options{})
	ctx := t.Context()
	content := []byte("a\x00binary\xff file")
	for _, path := range []string{"one.md", "sub/two.md"} {
		if err := s.PutFile(ctx, "session/"+id(1), path, "h1", content); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutFile(ctx, "documents", "prd.md", "h1", content); err != nil {
		t.Fatal(err)
	}
	if files, err := other.Files(ctx, "session/"+id(1)); err != nil || len(files) != 2 || files["sub/two.md"] != "h1" {
		t.Errorf("%v, %v", files, err)
	}
	if got, err := other.ReadBlob(ctx, "h1"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.PutFile(ctx, "documents", "prd.md", "h2", []byte("newer")); err != nil {
		t.Fatal(err)
	}
	blobs := func() (n int) {
		if _, err := s.pool.Exec(ctx, "UPDATE blobs SET made = made - interval '2 hours'"); err != nil {
			t.Fatal(err)
		}
		if err := s.sweepBlobs(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.pool.QueryRow(ctx, "SELECT count(*) FROM blobs").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustAppend(t, s, eventsOf(id(1), 1, said("hello"))...)
	if n := blobs(); n != 2 {
		t.Errorf("%d blobs, and both have a place", n)
	}
	if err := s.DropFile(ctx, "session/"+id(1), "one.md"); err != nil {
		t.Fatal(err)
	}
	if n := blobs(); n != 2 {
		t.Errorf("%d blobs, and both still have a place", n)
	}
	if err := s.Delete(ctx, id(1)); err != nil {
		t.Fatal(err)
	}
	if n := blobs(); n != 1 {
		t.Errorf("%d blobs are left of a session that is no more", n)
	}
	if files, err := other.Files(ctx, "documents"); err != nil || len(files) != 1 || files["prd.md"] != "h2" {
		t.Errorf("%v, %v", files, err)
	}
}

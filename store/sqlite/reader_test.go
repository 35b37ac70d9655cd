package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// keepIndexed closes a store with an index that ends after so many events.
func keepIndexed(tb testing.TB, s *Store, n int) {
	tb.Helper()
	if err := s.catchUp(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	mustClose(tb, s)
	alter(tb, s.path, fmt.Sprintf("UPDATE indexed SET upto = coalesce((SELECT max(key) FROM (SELECT key FROM events ORDER BY key LIMIT %d)), 0);"+
		"DELETE FROM texts WHERE rowid > (SELECT upto FROM indexed)", n))
}

func TestAReaderFindsTextThatIsNotIndexed(t *testing.T) {
	for _, indexed := range []int{0, 6} {
		s := talk(t)
		keepIndexed(t, s, indexed)
		r := readAt(t, s.path)
		for text, want := range texts {
			if got := strings.Join(found(t, r, Query{Text: text}), " "); got != want {
				t.Errorf("with %d events indexed, %q found %s; want %s", indexed, text, got, want)
			}
		}
		for want, query := range map[string]Query{
			"1/4 1/3": {Text: "read_file"}, "1/4": {Text: "read_file", Limit: 1}, "2/3": {Text: "answer", Tool: "fetch"}, "": {Text: "answer", Agent: "alex"},
		} {
			if got := strings.Join(found(t, r, query), " "); got != want {
				t.Errorf("with %d events indexed, %+v found %s; want %s", indexed, query, got, want)
			}
		}
	}
}

func TestNothingIsFoundTwiceWhileTheIndexGrows(t *testing.T) {
	s := talk(t)
	keepIndexed(t, s, 12)
	alter(t, s.path, "UPDATE indexed SET upto = 1") // as a reader sees it that is slow
	r := readAt(t, s.path)
	if got := found(t, r, Query{Text: "read_file"}); len(got) != 2 {
		t.Errorf("found %v", got)
	}
	n := 0
	for range r.Follow(t.Context(), Query{After: 1, Text: "re*", Limit: 5}) {
		n++
	}
	if all := found(t, r, Query{Text: "re*"}); len(all) != n {
		t.Errorf("followed %d of %v", n, all)
	}
}

// killedAt makes a store as a killed process leaves it, with all its files.
func killedAt(t *testing.T) (path string) {
	t.Helper()
	s := openAt(t, sound(t))
	mustAppend(t, s, eventsOf(id(1), 3, said("the last words"))...)
	path = file(t)
	copyOpen(t, s, path)
	put(t, path+"-shm", get(t, s.path+"-shm"))
	mustClose(t, s)
	return path
}

// contents returns what is in a directory, but for what SQLite keeps in memory
// that processes share.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range filesIn(t, dir) {
		files[name] = nil
		if !strings.HasSuffix(name, "-shm") {
			files[name] = get(t, filepath.Join(dir, name))
		}
	}
	return files
}

// readAll reads in every way there is.
func readAll(t *testing.T, r *Reader, session string, events int64) {
	t.Helper()
	if n := lengthOf(t, r, session); n != events {
		t.Errorf("%d events are there; want %d", n, events)
	}
	if len(found(t, r, Query{Session: session})) != int(events) || len(found(t, r, Query{Text: "the", Session: session})) != int(events) {
		t.Error("a search does not find all")
	}
	if !slices.Contains(sessionsOf(t, r), session) {
		t.Error("the session is not listed")
	}
	for hit, err := range r.Follow(t.Context(), Query{After: 1, Session: session, Limit: int(events)}) {
		if err != nil || hit.Event.Session != session {
			t.Errorf("following yields %+v, %v", hit, err)
		}
	}
}

func TestAReaderChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		events int64
	}{"closed": {sound(t), 2}, "killed": {killedAt(t), 3}} {
		before := contents(t, filepath.Dir(c.path))
		r := readAt(t, c.path)
		readAll(t, r, id(1), c.events)
		e := eventsOf(id(1), c.events+1, said("hi"))
		if err := r.Append(t.Context(), id(1), e...); !errors.Is(err, ErrReadOnly) {
			t.Errorf("append: %v", err)
		}
		if err := r.Delete(t.Context(), id(1)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("delete: %v", err)
		}
		if r.Stats() != (Stats{}) {
			t.Errorf("the counters say %+v", r.Stats())
		}
		mustClose(t, r)
		mustClose(t, r)
		if after := contents(t, filepath.Dir(c.path)); !maps.EqualFunc(before, after, bytes.Equal) {
			t.Errorf("%s: reading changed %v to %v", name, slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
		}
		for _, err := range r.Sessions(t.Context(), troupe.SessionFilter{}) {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("read after it was closed: %v", err)
			}
		}
	}
}

func TestWhatCannotBeReadIsReportedAndLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string)
		check func(err error) bool
		says  string
	}{
		"missing":   {func(path string) { os.Remove(path) }, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }, ""},
		"empty":     {func(path string) { put(t, path, nil) }, isDamaged, "it is empty"},
		"garbage":   {func(path string) { put(t, path, bytes.Repeat([]byte("garbage "), 5000)) }, isDamaged, "not a database"},
		"foreign":   {func(path string) { alter(t, path, "PRAGMA application_id = 1") }, func(err error) bool { return errors.Is(err, errForeign) }, ""},
		"older":     {func(path string) { alter(t, path, "PRAGMA user_version = 0") }, nil, "open it for writing once"},
		"half":      {func(path string) { put(t, path+"-wal", []byte("words")) }, nil, "open it for writing once"},
		"newer":     {func(path string) { alter(t, path, "PRAGMA user_version = 7") }, isNewer, "(schema 7, this one knows 5)"},
		"directory": {func(path string) { os.Remove(path); os.Mkdir(path, 0o700) }, nil, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := sound(t)
			c.spoil(path)
			names := filesIn(t, filepath.Dir(path))
			_, err := OpenReadOnly(t.Context(), path)
			if err == nil || c.check != nil && !c.check(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			if c.check == nil && errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is taken for a missing file", err)
			}
			if after := filesIn(t, filepath.Dir(path)); !slices.Equal(after, names) {
				t.Errorf("%v became %v", names, after)
			}
		})
	}
	if _, err := OpenReadOnly(t.Context(), filepath.Join(t.TempDir(), "no", "such.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func isDamaged(err error) bool {
	damaged, ok := errors.AsType[*DamagedError](err)
	return ok && damaged.Aside == "" && !strings.Contains(err.Error(), "was set aside")
}

func isNewer(err error) bool {
	_, ok := errors.AsType[*NewerError](err)
	return ok
}

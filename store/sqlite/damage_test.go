package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound makes a store of 20 sessions that was closed.
func sound(t *testing.T) (path string) {
	t.Helper()
	path = file(t)
	s := openAt(t, path)
	for n := range 20 {
		mustAppend(t, s, eventsOf(id(n), 1, said(sentence), said(sentence))...)
	}
	mustClose(t, s)
	return path
}

// abandoned makes a store as a killed process leaves it.
func abandoned(t *testing.T) (path string) {
	t.Helper()
	s := openAt(t, sound(t))
	for n := range 20 {
		mustAppend(t, s, eventsOf(id(n), 3, said(sentence), said(sentence))...)
	}
	path = file(t)
	copyOpen(t, s, path)
	mustClose(t, s)
	return path
}

// copyOpen copies the files of a store that is open.
func copyOpen(t *testing.T, s *Store, path string) {
	t.Helper()
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", ".lock"} {
		put(t, path+suffix, get(t, s.path+suffix))
	}
}

func get(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// damages are what can happen to a file, and what is said of it.
var damages = map[string]struct {
	make  func(t *testing.T) string
	spoil func(t *testing.T, path string)
	says  string
}{
	"zero length":        {sound, func(t *testing.T, path string) { put(t, path, nil) }, "it is empty"},
	"garbage":            {sound, func(t *testing.T, path string) { put(t, path, bytes.Repeat([]byte("garbage "), 5000)) }, "not a database"},
	"cut short":          {sound, func(t *testing.T, path string) { put(t, path, get(t, path)[:10*4096]) }, "malformed"},
	"cut short in 100 B": {sound, func(t *testing.T, path string) { put(t, path, get(t, path)[:90]) }, ""},
	"garbage in the middle, and killed": {abandoned, func(t *testing.T, path string) {
		data := get(t, path)
		copy(data[2*4096:], bytes.Repeat([]byte{0xa5}, len(data))) // newer pages are in the log
		put(t, path, data)
	}, ""},
	"log missing, and killed": {abandoned, func(t *testing.T, path string) { os.Remove(path + "-wal") }, "acknowledged are missing"},
	"log cut short, and killed": {abandoned, func(t *testing.T, path string) {
		data := get(t, path+"-wal")
		put(t, path+"-wal", data[:len(data)/2])
	}, "acknowledged are missing"},
	"itself missing, and killed": {abandoned, func(t *testing.T, path string) { os.Remove(path) }, "-wal file is there"},
}

func TestADamagedFileIsSetAsideUnchanged(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := damage.make(t)
			damage.spoil(t, path)
			before := map[string][]byte{}
			for _, suffix := range []string{"", "-wal"} {
				if data, err := os.ReadFile(path + suffix); err == nil {
					before[suffix] = data
				}
			}
			_, err := Open(t.Context(), path, Options{})
			damaged, ok := errors.AsType[*DamagedError](err)
			if !ok || damaged.Path != path || !strings.HasPrefix(damaged.Aside, path+".damaged-") {
				t.Fatalf("got %v", err)
			}
			if text := err.Error(); !strings.Contains(text, damage.says) || !strings.Contains(text, "put a backup in its place") {
				t.Errorf("the error does not say what to do: %v", err)
			}
			for suffix, data := range before {
				if !bytes.Equal(get(t, damaged.Aside+suffix), data) {
					t.Errorf("what was set aside as %s is not what was there", damaged.Aside+suffix)
				}
				if _, err := os.Stat(path + suffix); err == nil {
					t.Errorf("%s is still there", path+suffix)
				}
			}
			s := openAt(t, path)
			if ids := sessionsOf(t, s); len(ids) != 0 || s.Recovered() != nil {
				t.Errorf("the new store has %v, %v", ids, s.Recovered())
			}
			mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
		})
	}
}

func TestAFileWithoutItsLogIsOpenedIfItIsPutBack(t *testing.T) {
	path := abandoned(t)
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	damaged, ok := errors.AsType[*DamagedError](err)
	if !ok {
		t.Fatal(err)
	}
	if err := os.Rename(damaged.Aside, path); err != nil {
		t.Fatal(err)
	}
	if n := lengthOf(t, openAt(t, path), id(1)); n != 2 {
		t.Errorf("%d events are left; want those that were in the file itself", n)
	}
}

func TestRecoverBeginsAnEmptyStore(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := damage.make(t)
			damage.spoil(t, path)
			s, err := Open(t.Context(), path, Options{Recover: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.Recovered() == nil || len(sessionsOf(t, s)) != 0 {
				t.Errorf("recovered is %v", s.Recovered())
			}
			mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
			mustClose(t, s)
			if n := lengthOf(t, openAt(t, path), id(1)); n != 1 {
				t.Errorf("%d events are there", n)
			}
		})
	}
}

func TestAKilledStoreIsSound(t *testing.T) {
	for name, spoil := range map[string]func(path string){
		"as it was left": func(string) {},
		"log merged by another program": func(path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := errors.Join(db.QueryRow("SELECT count(*) FROM sessions").Scan(&n), db.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path + "-wal"); err == nil {
				t.Fatal("the log is still there")
			}
		},
		"without the lock":            func(path string) { os.Remove(path + ".lock") },
		"with a lock nobody can read": func(path string) { put(t, path+".lock", []byte("?")) },
	} {
		t.Run(name, func(t *testing.T) {
			path := abandoned(t)
			spoil(path)
			s := openAt(t, path)
			for n := range 20 {
				if got := lengthOf(t, s, id(n)); got != 4 {
					t.Errorf("session %d has %d events", n, got)
				}
			}
		})
	}
}

func TestADeletedSessionIsNotMissedAfterAKill(t *testing.T) {
	s := openAt(t, file(t))
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	mustAppend(t, s, eventsOf(id(2), 1, said("hi"))...)
	if err := s.Delete(t.Context(), id(2)); err != nil {
		t.Fatal(err)
	}
	// As if another process had acknowledged the deleted event only now.
	if given := s.writer.lastKey; s.claim.acknowledge(given, given) != nil {
		t.Fatal("the note cannot be written")
	}
	path := file(t)
	copyOpen(t, s, path)
	if ids := sessionsOf(t, openAt(t, path)); len(ids) != 1 {
		t.Errorf("there are %v", ids)
	}
}

func TestHalfMadeStoresAreMadeAnew(t *testing.T) {
	path := file(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, path+newSuffix, []byte("half"))
	put(t, path+newSuffix+"-wal", []byte("half"))
	mustAppend(t, openAt(t, path), eventsOf(id(1), 1, said("hi"))...)
	for _, name := range filesIn(t, filepath.Dir(path)) {
		if strings.Contains(name, newSuffix) {
			t.Errorf("%s was left behind", name)
		}
	}
}

// alter runs statements on a store that is closed.
func alter(t testing.TB, path string, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(statements)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestANewerSchemaIsRefusedAndNothingChanged(t *testing.T) {
	path := sound(t)
	alter(t, path, "PRAGMA user_version = 7")
	before := get(t, path)
	for _, options := range []Options{{}, {Recover: true}} {
		_, err := Open(t.Context(), path, options)
		newer, ok := errors.AsType[*NewerError](err)
		if !ok || newer.Schema != 7 || newer.Known != 5 {
			t.Fatalf("got %v", err)
		}
		const advice = "written by a newer Troupe (schema 7, this one knows 5): update, or use another data directory"
		if !strings.HasSuffix(err.Error(), advice) {
			t.Errorf("the error says %v", err)
		}
	}
	if !bytes.Equal(get(t, path), before) {
		t.Error("the file was changed")
	}
	if names := filesIn(t, filepath.Dir(path)); fmt.Sprint(names) != "[troupe.db troupe.db.lock]" {
		t.Errorf("left behind are %v", names)
	}
}

func TestADatabaseOfAnotherProgramIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	alter(t, path, "CREATE TABLE theirs (a); PRAGMA user_version = 1")
	before := get(t, path)
	if _, err := Open(t.Context(), path, Options{Recover: true}); !errors.Is(err, errForeign) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(get(t, path), before) {
		t.Error("the file was changed")
	}
}

func TestADamagedEventConcernsItsSessionAlone(t *testing.T) {
	s := openAt(t, sound(t))
	do(t, s,
		`UPDATE sessions SET started = 'noon' WHERE number = 1`,
		`UPDATE contents SET event = '{"seq":2,' WHERE key = (SELECT key FROM events WHERE session = 1 AND seq = 2)`,
		`DELETE FROM contents WHERE key = (SELECT key FROM events WHERE session = 2 AND seq = 1)`,
		`UPDATE contents SET event = replace(event, 'user_said', 'of_tomorrow') WHERE key = (SELECT key FROM events WHERE session = 3 AND seq = 2)`)
	for n, want := range []string{"event 2 is missing or damaged", "event 1 is missing or damaged", `unknown kind "of_tomorrow"`, ""} {
		var last error
		for _, last = range s.Events(t.Context(), id(n), 0) {
		}
		if want == "" && last != nil || want != "" && (last == nil || !strings.Contains(last.Error(), want)) {
			t.Errorf("session %d: got %v, want %q", n, last, want)
		}
	}
	if ids := sessionsOf(t, s); len(ids) != 20 {
		t.Errorf("%d sessions are listed", len(ids))
	}
	hits, damaged := 0, 0
	for hit, err := range s.Search(t.Context(), Query{Kinds: []string{"user_said"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if hits++; hit.Err != nil {
			damaged++
			if hit.Event.Body != nil || hit.Event.Seq != 2 || hit.Event.Session == "" || hit.Event.Time.Year() != 2024 {
				t.Errorf("a damaged hit is %+v", hit)
			}
		}
	}
	if hits != 39 || damaged != 2 {
		t.Errorf("a search finds %d events, %d of them damaged", hits, damaged)
	}
}

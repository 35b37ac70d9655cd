package observe_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

// rotate writes n files' worth to a log file in dir, a day apart, and closes it.
func rotate(t *testing.T, o observe.FileOptions, n int) {
	t.Helper()
	file, err := observe.OpenFile(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := file.Write(bytes.Repeat([]byte{byte('a' + i)}, 700_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour) // of fake time
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// kept returns what begins each file in dir but the current one, oldest first.
func kept(t *testing.T, dir string, compressed bool) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", entry.Name(), info.Mode(), err)
		}
		if entry.Name() == "troupe.log" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if compressed {
			unzip, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil || !strings.HasSuffix(entry.Name(), ".log.gz") {
				t.Fatalf("%s: %v", entry.Name(), err)
			}
			if data, err = io.ReadAll(unzip); err != nil {
				t.Fatal(err)
			}
		}
		if len(data) != 700_000 {
			t.Errorf("%s has %d bytes", entry.Name(), len(data))
		}
		first = append(first, data[0])
	}
	return string(first)
}

func TestFullFilesMakeRoom(t *testing.T) {
	t.Attr("FR", "FR-032")
	for name, test := range map[string]struct {
		options observe.FileOptions
		kept    string
	}{
		"by size":     {observe.FileOptions{MaxSize: 1}, "abcd"},
		"by count":    {observe.FileOptions{MaxSize: 1, MaxCount: 2}, "cd"},
		"by age":      {observe.FileOptions{MaxSize: 1, MaxAge: 2}, "bcd"},
		"compressed":  {observe.FileOptions{MaxSize: 1, MaxCount: 3, Compress: true}, "bcd"},
		"not by size": {observe.FileOptions{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "logs")
			synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
				test.options.Path = filepath.Join(dir, "troupe.log")
				rotate(t, test.options, 5)
			})
			if got := kept(t, dir, test.options.Compress); got != test.kept {
				t.Errorf("kept %q, want %q", got, test.kept)
			}
		})
	}
}

func TestALogFileIsContinued(t *testing.T) {
	t.Attr("FR", "FR-032")
	path := filepath.Join(t.TempDir(), "a", "b", "troupe.log")
	for range 2 {
		file, err := observe.OpenFile(observe.FileOptions{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		observe.Log(slog.NewJSONHandler(file, nil)).Note(&troupe.Event{Seq: 1, Body: &troupe.Warned{Code: "model_retry"}})
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("late\n")); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a write after Close: %v", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if records := of(lines(t, bytes.NewBuffer(data)), "code", "model_retry"); len(records) != 2 {
		t.Errorf("the file has %s", data)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", dir.Mode(), err)
	}
}

func TestALogFileThatCannotBeWrittenIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []observe.FileOptions{{}, {Path: dir}, {Path: filepath.Join(dir, "x"), MaxSize: -1}, {Path: "\x00"}} {
		if file, err := observe.OpenFile(o); err == nil {
			file.Close()
			t.Errorf("%+v was opened", o)
		}
	}
}

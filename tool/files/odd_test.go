package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// readInPieces reads a file as a model would, and counts the calls.
func readInPieces(t *testing.T, ctx context.Context, run *troupe.Run, tool troupe.Tool, name string) (content string, calls int) {
	t.Helper()
	for offset := int64(0); ; {
		got, class := call(ctx, run, tool, object{"file_path": name, "offset": offset})
		if class != "" {
			t.Fatal(got)
		}
		if len(got) > 1<<20 {
			t.Errorf("a result has %d bytes: the engine would cut it off", len(got))
		}
		var piece readResult
		if err := json.Unmarshal([]byte(got), &piece); err != nil {
			t.Fatal(err)
		}
		content += piece.Content
		calls++
		if !piece.Truncated {
			return content, calls
		}
		if piece.NextOffset <= offset {
			t.Fatalf("from offset %d the next is %d", offset, piece.NextOffset)
		}
		offset = piece.NextOffset
	}
}

func TestAHugeFileComesInPiecesThatFit(t *testing.T) {
	w := newWorld(t)
	tool := Read(w.open(t))
	for name, content := range map[string]string{
		"plain.txt":   strings.Repeat("All work and no play. ", 150_000),
		"quotes.txt":  strings.Repeat(`"`, 3<<20),
		"control.txt": strings.Repeat("\x01", 2<<20),
		"wide.txt":    strings.Repeat("日本\u2028\n", 200_000),
		"small.txt":   "x",
	} {
		put(t, w.session, name, content)
		inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
			got, calls := readInPieces(t, ctx, run, tool, name)
			if got != content {
				t.Errorf("%s: %d bytes came out of %d", name, len(got), len(content))
			}
			t.Log(name, "took", calls, "calls")
			return nil
		})
	}
}

func TestOddFilesAreToldOf(t *testing.T) {
	w := newWorld(t)
	put(t, w.session, "binary", "PNG\x00\x01\x02")
	put(t, w.session, "latin1.txt", "na\xefve and caf\xe9")
	put(t, w.session, "empty", "")
	sparse, err := os.Create(filepath.Join(w.session, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	err = sparse.Truncate(1 << 40)
	sparse.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(w.outside, "canary.txt"), filepath.Join(w.session, "hard")); err != nil {
		t.Fatal(err)
	}
	tool := Read(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		for name, want := range map[string]string{
			"binary":     `{"success":true,"path":"binary","content":"[binary file of 6 bytes, not shown]","size":6,"note":"this is a binary file; its content is not shown"}`,
			"latin1.txt": `{"success":true,"path":"latin1.txt","content":"na�ve and caf�","size":14,"note":"some bytes were not UTF-8 and are shown as �"}`,
			"empty":      `{"success":true,"path":"empty","content":"","size":0}`,
			"sparse":     `{"success":false,"error":"read {session-folder}/sparse: too large`,
			"hard":       `{"success":false,"error":"Security violation: Access denied: read {session-folder}/hard: it has several hard links","path":"hard"}`,
		} {
			if got, _ := call(ctx, run, tool, object{"file_path": name}); !strings.HasPrefix(got, want) {
				t.Errorf("%s\n got %s\nwant %s", name, got, want)
			}
		}
		return nil
	})
}

func TestAnEndlessPathIsNotToldBack(t *testing.T) {
	w := newWorld(t)
	tool := Read(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		got, class := call(ctx, run, tool, object{"file_path": strings.Repeat("a/", 1<<20)})
		if len(got) > 1000 || class != "failed" {
			t.Errorf("class %s: %d bytes: %.1000s", class, len(got), got)
		}
		return nil
	})
}

func TestALongListingIsCutToFit(t *testing.T) {
	w := newWorld(t)
	for i := range 2200 {
		put(t, w.session, fmt.Sprintf("many/%05d%s", i, strings.Repeat("ü\x01", 60)), "")
	}
	tool := List(w.open(t))
	inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		got, class := call(ctx, run, tool, object{"path": "many"})
		var listed listResult
		if err := json.Unmarshal([]byte(got), &listed); err != nil || class != "" {
			t.Fatal(err, class)
		}
		if len(got) > 1<<20 || len(got) < 1<<19 || !listed.Truncated {
			t.Errorf("%d bytes, %d entries, truncated %v", len(got), len(listed.Entries), listed.Truncated)
		}
		return nil
	})
}

func FuzzFittingTextFits(f *testing.F) {
	f.Add("a\"b\n\x00\u2028ü日\xff", 7)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		fit := fitting(s, n)
		if size := len(encode(s[:fit])) - len(`""`); size > n {
			t.Errorf("%q takes %d bytes; want %d at most", s[:fit], size, n)
		}
		if size := len(encode(s)) - len(`""`); size > encodedSize(s) {
			t.Errorf("%q takes %d bytes, not %d", s, size, encodedSize(s))
		}
	})
}

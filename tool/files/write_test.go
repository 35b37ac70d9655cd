package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
)

// wholeContent is what writer i writes: any part of it tells whose it is.
func wholeContent(i int) string { return strings.Repeat(fmt.Sprintf("writer %03d\n", i), 30_000) }

// isWhole says whether content is what one writer wrote, all of it.
func isWhole(content string) bool {
	var i int
	_, err := fmt.Sscanf(content, "writer %03d\n", &i)
	return err == nil && content == wholeContent(i)
}

func TestAHundredWritersOfOneFileDoNotInterleave(t *testing.T) {
	t.Attr("FR", "FR-006")
	w := newWorld(t)
	find := w.open(t)
	write, read := Write(find), Read(find)
	put(t, w.session, "one.txt", wholeContent(0))
	const writers = 100
	var writing, byTool, byOthers atomic.Int64
	writing.Store(writers)
	readByTool := func(ctx context.Context, run *troupe.Run) error {
		for ; writing.Load() > 0; byTool.Add(1) {
			got, _ := call(ctx, run, read, object{"file_path": "one.txt"})
			var piece readResult
			if err := json.Unmarshal([]byte(got), &piece); err != nil || !isWhole(piece.Content) {
				return fmt.Errorf("a reader saw %d bytes, %.100s: %v", len(piece.Content), got, err)
			}
		}
		return nil
	}
	readByOthers := func(context.Context, *troupe.Run) error {
		for ; writing.Load() > 0; byOthers.Add(1) {
			if content, err := os.ReadFile(filepath.Join(w.session, "one.txt")); err != nil || !isWhole(string(content)) {
				return fmt.Errorf("another program saw %d bytes: %v", len(content), err)
			}
		}
		return nil
	}
	branches := []func(context.Context, *troupe.Run) error{readByTool, readByTool, readByOthers, readByOthers}
	for i := range writers {
		branches = append(branches, func(ctx context.Context, run *troupe.Run) error {
			defer writing.Add(-1)
			if got, class := call(ctx, run, write, object{"file_path": "one.txt", "content": wholeContent(i)}); class != "" {
				return errors.New(got)
			}
			return nil
		})
	}
	saved := inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
		return errors.Join(run.All(ctx, 0, branches...)...)
	})
	t.Log(byTool.Load(), "reads by the tool,", byOthers.Load(), "by others")
	if len(saved) != writers || byTool.Load() == 0 || byOthers.Load() == 0 {
		t.Errorf("%d of %d writes are on record", len(saved), writers)
	}
	entries, err := os.ReadDir(w.session)
	if err != nil || len(entries) != 2 { // notes.md and one.txt
		t.Errorf("the session folder holds %v, %v", entries, err)
	}
}

func TestWritingAndMakingTwiceLeavesTheSameState(t *testing.T) {
	t.Attr("FR", "FR-006")
	w := newWorld(t)
	find := w.open(t)
	state := func() (s string) {
		inRun(t, session, func(ctx context.Context, run *troupe.Run) error {
			for _, c := range []struct {
				tool      troupe.Tool
				arguments object
			}{
				{MakeDir(find), object{"path": "src/deep"}},
				{Write(find), object{"file_path": "src/main.go", "content": "package main\n"}},
				{List(find), object{"path": "src"}},
				{Read(find), object{"file_path": "src/main.go"}},
			} {
				got, class := call(ctx, run, c.tool, c.arguments)
				if class != "" {
					t.Error(got)
				}
				s = s + strings.Replace(got, `"created":true`, `"created":false`, 1) + "\n"
			}
			return nil
		})
		return s
	}
	if first, second := state(), state(); first != second {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
}

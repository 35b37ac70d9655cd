package server

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a call of edit_file came to is found by its hash, whichever call it was.
func TestPiecesAreReplacedAsOnRecord(t *testing.T) {
	edits := func(pairs ...string) json.RawMessage {
		var list []map[string]string
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, map[string]string{"search": pairs[i], "replace": pairs[i+1]})
		}
		data, _ := json.Marshal(map[string]any{"file_path": "a.md", "edits": list})
		return data
	}
	var calls replacing
	for _, arguments := range []json.RawMessage{edits("one", "two", "two", "three"), edits("absent", "x"), edits("a\nb", "a\nc"), json.RawMessage(`{"content":"x"}`), json.RawMessage(`[`), edits("", "x")} {
		if len(writingOf(arguments).Edits) > 0 {
			calls.add(arguments)
		}
	}
	if len(calls) != 4 {
		t.Errorf("%d calls replace something", len(calls))
	}
	for _, c := range []struct{ text, want string }{{"one.", "three."}, {"a\r\nb\r\n", "a\r\nc\r\n"}} {
		if got, ok := calls.of(c.text, sumOf(c.want)); !ok || got != c.want {
			t.Errorf("%q becomes %q, %v", c.text, got, ok)
		}
		if _, ok := calls.of(c.text, sumOf(c.want)); ok {
			t.Errorf("what became of %q is found twice", c.text)
		}
	}
	if _, ok := calls.of("absent", sumOf("something else")); ok {
		t.Error("a text is found that nobody wrote")
	}
	for range 3 * mostReplacing {
		calls.add(edits(strings.Repeat("x", 10), "y"))
	}
	if len(calls) != mostReplacing {
		t.Errorf("%d calls are remembered", len(calls))
	}
}

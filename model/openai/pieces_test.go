package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// cut cuts text into pieces at random.
func cut(t *rapid.T, text string) (pieces []string) {
	for text != "" {
		n := min(rapid.IntRange(1, 12).Draw(t, "size"), len(text))
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// anyJSON draws a value that is nested a little and repeats itself.
func anyJSON(t *rapid.T, depth int) any {
	keys := rapid.SampledFrom([]string{"n", "a", "", "n\"{", "\\", "{"})
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[keys.Draw(t, "key")] = anyJSON(t, depth-1)
		}
		return object
	case kind == 1 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, anyJSON(t, depth-1))
		}
		return list
	case kind == 2:
		return rapid.SampledFrom([]any{true, nil, -1.5e3, 0.0}).Draw(t, "word")
	}
	return rapid.SampledFrom([]string{"", "{}", `{"n":`, "x\"y", "\n}", "{\"n\":1}"}).Draw(t, "text")
}

// Arguments that come by the book are put together as they were, wherever they are
// cut: nothing that is guessed about other servers gets in the way.
func TestArgumentsByTheBookAreNeverChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"n": anyJSON(t, 4), "m": anyJSON(t, 2)}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var a arguments
		pieces := cut(t, string(data))
		for i, piece := range pieces {
			if a.isComplete() && i > 0 {
				t.Fatalf("%q is taken for complete", pieces[:i])
			}
			a.add(piece)
		}
		if got := a.String(); got != string(data) || !a.isComplete() {
			t.Fatalf("%q became %s", pieces, got)
		}
		// Sent again, whole or in pieces, they stay what they are.
		a.add(string(data))
		for _, piece := range cut(t, string(data)) {
			a.add(piece)
		}
		if got := a.String(); got != string(data) {
			t.Fatalf("%q, sent again, became %s", pieces, got)
		}
	})
}

// Growing by repetition, the last piece is what was meant.
func TestCumulativeArgumentsAreTheLastPiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := json.Marshal(map[string]any{"n": anyJSON(t, 3), "text": "some text"})
		if err != nil {
			t.Fatal(err)
		}
		var a arguments
		for end := rapid.IntRange(2, 9).Draw(t, "first"); end < len(data); end += rapid.IntRange(1, 9).Draw(t, "step") {
			a.add(string(data[:end]))
		}
		a.add(string(data))
		if got := a.String(); got != string(data) {
			t.Fatalf("%s became %s", data, got)
		}
	})
}

// What is said, thought and called does not depend on where a text was cut.
func TestTextIsReadAlikeWhereverItIsCut(t *testing.T) {
	words := rapid.SampledFrom([]string{"<think>", "</think>", "<tool_call>", "</tool_call>", `{"name":"f","arguments":{"x":1}}`, "```json\n", "```", "<function=f>", "</function>",
		"{", "}", `"name"`, "a word ", " ", "\n", "\n</think>\n", "<", "[TOOL_CALLS]", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 0, 12).Draw(t, "text"), "")
		calls := textCalls{tools: fTool, anywhere: rapid.Bool().Draw(t, "anywhere")}
		wantThought, wantSaid, wantCalls := heardAs(calls, []string{text})
		gotThought, gotSaid, gotCalls := heardAs(calls, cut(t, text))
		if gotThought != wantThought || gotSaid != wantSaid || len(gotCalls) != len(wantCalls) {
			t.Fatalf("%q (anywhere %v): cut, it is %q, %q, %d calls; whole, %q, %q, %d calls", text, calls.anywhere, gotThought, gotSaid, len(gotCalls), wantThought, wantSaid, len(wantCalls))
		}
		if len(gotCalls) == 0 && gotThought == "" && !strings.HasPrefix(strings.TrimLeft(text, " \n"), "<think>") && !strings.Contains(text, "</think>") && gotSaid != text {
			t.Fatalf("%q is shown as %q", text, gotSaid)
		}
	})
}

// A text that has the tag which begins a thought somewhere in it is about tags, to its end: also
// where what looked like a call is between the two.
func TestWhatLooksLikeACallLeavesTheTagsBeforeItInTheText(t *testing.T) {
	const text = "}<think>{```json\n</think>"
	for _, pieces := range [][]string{{text}, {"}<think>{", "```json\n</think>"}} {
		if thought, said, calls := heardAs(textCalls{tools: fTool, anywhere: true}, pieces); thought != "" || said != text || len(calls) > 0 {
			t.Errorf("%q is the thought %q, the text %q and %d calls", pieces, thought, said, len(calls))
		}
	}
}

var fTool = func() *troupe.ToolSet {
	set, err := troupe.NewToolSet(troupe.NewTool("f", "does f", anyTool))
	if err != nil {
		panic(err)
	}
	return set
}()

func heardAs(calls textCalls, pieces []string) (thought, said string, list []troupe.ToolCall) {
	s := speech{calls: calls}
	hear := func(t told) {
		thought, said = thought+t.thought, said+t.said
		if t.wasThought {
			thought, said = thought+strings.TrimRight(said, " \t\r\n"), t.after
		}
	}
	for _, piece := range pieces {
		hear(s.add(piece))
	}
	last, list := s.end()
	hear(last)
	return thought, said, list
}

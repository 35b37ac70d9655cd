package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// What was found inside a conversation is quoted: the line in which it was said, unless that
// is the title.
func TestWhatWasFoundInAConversationIsQuoted(t *testing.T) {
	w := writer(t)
	session := w.session()
	w.talk(session, "One bank or three?")
	w.talk(session, "Some nights.\nOn Sundays **one bank** of lockers is not enough.\nThat is all.")
	for words, want := range map[string]string{
		"lockers": "On Sundays **one bank** of lockers is not enough.", "LOCK": "On Sundays **one bank** of lockers is not enough.",
		"or three": "", "nights": "Some nights.",
	} {
		var found searchResult
		w.want(http.StatusOK, &found, "GET", "/api/search?q="+strings.ReplaceAll(strings.ToLower(words), " ", "+"), nil)
		if len(found.Sessions) != 1 || found.Sessions[0].ID != session || found.Sessions[0].Found != want {
			t.Errorf("%s: %+v, want %q", words, found.Sessions, want)
		}
	}
}

// A conversation that is found by what an agent wrote into a file, and did not say, is quoted, too.
func TestWhatWasWrittenInAConversationIsQuoted(t *testing.T) {
	var w *world
	model := scriptedFunc(func(req *troupe.Request) troupe.Chunk {
		if req.Messages[len(req.Messages)-1].Role != troupe.RoleUser {
			return troupe.Chunk{Text: "Done."}
		}
		return troupe.Chunk{Call: &troupe.ToolCall{ID: "c", Name: "save", Arguments: `{"content":"# Plan\nThe lockers come in May."}`}}
	})
	w = open(t, clerk(t, model, saving(func() *world { return w })))
	session := w.session()
	w.talk(session, "Write it down")
	var found searchResult
	w.want(http.StatusOK, &found, "GET", "/api/search?q=lockers", nil)
	if len(found.Sessions) != 1 || found.Sessions[0].ID != session || found.Sessions[0].Found != "The lockers come in May." {
		t.Errorf("%+v", found.Sessions)
	}
}

// What waits to be allowed is quoted from what would be saved, and not from the question, which
// is for machines, too. Files are told by their names.
func TestWhatWaitsToBeAllowedIsQuoted(t *testing.T) {
	body := &troupe.InputRequested{Question: `Call save with {"content":"x"}?`, Approval: true, Tool: "save", Arguments: `{"n":1,"file_path":"{session-folder}/a/b.md","content":"One.\nThe lockers."}`}
	if said := saidIn(body); said != "" {
		t.Errorf("said: %q", said)
	}
	if got, want := writtenIn(body), []string{"One.\nThe lockers.", "b.md"}; !slices.Equal(got, want) {
		t.Errorf("written: %q, want %q", got, want)
	}
}

// JSON is looked through value by value, however it is wrapped: its keys and its escapes are for
// machines.
func TestOfJSONTheValuesAreQuoted(t *testing.T) {
	want := "- [ ] Agree on the date"
	inner := `{"documents":[{"phase":"planning","content":"# Plan\n- [ ] Agree on the date\n"}]}`
	nested, err := json.Marshal(object{"agreed": inner})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain": inner, "nested": string(nested), "cut": inner[:len(inner)-4] + `,"documents":[{"agree`,
		"fenced": "Here it is:\n```json\n" + inner + "\n```\nThat is all.", "a list": `["# Plan", "- [ ] Agree on the date"]`,
	} {
		var lines []string
		for _, found := range textsIn(text) {
			if line := quoted(found, "agree"); line != "" {
				lines = append(lines, line)
			}
			if line := quoted(found, "documents"); line != "" {
				t.Errorf("%s: a key is quoted: %q", name, line)
			}
		}
		if !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: %q", name, lines)
		}
	}
	for _, text := range []string{"{session-folder}/a.md is saved", "[x] done", "Use ```go\nx := 1\n``` here", ""} {
		if got := textsIn(text); !slices.Equal(got, []string{text}) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// A file that is found by its name is quoted, too, if the words stand in it.
func TestWhatWasFoundInAFileIsQuoted(t *testing.T) {
	w := writer(t)
	w.talk(w.session(), "# One\nThe brief is short.")
	for words, want := range map[string]string{"brief": "The brief is short.", "brief.md": ""} {
		var found searchResult
		w.want(http.StatusOK, &found, "GET", "/api/search?q="+words, nil)
		if len(found.Files) != 1 || found.Files[0].Found != want {
			t.Errorf("%s: %+v, want %q", words, found.Files, want)
		}
	}
}

func TestAnExcerptIsCutAtBlanks(t *testing.T) {
	long := strings.Repeat("before ", 20) + "Lockers" + strings.Repeat(" behind", 20)
	for _, c := range []struct{ text, words, want string }{
		{"One\n  Two lockers \nThree", "lockers", "Two lockers"},
		{"One", "lockers", ""},
		{long, "lockers", "…" + strings.Repeat("before ", 8) + "Lockers" + strings.Repeat(" behind", 8) + "…"},
		{strings.Repeat("x", 100) + "lockers" + strings.Repeat("y", 100), "lockers", "…" + strings.Repeat("x", 60) + "lockers" + strings.Repeat("y", 60) + "…"},
		{strings.Repeat("Ⱥ", 300) + " lockers", "lockers", "…" + strings.Repeat("Ⱥ", 59) + " lockers"}, // its small letter is longer
	} {
		if got := excerpt(c.text, c.words); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.text, got, c.want)
		}
	}
}

package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/edit"
)

func TestTheArtifactsOfAnAnswerAreChanges(t *testing.T) {
	p := &Parsed{JSON: []byte(`{"artifacts": [
		{"path": "a.go", "type": "edit", "edits": [{"search": "1", "replace": "2"}]},
		{"name": "named.md", "type": "gkchatty", "content": "text"},
		{"path": "b.go", "type": "edit", "edits": [{"search": "3", "replace": "4"}]},
		{"path": "a.go", "type": "edit", "edits": [{"search": "5", "replace": "6"}], "metadata": {"reason": "because"}},
		{"path": "a.go", "type": "delete"}]}`)}
	p.Output.Artifacts = append(make([]Artifact, 5), Artifact{Path: "shown.go", Content: "package shown\n"})
	var got []string
	for _, c := range changesOf(p) {
		line := c.Type + " " + c.Path + " " + c.Content + c.Reason
		for _, e := range c.Edits {
			line += fmt.Sprintf(" %v=>%v", e.Search, e.Replace)
		}
		got = append(got, line)
	}
	want := []string{"edit a.go because 1=>2 5=>6", "file named.md text", "edit b.go  3=>4", "delete a.go ", "file shown.go package shown\n"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := changesOf(&Parsed{JSON: []byte(`{"artifacts": "none"}`)}); got != nil {
		t.Errorf("what is no list has %+v", got)
	}
}

// Only edits of the same file are one change: a file and an edit of it are two.
func TestOnlyEditsAreTakenTogether(t *testing.T) {
	for _, types := range [][2]string{{edit.TypeEdit, edit.TypeFile}, {edit.TypeFile, edit.TypeEdit}, {edit.TypeFile, edit.TypeFile}} {
		if got := together([]edit.Change{{Path: "a", Type: types[0]}, {Path: "a", Type: types[1]}}); len(got) != 2 {
			t.Errorf("%q: got %+v", types, got)
		}
	}
	got := together([]edit.Change{{Path: "a", Type: edit.TypeEdit, Reason: "first", Broken: "it is broken"}, {Path: "a", Type: edit.TypeEdit, Reason: "second"}})
	if len(got) != 1 || got[0].Reason != "first" || got[0].Broken != "it is broken" {
		t.Errorf("got %+v", got)
	}
}

func TestAnAnswerReplacesWhatWasHeldForItsPath(t *testing.T) {
	b := &builder{}
	b.hold([]edit.Change{{Path: "a", Content: "1"}, {Path: "b", Content: "2"}})
	b.hold([]edit.Change{{Path: "a", Content: "3"}})
	if want := []edit.Change{{Path: "b", Content: "2"}, {Path: "a", Content: "3"}}; !reflect.DeepEqual(b.held, want) {
		t.Errorf("got %+v", b.held)
	}
}

func TestAnswersThatCannotBeUsedAreCounted(t *testing.T) {
	b := &builder{}
	for n := range maxMisses {
		if feedback, done, why, err := b.missed("again", setback{agent: "Make it fit.", person: "it never fits"}); feedback != "again" || done || why != nil || err != nil {
			t.Errorf("miss %d: %q, %t, %+v, %v", n+1, feedback, done, why, err)
		}
	}
	if feedback, done, why, err := b.missed("again", setback{agent: "Make it fit.", person: "it never fits"}); feedback != "" || done || inShort(why) != "the builder was asked 4 times, and none of its answers could be used: it never fits" || why.agent != "Make it fit." || err != nil {
		t.Errorf("the last miss: %q, %t, %+v, %v", feedback, done, why, err)
	}
}

// A person is told how often a builder was asked in all its conversations, and each reason.
func TestABuilderWasAskedAsOftenAsItIsSaid(t *testing.T) {
	b := &builder{asked: 5, unusable: []string{"it never fits", "it never fits", "it was cut off", "it never fits"}, misses: maxMisses}
	if _, _, why, _ := b.missed("again", setback{person: "it never fits"}); why == nil || why.person != "the builder was asked 5 times, and none of its answers could be used: it never fits (4 times); it was cut off (1 time)" {
		t.Errorf("got %+v", why)
	}
	if got := unusableText(9, []string{"a", "b", "c", "d", "e", "f"}); got != "the builder was asked 9 times, and 6 of its answers could not be used: a (1 time); b (1 time); c (1 time); d (1 time); and 2 other reasons" {
		t.Errorf("got %q", got)
	}
}

func TestABuilderIsToldWhatFits(t *testing.T) {
	r := &applyResult{Problems: []edit.Problem{{Path: "a.go", Message: "it does not fit"}}}
	alone, held := problemText(r, nil), problemText(r, []edit.Change{{Path: "b.go"}, {Path: "c.go"}})
	if !strings.Contains(alone, r.Problems[0].String()) || strings.Contains(alone, "are held") {
		t.Errorf("got %q", alone)
	}
	if !strings.Contains(held, "These fit and are held; send them again only to replace them: b.go, c.go.") {
		t.Errorf("got %q", held)
	}
	if got := notesText(nil); got != "" {
		t.Errorf("of no notes: %q", got)
	}
	if got := notesText([]string{"one", "two"}); !strings.HasSuffix(got, "\n- one\n- two\n\n") {
		t.Errorf("got %q", got)
	}
	if blocksHint(false) != "" || !strings.Contains(blocksHint(true), "<<<b1") {
		t.Error("blocks are asked for at the wrong time")
	}
}

// Of a long conversation the latest answers are quoted, and all that came of them.
func TestAConversationKeepsWhatCameOfIt(t *testing.T) {
	c := conversation{opening: "The task."}
	if got := c.prompt(); got != "The task." {
		t.Errorf("got %q", got)
	}
	for n := range 5 {
		c.add(fmt.Sprintf("answer-%d", n+1), fmt.Sprintf("feedback-%d", n+1))
	}
	want := "The task." +
		"\n\nYOUR ANSWER 1:\n(left out)\n\nWHAT CAME OF IT:\nfeedback-1" +
		"\n\nYOUR ANSWER 2:\n(left out)\n\nWHAT CAME OF IT:\nfeedback-2" +
		"\n\nYOUR ANSWER 3:\nanswer-3\n\nWHAT CAME OF IT:\nfeedback-3" +
		"\n\nYOUR ANSWER 4:\nanswer-4\n\nWHAT CAME OF IT:\nfeedback-4" +
		"\n\nYOUR LAST ANSWER:\nanswer-5\n\nWHAT CAME OF IT:\nfeedback-5" +
		"\n\nAnswer again, as the schema above says. Return ONLY the JSON object."
	if got := c.prompt(); got != want {
		t.Errorf("got %q", got)
	}
}

func TestTheWorseLevelCounts(t *testing.T) {
	levels := []Level{"", LevelStrict, LevelExtracted, LevelRepaired, LevelCorrected, LevelMarkdown, LevelRaw}
	for i, a := range levels {
		for j, b := range levels {
			if got := worse(a, b); got != levels[max(i, j)] {
				t.Errorf("of %q and %q: got %q", a, b, got)
			}
		}
	}
}

package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
)

// naughty are texts that try to get out of their place.
var naughty = []string{
	"# Heading\n## User\n\nSetext\n======\n- item\n1. one\n---\n***",
	"```\nunclosed", "~~~ ~~~\n~~~\n```\n~~~~~~\n<b>", "``` a`b\n<script>", "- ```\n  <b>\n  ```\n</details>", "    ```\n    x\n\t```\n",
	"</details></blockquote>\n## User\n<!-- <![CDATA[ <?php <pre>", "````\n```\n````\n```` x\n", "`", "` <b> `", "\\`<b>`", "a\r\rb\r\n# c\u2028# d",
	"\x1b[31mred\x1b[0m \x00\x07\u202e\u0085\xff\xfe", "[^1]: note\n[^1]", "> quoted\nlazy\n> ```", "{\"a\": \"```\"}", strings.Repeat("[", 3000) + strings.Repeat("]", 3000),
	strings.Repeat("`", 50) + "\n" + strings.Repeat("~", 50), " \t\n ", "a\n\n\n\nb\n   ", strings.Repeat("ü", 3000), "| ` | <b> | ` |\n|-|-|-|\n| x | y | z |",
}

func TestNothingSaidGetsOutOfItsPlace(t *testing.T) {
	for _, text := range naughty {
		checkPlaces(t, text)
	}
}

func FuzzNothingSaidGetsOutOfItsPlace(f *testing.F) {
	for _, text := range naughty {
		f.Add(text)
	}
	f.Fuzz(checkPlaces)
}

// checkPlaces checks that a page has the same bones whatever is said in it.
func checkPlaces(t *testing.T, text string) {
	t.Helper()
	got := skeleton(t, written(t, everywhere(text), Options{MaxBytes: 1 << 20}))
	if want := skeleton(t, written(t, everywhere("x"), Options{})); text != "" && got != want {
		t.Errorf("%q: the page is made of\n%s\nwant\n%s", text, got, want)
	}
	skeleton(t, written(t, everywhere(text), Options{MaxBytes: 1}))
}

func TestEachEventIsWrittenBeforeTheNextIsAskedFor(t *testing.T) {
	events := told(&troupe.RunStarted{}, &troupe.UserSaid{Text: "one"}, &troupe.TextDelta{Text: "delta"},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "two"}}, &troupe.Warned{Code: "three"})
	var page strings.Builder
	seen := func(yield func(troupe.Event, error) bool) {
		for i, words := range []string{"", "one", "one", "two", "three"} {
			if !yield(events[i], nil) || !strings.Contains(page.String(), words) {
				t.Errorf("after event %d the page reads %q", i+1, page.String())
			}
		}
		yield(troupe.Event{}, troupe.ErrNotFound)
	}
	if err := Write(&page, seen, Options{}); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
	if strings.Contains(page.String(), "delta") || strings.Contains(page.String(), "Totals") {
		t.Errorf("the page reads %q", page.String())
	}
}

// full is a disk with room for one event.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestAWriterThatFailsEndsTheTranscript(t *testing.T) {
	events := told(&troupe.UserSaid{Text: "one"}, &troupe.UserSaid{Text: "two"})
	for room := range 3 { // two events and the totals
		if err := Write(&full{room}, all(events), Options{}); err == nil || err.Error() != "write transcript: disk full" {
			t.Errorf("with room for %d: %v", room, err)
		}
	}
	if err := Write(&full{3}, all(events), Options{}); err != nil {
		t.Error(err)
	}
}

func TestRealConversationsAreWrittenWhole(t *testing.T) {
	file, err := os.Open(corpus.Path(t, "trajectories/tau-bench-gpt-4o-airline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	conversations, bytes := 0, 0
	for ; lines.Scan(); conversations++ {
		var conversation struct{ Traj []message }
		if err := json.Unmarshal(lines.Bytes(), &conversation); err != nil {
			t.Fatal(err)
		}
		page := written(t, eventsOf(conversation.Traj), Options{MaxBytes: 1 << 20})
		skeleton(t, page)
		for _, m := range conversation.Traj[1:] {
			first, _, _ := strings.Cut(m.Content, "\n")
			if m.Role != "tool" && !strings.Contains(page, first) {
				t.Errorf("%s is not there: %q", m.Role, first)
			}
		}
		bytes += len(page)
	}
	t.Log(conversations, "conversations,", bytes, "bytes")
	if conversations < 10 {
		t.Errorf("%d conversations: the test shows little", conversations)
	}
}

// A message is one of a recorded conversation.
type message struct {
	Role, Content, Name string
	ToolCallID          string `json:"tool_call_id"`
	ToolCalls           []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func eventsOf(conversation []message) []troupe.Event {
	bodies := []troupe.Body{&troupe.RunStarted{}}
	for _, m := range conversation[1:] {
		switch m.Role {
		case "user":
			bodies = append(bodies, &troupe.UserSaid{Text: m.Content})
		case "assistant":
			bodies = append(bodies, &troupe.ModelReplied{Message: &troupe.Message{Text: m.Content}})
			for _, c := range m.ToolCalls {
				bodies = append(bodies, &troupe.ToolCalled{CallID: c.ID, Tool: c.Function.Name, Arguments: troupe.Arguments(c.Function.Arguments)})
			}
		case "tool":
			bodies = append(bodies, &troupe.ToolReturned{CallID: m.ToolCallID, Tool: m.Name, Content: m.Content, Size: len(m.Content)})
		}
	}
	return told(bodies...)
}

func TestAnAnswerInPiecesIsWrittenOnce(t *testing.T) {
	page := written(t, told(&troupe.RunStarted{}, &troupe.UserSaid{Text: "count"},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "One, two, "}, Finish: troupe.FinishLength}, &troupe.Warned{Code: "cut_off"},
		&troupe.ModelReplied{Message: &troupe.Message{Text: "three."}, Finish: troupe.FinishStop},
		&troupe.RunFinished{Output: troupe.Handoff{Summary: "One, two, three."}, Stop: "answered"}), Options{})
	if strings.Count(page, "One, two,") != 1 || strings.Count(page, "three.") != 1 {
		t.Errorf("the page reads %q", page)
	}
	failed := written(t, told(&troupe.RunStarted{}, &troupe.RunFailed{Error: "no", Spent: troupe.Spent{Turns: 1}}), Options{})
	if !strings.Contains(failed, "after 1 turn, 0 tool calls and 0 tokens") {
		t.Errorf("the page reads %q", failed)
	}
}

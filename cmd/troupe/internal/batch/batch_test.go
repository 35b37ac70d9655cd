package batch_test

import (
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/batch"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

func TestInputsAreTextsOrObjects(t *testing.T) {
	inputs, err := batch.Read("in.jsonl", strings.NewReader("\"one\"\n\n{\"task\":\"two\",\"id\":7,\"lang\":\"no\"}\n{\"task\":\"three\"}\n"))
	if err != nil || len(inputs) != 3 {
		t.Fatal(inputs, err)
	}
	if two := inputs[1]; two.Line != 3 || two.ID != "7" || two.Task != "two" || two.Custom["lang"] != "no" || len(two.Custom) != 1 {
		t.Errorf("%+v", two)
	}
	if inputs[0].Task != "one" || inputs[2].Task != "three" || inputs[2].Custom != nil {
		t.Errorf("%+v", inputs)
	}
}

func TestASessionFollowsFromTheInput(t *testing.T) {
	read := func(text string) []batch.Input {
		t.Helper()
		inputs, err := batch.Read("in", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return inputs
	}
	first := read("\"a\"\n\"b\"\n\"a\"\n{\"id\":\"x\",\"task\":\"old\"}\n")
	later := read("\"new\"\n\"a\"\n\"a\"\n{\"id\":\"x\",\"task\":\"reworded\"}\n")
	id := first[0].Session("batch", "flow")
	if !sessionid.Is(id) || id != later[1].Session("batch", "flow") || first[2].Session("batch", "flow") != later[2].Session("batch", "flow") {
		t.Errorf("%s is not the same in a file that has changed", id)
	}
	if first[3].Session("batch", "flow") != later[3].Session("batch", "flow") {
		t.Error("an id does not keep its session")
	}
	for _, other := range []string{first[1].Session("batch", "flow"), first[2].Session("batch", "flow"), first[0].Session("other", "flow"), first[0].Session("batch", "other")} {
		if other == id {
			t.Error("two inputs share a session")
		}
	}
}

func TestWhatIsNoInputIsToldWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"\"a\"\nplain\n": "in:2: this is not JSON",
		"[1]\n":          "in:1: a line is a text in quotes, or an object",
		"\"  \"\n":       "in:1: the task is empty",
		"{\"id\":\"x\"}": `in:1: the object has no "task"`,
		"\n\n":           "in: there are no inputs",
		"{\"task\":\"a\",\"id\":1}\n{\"task\":\"b\",\"id\":1}\n": `in:2: the id "1" is there twice`,
		"{\"task\":\"a\",\"id\":[]}":                             `in:1: "id" is a text or a number`,
	} {
		if _, err := batch.Read("in", strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("\"a\"\n{\"task\":\"b\",\"id\":1}\n")
	f.Fuzz(func(t *testing.T, text string) {
		inputs, err := batch.Read("in", strings.NewReader(text))
		for _, in := range inputs {
			if err == nil && (in.Task == "" || !sessionid.Is(in.Session("b", "f"))) {
				t.Errorf("%+v", in)
			}
		}
	})
}

package troupe_test

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe"
)

type part struct {
	A int            `json:"a"`
	B string         `json:"b,omitempty"`
	C []int          `json:"c,omitempty"`
	M map[string]int `json:"m,omitempty"`
	P *part          `json:"p,omitempty"`
}

// What is no object is asked for in the field "answer" of one, but many models give it
// as it is. Where that has one meaning only, it is taken.
func TestAnAnswerThatIsNoObjectMayBeGivenAsItIs(t *testing.T) {
	mustTake(t, `[{"a":1}]`, []part{{A: 1}})
	mustTake(t, "```json\n[{\"a\":1}]\n```", []part{{A: 1}})
	mustTake(t, "Here they are:\n```json\n[{\"a\":1}]\n```\nAnything else?", []part{{A: 1}})
	mustTake(t, `The list: [{"a":1}, {"a":2}].`, []part{{A: 1}, {A: 2}})
	mustTake(t, `[{'a': 1},]`, []part{{A: 1}})
	mustTake(t, `[{"a":"1"}]`, []part{{A: 1}})
	mustTake(t, `["x","y"]`, []string{"x", "y"})
	mustTake(t, "<think>\n[1] or [2]?\n</think>\n[2]", []int{2})
	mustTake(t, `42`, 42)
	mustTake(t, "```\n42\n```", 42)
	mustTake(t, `"yes"`, "yes")
	mustTake(t, `true`, true)
	mustTake(t, `{"a":1}`, &part{A: 1})
	mustTake(t, `Here: {"a":1}`, &part{A: 1})
	mustTake(t, `null`, (*part)(nil))
	mustTake(t, `{"a":1}`, any(map[string]any{"a": 1.0}))
	mustTake(t, `{"a":1}`, json.RawMessage(`{"a":1}`))
	mustTake(t, `[1]`, json.RawMessage(`[1]`))
	// What was asked for goes before what it could be as well.
	mustTake(t, `{"answer":[1]}`, json.RawMessage(`[1]`))
	mustTake(t, `{"answer":{"a":1}}`, &part{A: 1})
	mustTake(t, `Not [1, 2] but {"answer":[3]}`, []int{3})
}

func TestAnAnswerThatIsNoObjectIsNeverGuessed(t *testing.T) {
	mustRefuse[[]string](t, `{"thoughts":["x"],"answer":"y"}`, "/answer: expected array or null")
	mustRefuse[[]string](t, `{"names":["x"]}`, "/answer: required")
	mustRefuse[[]int](t, `As [1] says, nobody knows.`)
	mustRefuse[[]part](t, `Either [{"a":1}] or [{"a":2}].`, "different JSON values")
	mustRefuse[[]part](t, `[{"a":1},{"a":`, "breaks off")
	mustRefuse[[]part](t, `[{"a":"one"}]`, "/0/a: expected integer")
	mustRefuse[int](t, `It is 42.`, "holds no JSON")
	mustRefuse[int](t, `"forty-two"`, `expected integer, got string "forty-two"`)
	mustRefuse[part](t, `42`, "expected object, got number 42")
	mustRefuse[json.RawMessage](t, `Here: {"a":1} or [2].`)
	mustRefuse[*part](t, `{"b":"x"}`, "/a: required")
}

// Null says of a field that may be left out that it is, in answers as in arguments.
func TestNullLeavesOutAFieldOfAnAnswer(t *testing.T) {
	mustTake(t, `{"a":1,"b":null,"c":null,"m":null}`, part{A: 1})
	mustTake(t, `{"b":null,"a":1,"p":{"b":null,"a":2}}`, part{A: 1, P: &part{A: 2}})
	mustTake(t, `[{"b":null,"a":1},{"a":2,"b":null}]`, []part{{A: 1}, {A: 2}})
	mustTake(t, `{"answer":[{"b":null,"a":"1"}]}`, []part{{A: 1}})
	mustRefuse[part](t, `{"a":null}`, "/a: ")
	mustRefuse[[]string](t, `["x",null]`, "/1: expected string")
}

// A schema that is no object and refers to its own parts is asked for with them.
func TestASchemaThatRefersToItsPartsCanBeAskedFor(t *testing.T) {
	output := &troupe.Output{Schema: json.RawMessage(`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`)}
	agent, err := newAgent(t, inTurn(t, turn{text: `["x"]`}, turn{text: `[1,2]`})).WithOutput(output)
	if err != nil {
		t.Fatal(err)
	}
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "go"); string(end.Output.Value) != "[1,2]" {
		t.Errorf("got %s", end.Output.Value)
	}
}

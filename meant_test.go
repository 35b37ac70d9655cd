package troupe_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A call whose arguments have one meaning only is made with it, and costs no further turn.
func TestArgumentsThatMeanOneThingAreTakenAsMeant(t *testing.T) {
	type arguments struct {
		N    int      `json:"n"`
		List []string `json:"list,omitempty"`
		Sub  *struct {
			X int `json:"x"`
		} `json:"sub,omitempty"`
	}
	for text, want := range map[string]arguments{
		`{"n":"4"}`:                {N: 4},
		`{"n":4,"list":"[\"a\"]"}`: {N: 4, List: []string{"a"}},
		`{"n":4,"sub":"{\"x\":1}"}`: {N: 4, Sub: &struct {
			X int `json:"x"`
		}{1}},
		`{"n":4,}`:                   {N: 4},
		"{\"n\":4}\n```":             {N: 4},
		`{"n":4,"list":["a","b",],}`: {N: 4, List: []string{"a", "b"}},
	} {
		var got []arguments
		tool := troupe.NewTool("act", "Acts.", func(_ context.Context, in arguments) (string, error) { got = append(got, in); return "done", nil })
		model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "act", text)}}, turn{text: "ok"})
		mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: the tool was given %+v", text, got)
		}
	}
}

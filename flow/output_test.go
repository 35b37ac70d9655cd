package flow_test

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// What an agent said in plain words can be read as a string, whether the agent is the
// last that spoke or an earlier one, and whether or not its words happen to be JSON.
func TestOutputOfAPlainAnswerIsItsText(t *testing.T) {
	for _, text := range []string{"It rains.", "42", "true", `"quoted"`, `{"a":1}`} {
		last := troupe.Handoff{Summary: text, Meta: troupe.HandoffMeta{Source: "sky"}}
		earlier := troupe.Handoff{Summary: "later", Meta: troupe.HandoffMeta{Source: "other"}, Outputs: map[string]any{"sky": text}}
		for where, h := range map[string]troupe.Handoff{"last": last, "earlier": earlier} {
			got, err := flow.Output[string](h, "sky")
			if err != nil || got != text {
				t.Errorf("%q as the %s answer: got %q, %v", text, where, got, err)
			}
		}
	}
}

// A plain answer that holds JSON of the type is read as the type.
func TestOutputReadsJSONInAPlainAnswer(t *testing.T) {
	h := troupe.Handoff{Summary: `{"steps":2}`, Meta: troupe.HandoffMeta{Source: "planner"}}
	type plan struct{ Steps int }
	if got, err := flow.Output[plan](h, "planner"); err != nil || got.Steps != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := flow.Output[plan](troupe.Handoff{Summary: "soon", Meta: h.Meta}, "planner"); err == nil {
		t.Errorf("prose became %+v", got)
	}
	h.Outputs = map[string]any{"planner": "x", "critic": "y"}
	if _, err := flow.Output[plan](h, "other"); err == nil || err.Error() != "output of other: the handoff has none; it has those of critic, planner" {
		t.Errorf("of an agent that said nothing: %v", err)
	}
}

// What a step hands over as a value alone, without words, is there for every later step.
func TestAValueWithoutWordsTravelsOn(t *testing.T) {
	out := flow.Then(
		troupe.Handoff{Task: "x", Value: []byte(`{"a":1}`), Meta: troupe.HandoffMeta{Source: "give"}},
		troupe.Handoff{Summary: "m", Meta: troupe.HandoffMeta{Source: "mid"}})
	if got, err := flow.Output[map[string]int](out, "give"); err != nil || got["a"] != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := flow.Output[string](out, "mid"); err != nil || got != "m" {
		t.Errorf("got %v, %v", got, err)
	}
}

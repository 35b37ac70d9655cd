package project_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/server"
)

// dear is a model whose provider reports what each answer cost.
type dear struct{ cost float64 }

// Generate implements [troupe.Model].
func (d dear) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if yield(troupe.Chunk{Text: "Yes."}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop, Cost: &d.cost}}, nil)
		}
	}
}

func TestAMonthsBudgetHoldsForEditorsAndOtherAgents(t *testing.T) {
	dir := write(t, "server: {month_cost: 1}\nlimits: {cost_unknown: allow}\nproviders: {far: {base_url: \"http://models.example:1/v1\"}}\nagents: {clerk: {instructions: x}}\n")
	p := open(t, dir, project.Options{Model: "far/m", WrapModel: func(string, troupe.Model) (troupe.Model, error) { return dear{0.75}, nil }})
	for n := range 3 {
		c, err := converse.Begin(t.Context(), p, "clerk", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Say(t.Context(), troupe.Input{Text: "Really?"}, func(*troupe.Event) {})
		if _, isSpent := errors.AsType[*server.MonthSpent](err); isSpent != (n == 2) || err != nil && !isSpent {
			t.Errorf("message %d: %v", n+1, err)
		}
	}
}

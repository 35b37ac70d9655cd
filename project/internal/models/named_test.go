package models

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/troupe-dev/troupe"
)

type failingModel struct{ err error }

func (f failingModel) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) { yield(troupe.Chunk{}, f.err) }
}

// A failure says whose it is: by the time it is read another model may have been chosen. It costs
// nothing for that.
func TestAFailureSaysWhoWasAsked(t *testing.T) {
	for _, end := range []*troupe.End{nil, {Usage: troupe.Usage{Input: 7}}} {
		n := &named{Model: failingModel{&troupe.ModelError{Reason: "key", End: end}}, provider: "atlas", name: "large"}
		for _, err := range n.Generate(t.Context(), nil) {
			failure, ok := errors.AsType[*troupe.ModelError](err)
			if !ok || failure.End.Provider != "atlas" || failure.End.Model != "large" {
				t.Fatalf("%v, %+v", err, failure.End)
			}
			if isKnown := failure.End.Cost != nil && *failure.End.Cost == 0; isKnown != (end == nil) {
				t.Errorf("%+v", failure.End)
			}
		}
	}
}

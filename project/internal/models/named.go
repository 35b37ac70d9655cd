package models

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/troupe-dev/troupe"
)

// A named model says of each answer which provider it is from, as the configuration calls
// it, and of each failure: several may have a model of the same name.
type named struct {
	troupe.Model
	provider, name string
}

// Generate passes on what the model says.
func (n *named) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		for chunk, err := range n.Model.Generate(ctx, req) {
			if failure, ok := errors.AsType[*troupe.ModelError](err); ok {
				failure.End = n.sign(cmp.Or(failure.End, &troupe.End{Cost: new(float64)})) // of which nothing is known, but that there is no answer to pay for
			}
			if chunk.End != nil {
				chunk.End = n.sign(chunk.End)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (n *named) sign(end *troupe.End) *troupe.End {
	own := *end
	own.Provider, own.Model = n.provider, cmp.Or(end.Model, n.name)
	return &own
}

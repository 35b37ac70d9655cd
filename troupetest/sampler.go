package troupetest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
)

// A Sampler is a model that calls every tool it is offered, with arguments that
// fit the tool's schema, and then answers. It finds out whether tools cope with
// whatever their schemas allow. It keeps no state: what it says depends on the
// seed and the request alone, so it may serve any number of agents.
type Sampler struct {
	seed  uint64
	times int
}

var _ troupe.Model = (*Sampler)(nil)

// NewSampler returns a sampler that calls each tool so many times in a
// conversation, all tools at once. Another seed makes other arguments.
func NewSampler(seed uint64, times int) *Sampler { return &Sampler{seed, times} }

// Generate implements [troupe.Model]. A request for an answer of a schema gets one.
func (s *Sampler) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		answer, err := s.answer(req)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		for _, p := range answer.pieces {
			if !yield(p.chunk, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: answer.end()}, nil)
	}
}

// answer calls the tools that were not called often enough, or says that all were.
func (s *Sampler) answer(req *troupe.Request) (Turn, error) {
	called := map[string]int{}
	for _, m := range req.Messages {
		for _, call := range m.Calls {
			called[call.Name]++
		}
	}
	var turn Turn
	var names []string
	for _, spec := range req.Tools.Specs() {
		nth := called[spec.Name]
		if names = append(names, spec.Name); nth >= s.times {
			continue
		}
		arguments, err := Sample(s.seedFor(spec.Name, nth), spec.Input)
		if err != nil {
			return Turn{}, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		turn = turn.Calls(troupe.ToolCall{ID: fmt.Sprintf("sample_%s_%d", spec.Name, nth), Name: spec.Name, Arguments: string(arguments)})
	}
	if turn.pieces != nil {
		return turn, nil
	}
	if req.Params != nil && req.Params.Schema != nil {
		data, err := Sample(s.seed, req.Params.Schema)
		return Say(string(data)), err
	}
	return Say("Tools called: " + strings.Join(names, ", ") + "."), nil
}

func (s *Sampler) seedFor(tool string, nth int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", s.seed, tool, nth)
	return h.Sum64()
}

// sampleTries is how many values are made before a schema is given up.
const sampleTries = 50

// Sample makes a JSON value that fits a schema, the same for the same seed. It is
// meant for the schemas of tools; one that asks for more than types, bounds,
// patterns and branches say may be beyond it, which is an error.
func Sample(seed uint64, schema json.RawMessage) (json.RawMessage, error) {
	check, err := argcheck.Compile(schema)
	if err != nil {
		return nil, fmt.Errorf("sample: %w", err)
	}
	m := &maker{rand: rand.New(rand.NewPCG(seed, 0))}
	if err := json.Unmarshal(schema, &m.root); err != nil {
		return nil, fmt.Errorf("sample: schema: %w", err)
	}
	var misfit error
	for range sampleTries {
		value, err := m.make(m.root, 0)
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
		if misfit = check.Check(data); misfit == nil {
			return data, nil
		}
		m.adventurous = true
	}
	return nil, fmt.Errorf("sample: none of %d values fits the schema: %w", sampleTries, misfit)
}

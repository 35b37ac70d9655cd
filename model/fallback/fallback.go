// Package fallback asks another model where the first one is down or refuses.
//
// The failure of a model is returned as a passing one, and the next attempt asks the
// next model: so the engine records it, as it records every attempt that failed, and
// the reply says which model it is from.
package fallback

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"
	"weak"

	"github.com/troupe-dev/troupe"
)

// A Choice is one of the models.
type Choice struct {
	// Name is what errors call it.
	Name  string
	Model troupe.Model
	// Price is what it costs. Answers whose cost the provider does not report are
	// given this one, because the engine knows one price for all.
	Price troupe.Price
}

const (
	// rest is how long a model that is down is not asked for new requests.
	rest = time.Minute
	// maxFailed bounds how many requests are remembered.
	maxFailed = 256
)

// New returns a model that asks the first of the choices which is not known to be
// down. It panics if there is none.
func New(choices ...Choice) *Model {
	if len(choices) == 0 {
		panic("fallback: no model to choose from")
	}
	return &Model{choices: choices, downUntil: make([]time.Time, len(choices))}
}

// A Model asks one of several. It implements [troupe.Model].
type Model struct {
	choices []Choice

	mu        sync.Mutex
	downUntil []time.Time
	failed    []failedRequest // the latest last
}

// A failedRequest is one that some models have failed to answer.
type failedRequest struct {
	req  weak.Pointer[troupe.Request]
	next int // the choice to ask now
}

// String names the models.
func (m *Model) String() string {
	text := m.choices[0].Name
	for _, c := range m.choices[1:] {
		text += ", else " + c.Name
	}
	return text
}

// Generate asks one model. If it fails in a way that another may not, the error is
// temporary, and the same request asked again goes to the next one.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		at := m.pick(req)
		choice := m.choices[at]
		for chunk, err := range choice.Model.Generate(ctx, req) {
			if err != nil {
				yield(chunk, m.failure(ctx, req, at, err))
				return
			}
			if chunk.End != nil {
				m.settled(req)
				chunk.End = choice.priced(chunk.End)
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// priced adds the cost of an answer where its provider did not report it.
func (c *Choice) priced(end *troupe.End) *troupe.End {
	if end.Cost != nil || !c.Price.Known() {
		return end
	}
	own := *end
	cost := c.Price.Of(end.Usage)
	own.Cost = &cost
	return &own
}

// pick returns the choice to ask.
func (m *Model) pick(req *troupe.Request) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := weak.Make(req)
	for _, f := range m.failed {
		if f.req == key {
			return f.next
		}
	}
	now := time.Now()
	for i, until := range m.downUntil {
		if now.After(until) {
			return i
		}
	}
	return 0
}

// failure notes that a choice has failed and says what that means.
func (m *Model) failure(ctx context.Context, req *troupe.Request, at int, err error) error {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || ctx.Err() != nil || errors.Is(err, troupe.ErrContextFull) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if isDown(e) {
		m.downUntil[at] = time.Now().Add(max(rest, e.RetryAfter))
	}
	m.forget(req)
	if at == len(m.choices)-1 {
		return err // the next attempt begins with the first again
	}
	m.failed = append(m.failed, failedRequest{weak.Make(req), at + 1})
	if len(m.failed) > maxFailed {
		m.failed = m.failed[1:]
	}
	passing := *e
	passing.Temporary, passing.Elsewhere, passing.RetryAfter, passing.Err = true, true, 0, err
	passing.Message = fmt.Sprintf("%s is asked instead: %s did not answer (%s)", m.choices[at+1].Name, m.choices[at].Name, e.Error())
	return &passing
}

// isDown reports whether a failure is one that the next request would meet as well.
func isDown(e *troupe.ModelError) bool {
	switch e.Reason {
	case "key", "money", "model", "rate", "overloaded", "unreachable", "certificate":
		return true
	}
	return false
}

func (m *Model) settled(req *troupe.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(req)
}

// forget drops what is known of a request, and of those that are no more.
func (m *Model) forget(req *troupe.Request) {
	kept := m.failed[:0]
	for _, f := range m.failed {
		if known := f.req.Value(); known != nil && known != req {
			kept = append(kept, f)
		}
	}
	m.failed = kept
}

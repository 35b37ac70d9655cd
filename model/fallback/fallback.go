// Package fallback asks another model where the first one is down, refuses, withholds its
// answer or cannot hold the request.
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
	"net/http"
	"slices"
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
	// given this one, because the engine knows one price for all. Where only others have
	// one, nobody knows what its answers cost; where none has, the agent's price holds.
	Price troupe.Price
	// Window is how many tokens it holds, 0 where nobody knows. A request that does not
	// fit one model goes to the next one that may hold more.
	Window int
}

const (
	// rest is how long a model that is down is not asked for new requests.
	rest = time.Minute
	// maxFailed bounds how many requests are remembered.
	maxFailed = 256
	// maxAgain is how often a model that finds fault with the form of a request is asked again
	// in another form: there are a few that it may find fault with, one after the other.
	maxAgain = 3
)

// New returns a model that asks the first of the choices which is not known to be
// down. It panics if there is none.
func New(choices ...Choice) *Model {
	if len(choices) == 0 {
		panic("fallback: no model to choose from")
	}
	return &Model{
		choices:   slices.Clone(choices),
		isPriced:  slices.ContainsFunc(choices, func(c Choice) bool { return c.Price.Known() }),
		downUntil: make([]time.Time, len(choices)),
	}
}

// A Model asks one of several. It implements [troupe.Model].
type Model struct {
	choices  []Choice
	isPriced bool // at least one of them

	mu        sync.Mutex
	downUntil []time.Time
	failed    []failedRequest // the latest last
}

// A failedRequest is one that some models have failed to answer.
type failedRequest struct {
	req  weak.Pointer[troupe.Request]
	next int // the choice to ask now
	// again is how often that one was asked again because it is sent something else now.
	again int
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
		isRefused := false
		for chunk, err := range m.choices[at].Model.Generate(ctx, req) {
			if err != nil {
				yield(chunk, m.failure(ctx, req, at, err))
				return
			}
			isRefused = isRefused || chunk.Refusal != ""
			if chunk.End != nil {
				chunk.End = m.priced(at, chunk.End)
				if err := withheld(chunk.End, isRefused); err != nil && at < len(m.choices)-1 {
					yield(troupe.Chunk{}, m.failure(ctx, req, at, err))
					return
				}
				m.settled(req)
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// withheld is why an answer that has come to its end is none: the model or its provider
// would not give it. It is nil for all others. The answer is paid for all the same.
func withheld(end *troupe.End, isRefused bool) error {
	switch {
	case end.Finish == troupe.FinishFiltered:
		return &troupe.ModelError{Reason: "refused", Message: "the provider withheld the answer", End: end}
	case isRefused:
		return &troupe.ModelError{Reason: "refused", Message: "the model refused to answer", End: end}
	}
	return nil
}

// priced adds the cost of a choice's answer where its provider did not report it.
func (m *Model) priced(at int, end *troupe.End) *troupe.End {
	if end == nil || end.Cost != nil {
		return end
	}
	own, price := *end, m.choices[at].Price
	if cost := price.Of(end.Usage); price.Known() {
		own.Cost = &cost
	} else {
		own.Unpriced = own.Unpriced || m.isPriced
	}
	return &own
}

// pick returns the choice to ask.
func (m *Model) pick(req *troupe.Request) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.known(req); ok {
		return f.next
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
	if !ok || ctx.Err() != nil {
		return err
	}
	if e.End != nil {
		own := *e
		own.End = m.priced(at, e.End)
		e, err = &own, &own
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if isDown(e) {
		m.downUntil[at] = time.Now().Add(max(rest, e.RetryAfter))
	}
	before, _ := m.known(req)
	m.forget(req)
	if isSentOtherwise(e) && before.again < maxAgain {
		m.remember(failedRequest{weak.Make(req), at, before.again + 1})
		return err
	}
	next := at + 1
	if errors.Is(err, troupe.ErrContextFull) {
		next = m.larger(at)
	}
	if next >= len(m.choices) {
		return err // the next attempt begins with the first again
	}
	m.remember(failedRequest{weak.Make(req), next, 0})
	passing := *e
	passing.Temporary, passing.Elsewhere, passing.RetryAfter, passing.Err = true, true, 0, err
	passing.Message = fmt.Sprintf("%s is asked instead: %s did not answer (%s)", m.choices[next].Name, m.choices[at].Name, e.Error())
	return &passing
}

// known is what is remembered of a request that has failed; m.mu is held.
func (m *Model) known(req *troupe.Request) (f failedRequest, ok bool) {
	key := weak.Make(req)
	if i := slices.IndexFunc(m.failed, func(f failedRequest) bool { return f.req == key }); i >= 0 {
		return m.failed[i], true
	}
	return failedRequest{}, false
}

func (m *Model) remember(f failedRequest) {
	m.failed = append(m.failed, f)
	if len(m.failed) > maxFailed {
		m.failed = m.failed[1:]
	}
}

// isSentOtherwise reports whether a model has refused the form of a request and will get
// another one the next time: only then such a refusal is a passing one.
func isSentOtherwise(e *troupe.ModelError) bool {
	return e.Temporary && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// larger is the next choice that may hold what does not fit this one, as many as there are
// where none does.
func (m *Model) larger(at int) int {
	full := m.choices[at].Window
	for i, c := range m.choices[at+1:] {
		if c.Window == 0 || c.Window > full {
			return at + 1 + i
		}
	}
	return len(m.choices)
}

// isDown reports whether a failure is one that the next request would meet as well.
func isDown(e *troupe.ModelError) bool {
	switch e.Reason {
	case "key", "money", "model", "memory", "country", "rate", "overloaded", "unreachable", "certificate":
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
	m.failed = slices.DeleteFunc(m.failed, func(f failedRequest) bool {
		known := f.req.Value()
		return known == nil || known == req
	})
}

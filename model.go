package troupe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"
)

// A Model answers one request, piece by piece.
//
// Generate yields pieces in the order they are to be shown and ends with one
// chunk whose End is set. A sequence that stops without it is incomplete and
// counts as a failure, however much text came before. An error is yielded last,
// as a *[ModelError] where the provider said what went wrong. Generate does not
// retry: the engine does, and shows it. It stops promptly when ctx is done or
// when the caller breaks, leaves nothing running, and may be called concurrently.
// It must not change the request.
type Model interface {
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// A Request is all that a model gets to see.
type Request struct {
	// Messages is the conversation, the system message first.
	Messages []*Message
	// Tools are those the model may call; nil means none.
	Tools *ToolSet
	// Params are sent only where set; nil means none are.
	Params *Params
	// Stable is how many of the first messages will be sent again unchanged: up to
	// there a provider may be asked to cache its work.
	Stable int
	// Session is the conversation that the request belongs to, for providers that
	// route by it. It may be empty.
	Session string
}

// Params tune a model. A field that is not set is not sent, because newer models
// refuse some values of some of them.
type Params struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   *int
	Seed        *int64
	Stop        []string
	// Effort is how hard a reasoning model should think: "low", "medium", "high".
	Effort string
	// Schema asks for an answer that is JSON of this schema, and SchemaName is what
	// the provider is told it is called.
	Schema     json.RawMessage
	SchemaName string
	// Extra fields go into the request as they are.
	Extra map[string]any
}

// A Chunk is a piece of a model's answer. One field is set, as a rule.
type Chunk struct {
	Text    string
	Thought string
	Refusal string
	// WasThought says that all text so far was thought, and no part of the answer: some
	// models only let see so at the end of a thought. The engine withdraws it.
	WasThought bool
	// Call is a whole tool call: providers put its pieces together.
	Call *ToolCall
	// Growing names the tool of a call that is yielded when it is whole, and Grown is
	// how many bytes of its arguments there are so far.
	Growing string
	Grown   int
	// End is set on the last chunk only.
	End *End
}

// An End says how an answer ended.
type End struct {
	Finish Finish
	Usage  Usage
	// Cost is what the provider says the answer cost, in US dollars, nil where it
	// does not say. It goes before any price. Unpriced says that nobody knows, and that the
	// agent's price is not this model's.
	Cost     *float64
	Unpriced bool
	// Model is the model that answered, as the provider names it, and Provider is that
	// provider, as whoever configured it calls it. It may be empty.
	Model, Provider string
	// ThoughtField and Opaque are kept in the message: see [Message].
	ThoughtField string
	Opaque       json.RawMessage
}

// Finish is why a model stopped.
type Finish string

// The reasons a model stops for. A provider maps its own words to these.
const (
	FinishStop     Finish = "stop"           // it said all it wanted to say
	FinishCalls    Finish = "tool_calls"     // it waits for tools
	FinishLength   Finish = "length"         // it was cut off: what it said is incomplete
	FinishFiltered Finish = "content_filter" // the provider withheld the rest
)

// Usage counts tokens. CachedInput and CacheWrite are parts of Input, and Reasoning
// is part of Output.
type Usage struct {
	Input       int `json:"input_tokens"`
	CachedInput int `json:"cached_input_tokens,omitempty"`
	CacheWrite  int `json:"cache_write_tokens,omitempty"`
	Output      int `json:"output_tokens"`
	Reasoning   int `json:"reasoning_tokens,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.CachedInput += v.CachedInput
	u.CacheWrite += v.CacheWrite
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	return u
}

// Total is the number of tokens read and written.
func (u Usage) Total() int { return u.Input + u.Output }

// A Price is what a model costs, in US dollars per million tokens. The zero
// Price means unknown; use Free for a model that costs nothing.
type Price struct {
	Input, CachedInput, CacheWrite, Output float64
	// Free says that the model is known to cost nothing.
	Free bool
	// Above are the prices of whole requests whose input has more than their Tokens
	// tokens, the smallest first.
	Above  []Price
	Tokens int
}

// Known reports whether any part of the price is set.
func (p Price) Known() bool {
	return p.Free || p.Input != 0 || p.CachedInput != 0 || p.CacheWrite != 0 || p.Output != 0
}

// check says which part of the price is none: less than nothing, which would give budgets
// back what was spent, or no number.
func (p Price) check() error {
	for _, part := range []struct {
		name  string
		value float64
	}{{"Input", p.Input}, {"CachedInput", p.CachedInput}, {"CacheWrite", p.CacheWrite}, {"Output", p.Output}} {
		if part.value < 0 || math.IsNaN(part.value) || math.IsInf(part.value, 0) {
			return fmt.Errorf("%v of Price.%s is no price", part.value, part.name)
		}
	}
	for i, tier := range p.Above {
		if err := tier.check(); err != nil {
			return fmt.Errorf("Price.Above %d: %w", i+1, err)
		}
	}
	return nil
}

// Of returns the cost of u in US dollars. Input that was read from or written to a
// cache costs as much as other input where its own price is not set.
func (p Price) Of(u Usage) float64 {
	for _, tier := range p.Above {
		if u.Input > tier.Tokens {
			p.Input, p.CachedInput, p.CacheWrite, p.Output = tier.Input, tier.CachedInput, tier.CacheWrite, tier.Output
		}
	}
	plain := u.Input - u.CachedInput - u.CacheWrite
	return (float64(plain)*p.Input + float64(u.CachedInput)*orElse(p.CachedInput, p.Input) +
		float64(u.CacheWrite)*orElse(p.CacheWrite, p.Input) + float64(u.Output)*p.Output) / 1e6
}

// ErrContextFull reports a request that is larger than the model's window.
var ErrContextFull = errors.New("the request does not fit the model's context window")

// A ModelError is a provider's refusal or failure to answer.
type ModelError struct {
	// Status is the HTTP status, 0 where there was no answer at all.
	Status int
	// Code is the provider's own code, such as "rate_limit_exceeded".
	Code string
	// Message is the provider's text, with no secret in it.
	Message string
	// Reason says in one word what is wrong, where that is known: "key", "money",
	// "model", "too_large", "context", "rate", "overloaded", "refused", "unreachable",
	// "certificate", "timeout", "incomplete", "schema", "address", "tools",
	// "memory", "country" or "request".
	Reason string
	// Temporary failures are tried again, not before RetryAfter has passed.
	Temporary  bool
	RetryAfter time.Duration
	// Elsewhere says that the request goes to another model when it is tried again, which
	// it is then however often it was tried.
	Elsewhere bool
	// End is how the answer ended that came to nothing, as far as the provider said so:
	// what it used is paid for. It is nil where nothing is known of that.
	End *End
	// Err is the cause, where there is one. It is [ErrContextFull] where the
	// provider said that the request was too long, and io.ErrUnexpectedEOF where an
	// answer stopped before its end.
	Err error
}

// Error says what the provider said.
func (e *ModelError) Error() string {
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	switch {
	case e.Status != 0 && e.Code != "" && e.Code != strconv.Itoa(e.Status):
		return fmt.Sprintf("model: %d %s: %s", e.Status, e.Code, text)
	case e.Status != 0:
		return fmt.Sprintf("model: %d: %s", e.Status, text)
	case e.Code != "":
		return fmt.Sprintf("model: %s: %s", e.Code, text)
	}
	return "model: " + text
}

func (e *ModelError) Unwrap() error { return e.Err }

package explain

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// A Turn is one call of a model.
type Turn struct {
	// Turn counts from 1 in the session, Event is the number of the event that ended it.
	Turn    int       `json:"turn"`
	Event   int64     `json:"event"`
	Agent   string    `json:"agent"`
	Run     string    `json:"run"`
	At      time.Time `json:"at"`
	Model   string    `json:"model,omitempty"`
	Purpose string    `json:"purpose,omitempty"`
	Finish  string    `json:"finish,omitempty"`
	Input   int       `json:"input_tokens"`
	Cached  int       `json:"cached_tokens,omitempty"`
	Output  int       `json:"output_tokens"`
	Window  int       `json:"window,omitempty"`
	Cost    float64   `json:"cost,omitempty"`
	// Unpriced says that nobody knows the model's price.
	Unpriced bool  `json:"unpriced,omitempty"`
	Latency  int64 `json:"latency_ms"`
	// Parts are what was sent, in order, and Dropped what the call before had and this one
	// not. Both are there for one turn alone: see [Session.Turn].
	Parts   []Part `json:"parts,omitempty"`
	Dropped []Part `json:"dropped,omitempty"`
	// Compacted are what was done to make room since the call before.
	Compacted []Compaction `json:"compacted,omitempty"`
	// Failed are attempts that came to nothing.
	Failed []string `json:"failed,omitempty"`
	Answer string   `json:"answer,omitempty"`
	Calls  []string `json:"calls,omitempty"`

	reply *troupe.ModelReplied
}

// A Compaction says what made room in the context.
type Compaction struct {
	Dropped      int    `json:"dropped"`
	Kept         int    `json:"kept"`
	Summary      string `json:"summary,omitempty"`
	ResultCap    int    `json:"result_cap,omitempty"`
	TokensBefore int    `json:"tokens_before"`
	TokensAfter  int    `json:"tokens_after"`
}

// A Paid is an answer that came to nothing, as where it was withheld, and what it took.
type Paid struct {
	// AfterTurn is the turn before it, 0 for none.
	AfterTurn int     `json:"after_turn"`
	Event     int64   `json:"event"`
	Agent     string  `json:"agent,omitempty"`
	Model     string  `json:"model,omitempty"`
	Error     string  `json:"error"`
	Input     int     `json:"input_tokens"`
	Output    int     `json:"output_tokens"`
	Cost      float64 `json:"cost,omitempty"`
}

// A FailedAttempt is an attempt at a model call that came to nothing, paid for or not.
type FailedAttempt struct {
	Paid
	// Attempt counts from 1, Reason is one word, and RetryIn is when the next attempt began,
	// 0 after the last one: see [troupe.ModelFailed].
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason,omitempty"`
	RetryIn int64  `json:"retry_in_ms,omitempty"`
	Purpose string `json:"purpose,omitempty"`
}

// Failed is what the catalogue of failures explains.
func (a *FailedAttempt) Failed() *troupe.ModelFailed {
	return &troupe.ModelFailed{Error: a.Error, Reason: a.Reason, RetryIn: troupe.Millis(time.Duration(a.RetryIn) * time.Millisecond)}
}

// A Session is what a session's model calls were sent, and why its runs ended.
type Session struct {
	Session string `json:"session"`
	Turns   []Turn `json:"turns"`
	// Paid are answers that came to nothing and were paid for, in order.
	Paid []Paid `json:"paid,omitempty"`
	// FailedAttempts are all that came to nothing, those of Paid among them, in order.
	FailedAttempts []FailedAttempt `json:"failed_attempts,omitempty"`
	// Edits are inputs of steps that a person has edited, in order.
	Edits []Edit `json:"edits,omitempty"`
	// Ends are why runs that a person started ended, in order.
	Ends []End `json:"ends"`
}

// An Edit says that a person has put another input in place of what a step was given, in a
// session that was forked from another.
type Edit struct {
	Event int64 `json:"event"`
	// Agent is the step, Run its run and From the session where it was given Was.
	Agent string `json:"agent"`
	Run   string `json:"run"`
	From  string `json:"from"`
	// User is who has edited it, empty for whoever runs the engine.
	User string `json:"user,omitempty"`
	// Was and Input are as a model is sent them.
	Was   string `json:"was"`
	Input string `json:"input"`
	// AfterTurn is the last turn before it.
	AfterTurn int `json:"after_turn"`
}

// An End is why a run ended.
type End struct {
	Event int64  `json:"event"`
	Agent string `json:"agent"`
	// Stop is one fixed word, such as answered, failed or cancelled, and Why says the same
	// in plain words.
	Stop string `json:"stop"`
	Why  string `json:"why"`
	// IsFailure says that it failed: Why is then the error.
	IsFailure bool `json:"-"`
	// AfterTurn is the last turn before it.
	AfterTurn int `json:"after_turn"`
}

// Options say what is known beside the events. The zero value is fine.
type Options struct {
	// Turn is the one whose parts are wanted, 0 for none, and -1 for the last.
	Turn int
	// Locate says where the instructions and the files that an agent was told came from.
	// It may split a part into several, and is nil where nobody knows.
	Locate func(agent string, part Part) []Part
	// Price returns what a model costs, by its name.
	Price func(model string) troupe.Price
}

// Read reads a session's events.
func Read(events iter.Seq2[troupe.Event, error], o Options) (*Session, error) {
	s := &Session{Turns: []Turn{}, Ends: []End{}}
	recorder := NewRecorder()
	before := map[string][]Part{} // what the call before in a run had
	var sent, had []Part          // of the wanted turn
	var pending Turn              // what happened since the last call
	limit := ""
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		s.Session = e.Session
		switch b := e.Body.(type) {
		case *troupe.ContextCompacted:
			pending.Compacted = append(pending.Compacted, Compaction{b.Dropped, b.Kept, b.Summary, b.ResultCap, b.TokensBefore, b.TokensAfter})
		case *troupe.ModelFailed:
			pending.Failed = append(pending.Failed, b.Error)
			paid := Paid{len(s.Turns), e.Seq, e.Agent, words.ModelName(b.Provider, b.Model), b.Error, b.Usage.Input, b.Usage.Output, b.Cost}
			if b.Cost != 0 || b.Usage.Total() != 0 {
				s.Paid = append(s.Paid, paid)
			}
			s.FailedAttempts = append(s.FailedAttempts, FailedAttempt{paid, b.Attempt, b.Reason, b.RetryIn.Duration().Milliseconds(), b.Purpose})
		case *troupe.LimitReached:
			limit = b.Message
		case *troupe.SessionForked:
			if b.Input != nil && b.Was != nil {
				s.Edits = append(s.Edits, Edit{e.Seq, b.Agent, b.Run, b.From, b.User, b.Was.Prompt(), b.Input.Prompt(), len(s.Turns)})
			}
		case *troupe.ModelReplied:
			t := turnOf(&e, b)
			t.Turn, t.Compacted, t.Failed = len(s.Turns)+1, pending.Compacted, pending.Failed
			pending = Turn{}
			key := e.Run
			if e.Parent == "" {
				key = ""
			}
			parts := recorder.Sent(&e)
			wanted := t.Turn == o.Turn || o.Turn < 0
			if wanted {
				sent, had = parts, nil
			}
			if !sumsUp(b) { // else it is no turn of the conversation
				if wanted {
					had = before[key]
				}
				before[key] = parts
			}
			s.Turns = append(s.Turns, t)
		}
		if end, ok := endOf(&e, limit); ok {
			end.AfterTurn = len(s.Turns)
			s.Ends = append(s.Ends, end)
			limit = ""
		}
		recorder.Take(&e)
	}
	wanted := o.Turn
	if wanted < 0 {
		wanted = len(s.Turns)
	}
	if wanted == 0 {
		return s, nil
	}
	if wanted > len(s.Turns) {
		return nil, fmt.Errorf("there is no turn %d: the session has %d", wanted, len(s.Turns))
	}
	s.Turns[wanted-1].describe(sent, had, o)
	return s, nil
}

func turnOf(e *troupe.Event, b *troupe.ModelReplied) Turn {
	t := Turn{
		Event: e.Seq, Agent: e.Agent, Run: e.Run, At: e.Time, Model: words.ModelName(b.Provider, b.Model), Purpose: b.Purpose, Finish: string(b.Finish),
		Input: b.Usage.Input, Cached: b.Usage.CachedInput, Output: b.Usage.Output, Window: b.Context.Window, Cost: b.Cost, Unpriced: b.Unpriced,
		Latency: b.Latency.Duration().Milliseconds(), reply: b,
	}
	if b.Message != nil {
		t.Answer = b.Message.Text
		for _, call := range b.Message.Calls {
			t.Calls = append(t.Calls, strings.TrimSpace(call.Name+" "+call.Arguments))
		}
	}
	return t
}

// describe adds what was sent to a turn.
func (t *Turn) describe(sent, had []Part, o Options) {
	parts := sent
	if o.Locate != nil && !sumsUp(t.reply) { // what asks for a summary is in no file
		parts = nil
		for _, p := range sent {
			parts = append(parts, o.Locate(t.Agent, p)...)
		}
		var located []Part
		for _, p := range had {
			located = append(located, o.Locate(t.Agent, p)...)
		}
		had = located
	}
	var price troupe.Price
	if o.Price != nil {
		price = o.Price(t.Model)
	}
	t.Parts = Weigh(parts, t.reply, price)
	t.Dropped = Compare(t.Parts, had)
}

// reasons say in plain words why agents stop.
var reasons = map[string]string{
	"answered":        "the agent answered",
	"input_requested": "a person must answer first",
	"handed_off":      "another agent goes on",
	"decided":         "a tool ended the run",
	"turns":           "the limit of turns was reached",
	"tool_calls":      "the limit of tool calls was reached",
	"tokens":          "the limit of tokens was reached",
	"cost":            "the limit of cost was reached",
	"time":            "the time was up",
	"handoffs":        "the agents handed over as often as they may",
	"repeated_calls":  "the model made the same call over and over",
	"length":          "the answer was cut off at the model's output limit",
	"content_filter":  "the provider withheld the rest of the answer",
	"refused":         "the model refused",
	"empty":           "the model said nothing",
}

// endOf says why a run ended that a person started.
func endOf(e *troupe.Event, limit string) (End, bool) {
	if e.Parent != "" {
		return End{}, false
	}
	end := End{Event: e.Seq, Agent: e.Agent}
	switch b := e.Body.(type) {
	case *troupe.RunFinished:
		end.Stop, end.Why = b.Stop, reasons[b.Stop]
		if limit != "" {
			end.Why += ": " + limit
		}
	case *troupe.RunFailed:
		end.Stop, end.Why, end.IsFailure = "failed", b.Error, true
	case *troupe.RunCancelled:
		end.Stop, end.Why = "cancelled", b.Reason
		if b.Reason == "" {
			end.Why = "somebody cancelled it"
		}
	default:
		return End{}, false
	}
	if end.Why == "" {
		end.Why = strings.ReplaceAll(end.Stop, "_", " ")
	}
	return end, true
}

package troupe

import (
	"encoding/json"
	"time"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// An Event is something that happened: an envelope and one [Body].
type Event struct {
	// Seq numbers a session's stored events from 1 without gaps. It is 0 for what
	// is shown and not stored.
	Seq     int64
	Time    time.Time
	Session string
	// Run is the run it happened in, and Parent the run that one is nested in.
	Run, Parent string
	// Step is the effect's place in its run: stable when the run is gone over again.
	Step string
	// Agent is the name of the step that ran.
	Agent string
	Body  Body
	// Epoch is that of the lease under which the event is being written: see [Lease].
	// It is 0 in whatever is read, and no part of the event's JSON.
	Epoch int64
}

// Kind names the event's body as JSON does, such as "tool_called". Once released a kind is
// not renamed.
func (e *Event) Kind() string {
	if e.Body == nil {
		return ""
	}
	return e.Body.Kind()
}

// Bodies returns an empty body of every kind there is, for programs that must know
// them all.
func Bodies() []Body {
	all := make([]Body, len(bodies))
	for i := range bodies {
		all[i] = bodies[i]()
	}
	return all
}

// bodies make an empty body of each kind.
var bodies = [...]func() Body{
	func() Body { return new(RunStarted) },
	func() Body { return new(RunResumed) },
	func() Body { return new(ContextLoaded) },
	func() Body { return new(UserSaid) },
	func() Body { return new(TextDelta) },
	func() Body { return new(ThoughtDelta) },
	func() Body { return new(ModelReplied) },
	func() Body { return new(ModelFailed) },
	func() Body { return new(ToolCalled) },
	func() Body { return new(ToolReturned) },
	func() Body { return new(HandedOff) },
	func() Body { return new(InputRequested) },
	func() Body { return new(ArtifactSaved) },
	func() Body { return new(Noted) },
	func() Body { return new(ContextCompacted) },
	func() Body { return new(LimitReached) },
	func() Body { return new(BranchesStopped) },
	func() Body { return new(Warned) },
	func() Body { return new(SessionRenamed) },
	func() Body { return new(SessionForked) },
	func() Body { return new(RunFinished) },
	func() Body { return new(RunFailed) },
	func() Body { return new(RunCancelled) },
}

// bodyOf makes the body of a kind.
var bodyOf = func() map[string]func() Body {
	m := make(map[string]func() Body, len(bodies))
	for _, make := range bodies {
		m[make().Kind()] = make
	}
	return m
}()

// A Body is what happened: a pointer to one of the types below. The set is closed.
// Bodies are shared by all who read the log and must not be changed.
type Body interface {
	Kind() string
	body()
}

// RunStarted is the first event of a run.
type RunStarted struct {
	// Input is what the run was given.
	Input Handoff `json:"input"`
	// Depth is 0 for a run that a caller started and one more for each nesting.
	Depth int `json:"depth,omitempty"`
	// Limits are those of the whole run, where they are not the engine's.
	Limits Limits `json:"limits,omitzero"`
	// User is who the run is for, IdempotencyKey what the caller calls it, and Values
	// what its tools may know: see [Input].
	User           string         `json:"user,omitempty"`
	IdempotencyKey string         `json:"idempotency_key,omitempty"`
	Values         map[string]any `json:"values,omitempty"`
	// Definition is what was run.
	Definition *Definition `json:"definition,omitempty"`
	// Output is what the final answer must fit, where the run is of an agent that has one.
	// A run that a caller started and that is resumed keeps it.
	Output *Output `json:"output,omitempty"`
	// Conversation names the conversation that the run goes on with, where it is
	// nested and has one: see [Run.Converse].
	Conversation string `json:"conversation,omitempty"`
	// Trace is the span of the caller, as a W3C traceparent.
	Trace string `json:"trace,omitempty"`
	// Edited says that a person has put Input in place of what the step would have been
	// given, and EditedBy who, empty for whoever runs the engine: see [Engine.ForkStep].
	Edited   bool   `json:"edited,omitempty"`
	EditedBy string `json:"edited_by,omitempty"`
}

// UnmarshalJSON reads what a run's beginning is on record.
func (b *RunStarted) UnmarshalJSON(data []byte) error {
	type plain RunStarted
	read := struct {
		*plain
		Values rawjson.Values `json:"values"`
	}{plain: (*plain)(b)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	b.Values = read.Values
	return nil
}

// RunResumed says that another pass over the run's log began.
type RunResumed struct {
	// Trace is that of the run: see [RunStarted].
	Trace string `json:"trace,omitempty"`
}

// ContextLoaded is something the model was told before the user spoke.
type ContextLoaded struct {
	// Source says where the content came from: "instructions", or a file's name.
	Source string `json:"source"`
	Role   string `json:"role"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	// Content is left out where an earlier event of the session has the same hash.
	Content string `json:"content,omitempty"`
	// Following is how many events of this kind come next and belong to this one.
	Following int `json:"following,omitempty"`
}

// UserSaid is what a person said.
type UserSaid struct {
	Text  string `json:"text"`
	Parts []Part `json:"parts,omitempty"`
	// CallID is the tool call that asked, where this is the answer to one, and Answer
	// what was decided, where it was given as a decision.
	CallID string  `json:"call_id,omitempty"`
	Answer *Answer `json:"answer,omitempty"`
	// Hidden says that no person said it: see [Input].
	Hidden bool `json:"hidden,omitempty"`
	// IdempotencyKey is what the caller calls an answer that goes on with a run.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// TextDelta is a piece of an answer in the making. It is shown, not stored. A
// reader that sees the attempt change drops what it showed of the earlier one. The
// attempt is negative from where the text shown before has turned out to be a thought.
type TextDelta struct {
	Text    string `json:"text"`
	Attempt int    `json:"attempt"`
}

// ThoughtDelta is a piece of the model's reasoning, otherwise as [TextDelta].
type ThoughtDelta struct {
	Text    string `json:"text"`
	Attempt int    `json:"attempt"`
}

// ModelReplied is the outcome of a model call.
type ModelReplied struct {
	Message *Message `json:"message"`
	Finish  Finish   `json:"finish"`
	Usage   Usage    `json:"usage"`
	// Estimated says that the provider did not say what it used, and a limit had to know.
	Estimated bool `json:"estimated,omitempty"`
	// Cost is in US dollars, 0 where the model is free or, then Unpriced is set, nobody knows
	// its price.
	Cost       float64 `json:"cost,omitempty"`
	Unpriced   bool    `json:"unpriced,omitempty"`
	Latency    Millis  `json:"latency_ms"`
	FirstToken Millis  `json:"first_token_ms"`
	// Model is the model that answered, as its provider names it, and Provider is that
	// one, where it is known.
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
	Attempt  int    `json:"attempt"`
	// Recast says that the thoughts were shown as text at first: see [Chunk]. Deltas with
	// the attempt as a negative number took the place of those before.
	Recast bool `json:"recast,omitempty"`
	// Purpose is empty for a turn of the conversation, "summary" for a call that
	// makes room in the context.
	Purpose string `json:"purpose,omitempty"`
	// Context is what the request held.
	Context ContextUse `json:"context"`
}

// ShownAs is the attempt of the deltas that make up the reply: see Recast.
func (b *ModelReplied) ShownAs() int {
	if b.Recast {
		return -b.Attempt
	}
	return b.Attempt
}

// ModelFailed says that an attempt at a model call came to nothing.
type ModelFailed struct {
	Attempt int    `json:"attempt"`
	Error   string `json:"error"`
	// Reason is that of the [ModelError], "context" for a request that does not fit
	// the model's window, or "time" where the run's time was up.
	Reason string `json:"reason,omitempty"`
	// RetryIn is when the next attempt begins; it is 0 after the last one.
	RetryIn Millis `json:"retry_in_ms,omitempty"`
	// RetryAfter is how long the provider asked to wait, where it is tried no more.
	RetryAfter Millis `json:"retry_after_ms,omitempty"`
	// Purpose is that of the call: see [ModelReplied].
	Purpose string `json:"purpose,omitempty"`
	// Usage and Cost are of an answer that was paid for and is not used, as where it was
	// withheld, as far as the provider reported them.
	Usage Usage   `json:"usage,omitzero"`
	Cost  float64 `json:"cost,omitempty"`
	// Model and Provider are who was asked, where that is known.
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
}

// ContextUse is how many tokens each part of a request takes, estimated.
type ContextUse struct {
	System  int `json:"system"`
	Tools   int `json:"tools"`
	History int `json:"history"`
	// Window is what the model can hold, 0 where that is not known.
	Window int `json:"window,omitempty"`
}

// Total is the size of the whole request.
func (c ContextUse) Total() int { return c.System + c.Tools + c.History }

// ToolCalled says that a tool is about to be called.
type ToolCalled struct {
	CallID    string    `json:"call_id"`
	Tool      string    `json:"tool"`
	Arguments Arguments `json:"arguments"`
	// Attempt is 1, or one more than the number of times in a row that this tool
	// has just failed.
	Attempt int `json:"attempt"`
	// Changed says how the arguments differ from those of the failed attempt, field
	// by field: what it was and what it is now, null where it was not there.
	Changed map[string][2]json.RawMessage `json:"changed,omitempty"`
}

// ToolReturned is the outcome of a tool call.
type ToolReturned struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Content is what the model is told.
	Content string `json:"content"`
	// Class is empty if the call succeeded; then Error is too: see [ToolError].
	Class    string `json:"class,omitempty"`
	Error    string `json:"error,omitempty"`
	Size     int    `json:"size"`
	Duration Millis `json:"duration_ms"`
	// Parts are what the model is shown beside the content, and Value is for
	// programs: see [Result].
	Parts []Part          `json:"parts,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	// Keep names what the content is, where it outlives compaction: see [Result].
	Keep string `json:"keep,omitempty"`
	// Asks is the question of a tool that cannot go on without the user.
	Asks string `json:"asks,omitempty"`
	// Decision ends the agent's run.
	Decision *Decision `json:"decision,omitempty"`
	// Stack is where a tool panicked. The model does not see it.
	Stack string `json:"stack,omitempty"`
}

// HandedOff says that control moved from one agent to another.
type HandedOff struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Handoff Handoff `json:"handoff"`
}

// InputRequested says that the run ended because a person must answer first.
type InputRequested struct {
	// ID names the question within its session: see [Engine.Answer].
	ID       string `json:"id"`
	Question string `json:"question"`
	// Approval says that the question is whether the call may be carried out.
	Approval  bool      `json:"approval,omitempty"`
	CallID    string    `json:"call_id,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Arguments Arguments `json:"arguments,omitempty"`
}

// ArtifactSaved says that a file was written for the user.
type ArtifactSaved struct {
	Path        string `json:"path"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256,omitempty"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
}

// Noted is a note of the program's own: what a tool has come to, or anything else
// that is worth a record. Troupe decides nothing by it.
type Noted struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
}

// ContextCompacted says that older messages made room for newer ones.
type ContextCompacted struct {
	// Summary stands for what was dropped; it is empty where nothing could be
	// summed up and the messages were only dropped.
	Summary string `json:"summary,omitempty"`
	// Dropped and Kept count messages that are not pinned.
	Dropped int `json:"dropped"`
	Kept    int `json:"kept"`
	// ResultCap is how many bytes were left of longer tool results, 0 for all.
	ResultCap    int `json:"result_cap,omitempty"`
	TokensBefore int `json:"tokens_before"`
	TokensAfter  int `json:"tokens_after"`
}

// LimitReached says that a limit ended an agent's work: its model was told so and gives
// a last answer.
type LimitReached struct {
	Stop string `json:"stop"`
	// Message is for people.
	Message string `json:"message"`
	// Notice is what the model was told: Message where there is none, as in older logs.
	Notice string `json:"notice,omitempty"`
}

// BranchesStopped says that a branch of a run ended the others: see [Run.StopOthers].
type BranchesStopped struct{}

// Warned is something a person should know about and that stopped nothing.
type Warned struct {
	// Code is one fixed word, such as "repeated_call". Nothing is decided by it, but
	// that a run whose latest pass ended with "interrupted" has not taken its process down.
	Code string `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Told says that the model was told of it, too: Notice, or Message where there is none.
	Told bool `json:"told,omitempty"`
	// Notice is what the model was told, where that is not what people are.
	Notice string `json:"notice,omitempty"`
}

// SessionRenamed gives the session another title.
type SessionRenamed struct {
	Title string `json:"title"`
}

// SessionForked ends what a session has from another: its log up to an event, or where
// Run is set, all of it that does not come after a step: see [Engine.ForkStep].
type SessionForked struct {
	From string `json:"from"`
	// After is the number of the last event, or of the one before the step began.
	After int64 `json:"after"`
	// Run is the step's run and Agent its name. Input is what the step gets in place of
	// Was, where a person has edited that, and User who has, empty for whoever runs the
	// engine.
	Run   string   `json:"run,omitempty"`
	Agent string   `json:"agent,omitempty"`
	Input *Handoff `json:"input,omitempty"`
	Was   *Handoff `json:"was,omitempty"`
	User  string   `json:"user,omitempty"`
}

// RunFinished is the last event of a run that came to an end of its own.
type RunFinished struct {
	Output Handoff `json:"output"`
	// Stop is why the run ended: "answered", "input_requested" (a person must answer
	// first), "handed_off" (another agent is to go on) or "decided" (a tool ended it:
	// see [Decision]); the limits "turns", "tool_calls", "tokens", "cost" and "time"
	// (see [Limits]); "handoffs" (a team has handed over as often as it may),
	// "repeated_calls", "length" (cut off at the model's output limit),
	// "content_filter" (the provider withheld the rest), "refused" or "empty". But for
	// answered, handed_off and decided the output's status is partial.
	Stop string `json:"stop"`
	// Spent is what the run itself has used, SpentBelow what is nested in it has.
	Spent      Spent `json:"spent"`
	SpentBelow Spent `json:"spent_below,omitzero"`
}

// RunFailed is the last event of a run that could not go on. It can be resumed.
type RunFailed struct {
	Error string `json:"error"`
	// Reason is that of the [ModelError] that stopped the run, where one did, and the limit
	// that did: "turns", "tool_calls", "tokens", "cost" or "time".
	Reason string `json:"reason,omitempty"`
	// Task is what the run was asked to do; Spent and SpentBelow say how far it had
	// come.
	Task       string `json:"task,omitempty"`
	Spent      Spent  `json:"spent"`
	SpentBelow Spent  `json:"spent_below,omitzero"`
	// Partial is the text of an answer that was cut off.
	Partial string `json:"partial,omitempty"`
	Stack   string `json:"stack,omitempty"`
}

// RunCancelled is the last event of a run that was told to stop.
type RunCancelled struct {
	Reason     string `json:"reason,omitempty"`
	Partial    string `json:"partial,omitempty"`
	Spent      Spent  `json:"spent,omitzero"`
	SpentBelow Spent  `json:"spent_below,omitzero"`
}

// Kind names the body.
func (*RunStarted) Kind() string       { return "run_started" }
func (*RunResumed) Kind() string       { return "run_resumed" }
func (*ContextLoaded) Kind() string    { return "context_loaded" }
func (*UserSaid) Kind() string         { return "user_said" }
func (*TextDelta) Kind() string        { return "text_delta" }
func (*ThoughtDelta) Kind() string     { return "thought_delta" }
func (*ModelReplied) Kind() string     { return "model_replied" }
func (*ModelFailed) Kind() string      { return "model_failed" }
func (*ToolCalled) Kind() string       { return "tool_called" }
func (*ToolReturned) Kind() string     { return "tool_returned" }
func (*HandedOff) Kind() string        { return "handed_off" }
func (*InputRequested) Kind() string   { return "input_requested" }
func (*ArtifactSaved) Kind() string    { return "artifact_saved" }
func (*Noted) Kind() string            { return "noted" }
func (*ContextCompacted) Kind() string { return "context_compacted" }
func (*LimitReached) Kind() string     { return "limit_reached" }
func (*BranchesStopped) Kind() string  { return "branches_stopped" }
func (*Warned) Kind() string           { return "warned" }
func (*SessionRenamed) Kind() string   { return "session_renamed" }
func (*SessionForked) Kind() string    { return "session_forked" }
func (*RunFinished) Kind() string      { return "run_finished" }
func (*RunFailed) Kind() string        { return "run_failed" }
func (*RunCancelled) Kind() string     { return "run_cancelled" }

func (*RunStarted) body()       {}
func (*RunResumed) body()       {}
func (*ContextLoaded) body()    {}
func (*UserSaid) body()         {}
func (*TextDelta) body()        {}
func (*ThoughtDelta) body()     {}
func (*ModelReplied) body()     {}
func (*ModelFailed) body()      {}
func (*ToolCalled) body()       {}
func (*ToolReturned) body()     {}
func (*HandedOff) body()        {}
func (*InputRequested) body()   {}
func (*ArtifactSaved) body()    {}
func (*Noted) body()            {}
func (*ContextCompacted) body() {}
func (*LimitReached) body()     {}
func (*BranchesStopped) body()  {}
func (*Warned) body()           {}
func (*SessionRenamed) body()   {}
func (*SessionForked) body()    {}
func (*RunFinished) body()      {}
func (*RunFailed) body()        {}
func (*RunCancelled) body()     {}

package troupe

import (
	"encoding/json"
	"time"
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
}

// Kind names the event's body.
func (e *Event) Kind() Kind {
	if e.Body == nil {
		return ""
	}
	return e.Body.Kind()
}

// A Kind is the name of a body in JSON. Once released it is not renamed.
type Kind string

// The kinds of events.
const (
	KindRunStarted       Kind = "run_started"
	KindContextLoaded    Kind = "context_loaded"
	KindUserSaid         Kind = "user_said"
	KindTextDelta        Kind = "text_delta"
	KindThoughtDelta     Kind = "thought_delta"
	KindModelReplied     Kind = "model_replied"
	KindToolCalled       Kind = "tool_called"
	KindToolReturned     Kind = "tool_returned"
	KindHandedOff        Kind = "handed_off"
	KindInputRequested   Kind = "input_requested"
	KindArtifactSaved    Kind = "artifact_saved"
	KindContextCompacted Kind = "context_compacted"
	KindWarned           Kind = "warned"
	KindSessionRenamed   Kind = "session_renamed"
	KindRunFinished      Kind = "run_finished"
	KindRunFailed        Kind = "run_failed"
	KindRunCancelled     Kind = "run_cancelled"
)

// A Body is what happened: a pointer to one of the types below. The set is closed.
// Bodies are shared by all who read the log and must not be changed.
type Body interface {
	Kind() Kind
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
	// User is who the run is for, and Key what the caller calls it: see [Input].
	User string `json:"user,omitempty"`
	Key  string `json:"key,omitempty"`
}

// ContextLoaded is something the model was told before the user spoke.
type ContextLoaded struct {
	// Source says where the content came from: "instructions", or a file's name.
	Source string `json:"source"`
	Role   Role   `json:"role"`
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
	// CallID is the tool call that asked, where this is the answer to one.
	CallID string `json:"call_id,omitempty"`
}

// TextDelta is a piece of an answer in the making. It is shown, not stored. A
// reader that sees the attempt change drops what it showed of the earlier one.
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
	// Cost is in US dollars, 0 where the price is not known.
	Cost       float64 `json:"cost,omitempty"`
	Latency    Millis  `json:"latency_ms"`
	FirstToken Millis  `json:"first_token_ms"`
	Model      string  `json:"model,omitempty"`
	Attempt    int     `json:"attempt"`
	// Purpose is empty for a turn of the conversation, "summary" for a call that
	// makes room in the context.
	Purpose string `json:"purpose,omitempty"`
	// Context is what the request held, in tokens, estimated.
	Context ContextUse `json:"context"`
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
	// Changed says how the arguments differ from those of the failed attempt.
	Changed []Change `json:"changed,omitempty"`
}

// A Change is one argument that differs from the attempt before.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from,omitempty"`
	To    json.RawMessage `json:"to,omitempty"`
}

// ToolReturned is the outcome of a tool call.
type ToolReturned struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Content is what the model is told.
	Content string `json:"content"`
	// Class is empty if the call succeeded; then Error is too.
	Class    Class  `json:"class,omitempty"`
	Error    string `json:"error,omitempty"`
	Size     int    `json:"size"`
	Duration Millis `json:"duration_ms"`
	// Asks is the question of a tool that cannot go on without the user.
	Asks string `json:"asks,omitempty"`
	// HandsTo is to whom the call passes control, which ends the agent's run.
	HandsTo string `json:"hands_to,omitempty"`
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
	Question  string    `json:"question"`
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

// Warned is something a person should know about and that stopped nothing.
type Warned struct {
	// Code is one fixed word, such as "model_retry" or "repeated_call".
	Code    string `json:"code"`
	Message string `json:"message"`
	// Told says that the model was given the message too.
	Told bool `json:"told,omitempty"`
}

// SessionRenamed gives the session another title.
type SessionRenamed struct {
	Title string `json:"title"`
}

// RunFinished is the last event of a run that came to an end of its own.
type RunFinished struct {
	Output Handoff `json:"output"`
	Stop   Stop    `json:"stop"`
	Spent  Spent   `json:"spent"`
}

// RunFailed is the last event of a run that could not go on. It can be resumed.
type RunFailed struct {
	Error string `json:"error"`
	// Task is what the run was asked to do, State how far it had come.
	Task  string `json:"task,omitempty"`
	State Spent  `json:"state"`
	// Partial is the text of an answer that was cut off.
	Partial string `json:"partial,omitempty"`
	Stack   string `json:"stack,omitempty"`
}

// RunCancelled is the last event of a run that was told to stop.
type RunCancelled struct {
	Reason  string `json:"reason,omitempty"`
	Partial string `json:"partial,omitempty"`
}

// Kind names the body.
func (*RunStarted) Kind() Kind       { return KindRunStarted }
func (*ContextLoaded) Kind() Kind    { return KindContextLoaded }
func (*UserSaid) Kind() Kind         { return KindUserSaid }
func (*TextDelta) Kind() Kind        { return KindTextDelta }
func (*ThoughtDelta) Kind() Kind     { return KindThoughtDelta }
func (*ModelReplied) Kind() Kind     { return KindModelReplied }
func (*ToolCalled) Kind() Kind       { return KindToolCalled }
func (*ToolReturned) Kind() Kind     { return KindToolReturned }
func (*HandedOff) Kind() Kind        { return KindHandedOff }
func (*InputRequested) Kind() Kind   { return KindInputRequested }
func (*ArtifactSaved) Kind() Kind    { return KindArtifactSaved }
func (*ContextCompacted) Kind() Kind { return KindContextCompacted }
func (*Warned) Kind() Kind           { return KindWarned }
func (*SessionRenamed) Kind() Kind   { return KindSessionRenamed }
func (*RunFinished) Kind() Kind      { return KindRunFinished }
func (*RunFailed) Kind() Kind        { return KindRunFailed }
func (*RunCancelled) Kind() Kind     { return KindRunCancelled }

func (*RunStarted) body()       {}
func (*ContextLoaded) body()    {}
func (*UserSaid) body()         {}
func (*TextDelta) body()        {}
func (*ThoughtDelta) body()     {}
func (*ModelReplied) body()     {}
func (*ToolCalled) body()       {}
func (*ToolReturned) body()     {}
func (*HandedOff) body()        {}
func (*InputRequested) body()   {}
func (*ArtifactSaved) body()    {}
func (*ContextCompacted) body() {}
func (*Warned) body()           {}
func (*SessionRenamed) body()   {}
func (*RunFinished) body()      {}
func (*RunFailed) body()        {}
func (*RunCancelled) body()     {}

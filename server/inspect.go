package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// A callView is a model call or a tool call, as it was made.
type callView struct {
	// Number is that of the event that ended it, or that began a tool call.
	Number int64     `json:"number"`
	Kind   string    `json:"kind" jsonschema:"model or tool"`
	Agent  string    `json:"agent"`
	Run    string    `json:"run"`
	Step   string    `json:"step"`
	At     time.Time `json:"at"`

	Model    string  `json:"model,omitempty"`
	Purpose  string  `json:"purpose,omitempty"`
	Finish   string  `json:"finish,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	Latency  int64   `json:"latency_ms,omitempty"`
	First    int64   `json:"first_token_ms,omitempty"`
	Attempts int     `json:"attempts,omitempty"`
	Input    int     `json:"input_tokens,omitempty"`
	Cached   int     `json:"cached_tokens,omitempty"`
	Output   int     `json:"output_tokens,omitempty"`
	Window   int     `json:"window,omitempty"`
	// Parts are what was sent, in order.
	Parts []partSent `json:"parts,omitempty"`
	// Dropped are parts of the call before that were not sent any more.
	Dropped []partSent `json:"dropped,omitempty"`
	Answer  *came      `json:"answer,omitempty"`
	// Before and After are the numbers of the model calls around this one.
	Before int64 `json:"before,omitempty"`
	After  int64 `json:"after,omitempty"`

	Tool      string            `json:"tool,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Changed   []json.RawMessage `json:"changed,omitempty"`
	Result    string            `json:"result,omitempty"`
	Class     string            `json:"class,omitempty"`
	Error     string            `json:"error,omitempty"`
	Duration  int64             `json:"duration_ms,omitempty"`
}

// A partSent is a piece of what a model was sent.
type partSent struct {
	// Kind is instructions, context, user, assistant, tool or summary.
	Kind string `json:"kind"`
	// Name is whose words they are: a file, a tool, a person or an agent.
	Name   string `json:"name,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Tokens is an estimate, made to fit what the provider has counted.
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
	// New says that the call before did not have it.
	New bool `json:"new"`
}

// came is what came back.
type came struct {
	Text    string            `json:"text,omitempty"`
	Thought string            `json:"thought,omitempty"`
	Refusal string            `json:"refusal,omitempty"`
	Calls   []troupe.ToolCall `json:"calls,omitempty"`
}

// A recorder follows the events of a session and knows at each model call what that
// was sent: the same that the engine makes of the same events.
type recorder struct {
	loaded map[string]string // contents by hash
	talks  map[string]*sentTalk
}

// A sentTalk is the conversation of one run and those it goes on from.
type sentTalk struct{ parts []partSent }

func (r *recorder) talk(e *troupe.Event) *sentTalk {
	key := "" // the session's own conversation; a nested run has one of its own
	if e.Parent != "" {
		key = e.Run
	}
	if r.talks[key] == nil {
		r.talks[key] = &sentTalk{}
	}
	return r.talks[key]
}

// take adds what an event has the model know from then on.
func (r *recorder) take(e *troupe.Event) {
	t := r.talk(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent != "" && b.Input.Task != "" {
			t.add(partSent{Kind: "user", Name: "task", Text: b.Input.Task})
		}
	case *troupe.ContextLoaded:
		content := b.Content
		if content == "" {
			content = r.loaded[b.SHA256]
		}
		r.loaded[b.SHA256] = content
		t.load(partSent{Kind: contextKind(b), Name: b.Source, Origin: b.Source, Text: content})
	case *troupe.UserSaid:
		text := b.Text
		for _, p := range b.Parts {
			text += fmt.Sprintf("\n[%s, %s]", p.Name, p.MIME)
		}
		t.add(partSent{Kind: "user", Text: text})
	case *troupe.ModelReplied:
		if b.Purpose == "" && b.Message != nil {
			t.add(partSent{Kind: "assistant", Name: e.Agent, Text: spoken(b.Message)})
		}
	case *troupe.ToolReturned:
		t.add(partSent{Kind: "tool", Name: b.Tool, Text: b.Content})
	case *troupe.ContextCompacted:
		t.compact(b)
	}
}

func contextKind(b *troupe.ContextLoaded) string {
	if b.Source == "instructions" {
		return "instructions"
	}
	return "context"
}

func spoken(m *troupe.Message) string {
	text := m.Text
	for _, call := range m.Calls {
		text += fmt.Sprintf("\n→ %s %s", call.Name, call.Arguments)
	}
	return strings.TrimPrefix(text, "\n")
}

func (t *sentTalk) add(p partSent) { t.parts = append(t.parts, p) }

// load puts what is told before the user speaks where it belongs: before what was
// said. What replaces an earlier part of that name takes its place.
func (t *sentTalk) load(p partSent) {
	lead := 0
	for lead < len(t.parts) && (t.parts[lead].Kind == "instructions" || t.parts[lead].Kind == "context") {
		if t.parts[lead].Name == p.Name {
			t.parts[lead] = p
			return
		}
		lead++
	}
	t.parts = slices.Insert(slices.Clone(t.parts), lead, p)
}

// compact drops the oldest of what was said, and puts the summary in its place.
func (t *sentTalk) compact(b *troupe.ContextCompacted) {
	lead := slices.IndexFunc(t.parts, func(p partSent) bool { return p.Kind != "instructions" && p.Kind != "context" })
	if lead < 0 {
		return
	}
	rest := t.parts[min(len(t.parts), lead+b.Dropped):]
	t.parts = slices.Clone(t.parts[:lead])
	if b.Summary != "" {
		t.parts = append(t.parts, partSent{Kind: "summary", Text: b.Summary})
	}
	t.parts = append(t.parts, rest...)
}

// showCall shows a call of the session by its number.
func (s *Server) showCall(c *call) error {
	info, err := s.found(c)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(c.r.PathValue("step"), 10, 64)
	if err != nil {
		return refuse(http.StatusNotFound, "there is no such call")
	}
	against, err := c.number("against", 0, info.Events)
	if err != nil {
		return err
	}
	view, err := s.inspect(c, info.ID, number, against)
	if err != nil {
		return err
	}
	switch as := c.r.URL.Query().Get("as"); as {
	case "":
		return c.answer(http.StatusOK, view, nil)
	case "json":
		return c.answer(http.StatusOK, view.request(), nil)
	case "curl":
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := fmt.Fprint(c.w, view.curl())
		return err
	default:
		return refuse(http.StatusBadRequest, "as: %.20q is neither json nor curl", as)
	}
}

// inspect goes over the session's events up to the call.
func (s *Server) inspect(c *call, session string, number, against int64) (*callView, error) {
	r := recorder{loaded: map[string]string{}, talks: map[string]*sentTalk{}}
	var view *callView
	var other []partSent
	var last int64
	for e, err := range s.config.Store.Events(c.r.Context(), session, 0) {
		if err != nil {
			return nil, err
		}
		replied, isModel := e.Body.(*troupe.ModelReplied)
		if isModel && view != nil && view.Kind == "model" {
			view.After = e.Seq
			break
		}
		if view != nil && view.Kind == "tool" {
			if returned, ok := e.Body.(*troupe.ToolReturned); ok && e.Run == view.Run && e.Step == view.Step {
				view.Result, view.Class, view.Error, view.Duration = returned.Content, string(returned.Class), returned.Error, returned.Duration.Duration().Milliseconds()
				break
			}
		}
		if isModel && (e.Seq == against || against == 0 && e.Seq < number && e.Seq > last) {
			other, last = slices.Clone(r.talk(&e).parts), e.Seq
		}
		if e.Seq == number {
			if view = begunView(&e, r.talk(&e)); view == nil {
				return nil, refuse(http.StatusNotFound, "event %d is no call", number)
			}
			if isModel {
				view.weigh(replied)
				view.compare(other)
				view.Before = last
			}
		}
		r.take(&e)
	}
	if view == nil {
		return nil, refuse(http.StatusNotFound, "there is no such call")
	}
	return view, nil
}

// begunView is what an event itself says of the call, nil if it is none.
func begunView(e *troupe.Event, t *sentTalk) *callView {
	view := &callView{Number: e.Seq, Agent: e.Agent, Run: e.Run, Step: e.Step, At: e.Time}
	switch b := e.Body.(type) {
	case *troupe.ModelReplied:
		view.Kind, view.Model, view.Purpose, view.Finish, view.Cost = "model", b.Model, b.Purpose, string(b.Finish), b.Cost
		view.Latency, view.First, view.Attempts = b.Latency.Duration().Milliseconds(), b.FirstToken.Duration().Milliseconds(), b.Attempt
		view.Input, view.Cached, view.Output, view.Window = b.Usage.Input, b.Usage.CachedInput, b.Usage.Output, b.Context.Window
		view.Parts = slices.Clone(t.parts)
		if m := b.Message; m != nil {
			view.Answer = &came{m.Text, m.Thought, m.Refusal, m.Calls}
		}
	case *troupe.ToolCalled:
		view.Kind, view.Tool, view.Arguments, view.Attempts = "tool", b.Tool, json.RawMessage(b.Arguments), b.Attempt
		for _, change := range b.Changed {
			if data, err := json.Marshal(change); err == nil {
				view.Changed = append(view.Changed, data)
			}
		}
	default:
		return nil
	}
	return view
}

// weigh shares what the provider has counted among the parts, by their sizes. What
// the tools' descriptions take is a part of its own.
func (v *callView) weigh(replied *troupe.ModelReplied) {
	bytes := 0
	for _, p := range v.Parts {
		bytes += len(p.Text) + 8
	}
	tools := replied.Context.Tools
	total := v.Input - tools
	if total <= 0 {
		total = bytes / 4
	}
	for i := range v.Parts {
		v.Parts[i].Tokens = (len(v.Parts[i].Text) + 8) * total / max(bytes, 1)
	}
	if tools > 0 {
		v.Parts = append(v.Parts, partSent{Kind: "tools", Tokens: tools})
	}
}

// compare marks what an earlier call did not have.
func (v *callView) compare(before []partSent) {
	had := map[string]int{}
	for _, p := range before {
		had[p.Kind+"\x00"+p.Text]++
	}
	for i, p := range v.Parts {
		key := p.Kind + "\x00" + p.Text
		if p.Kind == "tools" || had[key] > 0 {
			had[key]--
			continue
		}
		v.Parts[i].New = true
	}
	for _, p := range before {
		if key := p.Kind + "\x00" + p.Text; had[key] > 0 {
			had[key]--
			v.Dropped = append(v.Dropped, p)
		}
	}
}

// A sentRequest is the call as a chat-completions request, as far as events have it.
type sentRequest struct {
	Model    string        `json:"model,omitempty"`
	Messages []sentMessage `json:"messages"`
	Stream   bool          `json:"stream"`
}

type sentMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (v *callView) request() sentRequest {
	request := sentRequest{Model: v.Model, Messages: []sentMessage{}, Stream: true}
	roles := map[string]string{"instructions": "system", "context": "system", "summary": "user"}
	for _, p := range v.Parts {
		role := roles[p.Kind]
		if role == "" {
			role = p.Kind
		}
		if p.Kind != "tools" {
			request.Messages = append(request.Messages, sentMessage{role, p.Text})
		}
	}
	return request
}

// curl is a command that sends the same messages. The key is a variable.
func (v *callView) curl() string {
	data, err := json.MarshalIndent(v.request(), "", "  ")
	if err != nil {
		return ""
	}
	quoted := strings.ReplaceAll(string(data), "'", `'\''`)
	return "curl \"$OPENAI_BASE_URL/chat/completions\" \\\n  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + quoted + "'\n"
}

package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/internal/words"
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

	Model    string `json:"model,omitempty"`
	provider string // where it is, and sent is what that calls it
	sent     string
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
	// messages are those of the parts that have calls of tools, or are what came of one, by
	// the number of their event.
	messages map[int64]sentMessage
	// Parts are what was sent, in order.
	Parts []explain.Part `json:"parts,omitempty"`
	// Dropped are parts of the call before that were not sent any more.
	Dropped []explain.Part `json:"dropped,omitempty"`
	Answer  *came          `json:"answer,omitempty"`
	// Before and After are the numbers of the model calls around this one: of a step of a flow
	// those of its run, else those of the conversation.
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

// came is what came back.
type came struct {
	Text    string            `json:"text,omitempty"`
	Thought string            `json:"thought,omitempty"`
	Refusal string            `json:"refusal,omitempty"`
	Calls   []troupe.ToolCall `json:"calls,omitempty"`
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
	part, err := c.number("part", -1, math.MaxInt32)
	if err != nil {
		return err
	}
	if part >= int64(len(view.Parts)) {
		return refuse(http.StatusNotFound, "the call has no part %d", part)
	}
	if part >= 0 {
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := io.WriteString(c.w, view.Parts[part].Text)
		return err
	}
	switch as := c.r.URL.Query().Get("as"); as {
	case "":
		left := cutParts(view.Parts, shownBytes)
		cutParts(view.Dropped, left)
		return c.answer(http.StatusOK, view, nil)
	case "json":
		return c.answer(http.StatusOK, view.request(), nil)
	case "curl":
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		at, err := s.providerNamed(c, view.provider)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.w, view.curl(at))
		return err
	default:
		return refuse(http.StatusBadRequest, "as: %.20q is neither json nor curl", as)
	}
}

// A call is shown with so many bytes of texts, and so many of each: a conversation of
// megabytes is sent to a model at every turn, and nobody reads it twice.
const (
	shownBytes     = 2 << 20
	shownPartBytes = 128 << 10
)

// cutParts leaves the beginnings of texts that are too long, together at most so many
// bytes, and returns how many are left.
func cutParts(parts []explain.Part, left int) int {
	for i := range parts {
		p := &parts[i]
		if most := min(left, shownPartBytes); len(p.Text) > most {
			p.Bytes, p.Text = len(p.Text), strings.ToValidUTF8(p.Text[:most], "")
		}
		left -= len(p.Text)
	}
	return left
}

// A sentBefore is a model call and what was sent with it.
type sentBefore struct {
	number int64
	parts  []explain.Part
}

// inspect goes over the session's events up to the call.
func (s *Server) inspect(c *call, session string, number, against int64) (*callView, error) {
	r := explain.NewRecorder()
	var view *callView
	var asked struct { // of the view
		*troupe.ModelReplied
		event *troupe.Event
	}
	before := map[string]sentBefore{} // by where a call is said: the latest, or the one to compare with
	saidIn := func(e *troupe.Event) string {
		if e.Parent == "" || against != 0 {
			return ""
		}
		return e.Run
	}
	messages := map[int64]sentMessage{}
	for e, err := range s.config.Store.Events(c.r.Context(), session, 0) {
		if err != nil {
			return nil, err
		}
		replied, isModel := e.Body.(*troupe.ModelReplied)
		if view != nil && view.Kind == "model" {
			if isModel && saidIn(&e) == saidIn(asked.event) {
				view.After = e.Seq
				break
			}
			continue
		}
		if view != nil && view.Kind == "tool" {
			if returned, ok := e.Body.(*troupe.ToolReturned); ok && e.Run == view.Run && e.Step == view.Step {
				view.Result, view.Class, view.Error, view.Duration = returned.Content, string(returned.Class), returned.Error, returned.Duration.Duration().Round(time.Millisecond).Milliseconds()
				break
			}
		}
		if e.Seq == number {
			if view = begunView(&e, r.Sent(&e)); view == nil {
				return nil, refuse(http.StatusNotFound, "event %d is no call", number)
			}
			if isModel {
				view.Before, view.messages = before[saidIn(&e)].number, messages
				asked.ModelReplied, asked.event = replied, &e
			}
		} else if isModel && (e.Seq == against || against == 0) {
			last := before[saidIn(&e)]
			// A call that sums up is no turn of the conversation, to be compared with another.
			if last.number = e.Seq; replied.Purpose == "" || e.Seq == against {
				last.parts = r.Sent(&e)
			}
			before[saidIn(&e)] = last
		}
		// Calls that were cut short are not sent back.
		if isModel && replied.Message != nil && len(replied.Message.Calls) > 0 && replied.Finish != troupe.FinishLength && replied.Finish != troupe.FinishFiltered {
			messages[e.Seq] = callingMessage(replied.Message)
		}
		r.Take(&e)
	}
	if view == nil {
		return nil, refuse(http.StatusNotFound, "there is no such call")
	}
	if asked.event != nil {
		other := before[saidIn(asked.event)].parts
		if asked.Purpose != "" && against == 0 {
			other = nil
		}
		view.Parts = explain.Weigh(view.Parts, asked.ModelReplied, s.priceOf(view.Model))
		view.Dropped = explain.Compare(view.Parts, other)
	}
	return view, nil
}

// begunView is what an event itself says of the call, nil if it is none.
func begunView(e *troupe.Event, sent []explain.Part) *callView {
	view := &callView{Number: e.Seq, Agent: e.Agent, Run: e.Run, Step: e.Step, At: e.Time}
	switch b := e.Body.(type) {
	case *troupe.ModelReplied:
		view.Kind, view.Model, view.Purpose, view.Finish, view.Cost = "model", words.ModelName(b.Provider, b.Model), b.Purpose, string(b.Finish), b.Cost
		view.provider, view.sent = b.Provider, b.Model
		view.Latency, view.First, view.Attempts = b.Latency.Duration().Round(time.Millisecond).Milliseconds(), b.FirstToken.Duration().Round(time.Millisecond).Milliseconds(), b.Attempt
		view.Input, view.Cached, view.Output, view.Window = b.Usage.Input, b.Usage.CachedInput, b.Usage.Output, b.Context.Window
		view.Parts = sent
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

// A sentRequest is the call as a chat-completions request, as far as events have it.
type sentRequest struct {
	Model    string        `json:"model,omitempty"`
	Messages []sentMessage `json:"messages"`
	Stream   bool          `json:"stream"`
}

type sentMessage struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []sentCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type sentCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// callingMessage is an answer that calls tools, as the next request has it.
func callingMessage(m *troupe.Message) sentMessage {
	message := sentMessage{Role: "assistant", Content: m.Text}
	for _, c := range m.Calls {
		call := sentCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
		message.Calls = append(message.Calls, call)
	}
	return message
}

func (v *callView) request() sentRequest {
	request := sentRequest{Model: v.sent, Messages: []sentMessage{}, Stream: true}
	for _, p := range v.Parts {
		if message, ok := v.messages[p.Event]; ok && p.Kind == "assistant" {
			request.Messages = append(request.Messages, message)
		} else if p.Kind != "tools" {
			request.Messages = append(request.Messages, sentMessage{Role: cmp.Or(p.Role, "system"), Content: p.Text, CallID: p.CallID})
		}
	}
	return request
}

// providerNamed is a provider as the settings have it, or one of which nothing is known.
func (s *Server) providerNamed(c *call, name string) (Provider, error) {
	if s.config.Settings == nil || name == "" {
		return Provider{}, nil
	}
	list, err := s.config.Settings.Providers(c.r.Context())
	if err != nil {
		return Provider{}, err
	}
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
	}
	return Provider{}, nil
}

// curl is a command that sends the same messages to where they were sent, and says what it
// lacks. The key is the variable that it is in.
func (v *callView) curl(at Provider) string {
	data, err := json.MarshalIndent(v.request(), "", "  ")
	if err != nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# The messages as they were sent. What is not on record is not in it: the descriptions of tools, and parameters such as the temperature.")
	address := "$OPENAI_BASE_URL"
	variable := "OPENAI_API_KEY"
	if at.Name != "" && (at.API == "" || at.API == "chat") {
		address, variable = strings.TrimSuffix(at.BaseURL, "/"), at.KeyVariable
	} else if at.Name != "" {
		fmt.Fprintf(&b, "# %s speaks an API of its own (%s), by which this was sent. The same messages for a server that is compatible with OpenAI's:\n", at.Name, at.API)
	}
	fmt.Fprintf(&b, "curl \"%s/chat/completions\" \\\n", address)
	if variable != "" {
		fmt.Fprintf(&b, "  -H \"Authorization: Bearer $%s\" \\\n", variable)
	}
	fmt.Fprintf(&b, "  -H 'Content-Type: application/json' \\\n  -d '%s'\n", strings.ReplaceAll(string(data), "'", `'\''`))
	return b.String()
}

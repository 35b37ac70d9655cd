// Package explain says what a model was sent in each turn of a session, where every
// part of it came from, what it took and cost, and why the run stopped. It reads that
// off the session's events: the same that the engine makes its requests of.
package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Part is a piece of what a model was sent.
type Part struct {
	// Kind is instructions, context, user, assistant, tool, summary or tools; and, in a call
	// that sums up, transcript: what is summed up.
	Kind string `json:"kind"`
	// Name is whose words they are: a file, a tool, a person or an agent.
	Name string `json:"name,omitempty"`
	// Origin is the file that it came from, and Line the line in it, where that is known.
	Origin string `json:"origin,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Role is that of the message it was sent as: system, user, assistant or tool. CallID is the
	// call that a tool's result belongs to.
	Role   string `json:"role,omitempty"`
	CallID string `json:"call_id,omitempty"`
	// Event is the number of the event that has it, 0 for none.
	Event int64 `json:"event,omitempty"`
	// Tokens is an estimate, made to fit what the provider has counted, and Cost its part
	// of what the call cost, in US dollars.
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost,omitempty"`
	Text   string  `json:"text"`
	// Bytes is how long the text is where only its beginning is shown, otherwise 0.
	Bytes int `json:"bytes,omitempty"`
	// New says that the call before did not have it.
	New bool `json:"new"`
}

// A Recorder follows the events of a session and knows at each model call what that was
// sent.
type Recorder struct {
	loaded  map[string]string // contents by hash
	talks   map[string]*talk
	talkOf  map[string]string // the conversation of a nested run
	callsOf map[string]string // what a call is about, by run and step
	// isAgent says that the session's latest run is an agent's own, earlier how many messages
	// there were before it.
	isAgent bool
	earlier int
}

// NewRecorder returns a recorder that has seen nothing yet.
func NewRecorder() *Recorder {
	return &Recorder{loaded: map[string]string{}, talks: map[string]*talk{}, talkOf: map[string]string{}, callsOf: map[string]string{}}
}

// talk returns the conversation that an event belongs to. The session's own has no name; a nested
// run has one of its own, unless it goes on with an earlier one.
func (r *Recorder) talk(e *troupe.Event) *talk {
	key := ""
	if e.Parent != "" {
		key = e.Run
		if name := r.talkOf[e.Run]; name != "" {
			key = "conversation " + name
		}
	}
	if r.talks[key] == nil {
		r.talks[key] = &talk{}
		// What a flow that the user talks to has its steps do begins with what was said before.
		if started, ok := e.Body.(*troupe.RunStarted); ok && key != "" && started.Depth == 1 && (!r.isAgent || started.Conversation != "") {
			r.talks[key].inform(r.talks[""], r.earlier)
		}
	}
	return r.talks[key]
}

// Sent returns what a model is sent that is asked in the run of an event, in order. Where it is
// asked to sum up, an event that is yet to come says how much of the conversation: the parts are
// right once Take was given that.
func (r *Recorder) Sent(e *troupe.Event) []Part {
	t := r.talk(e)
	if sumsUp(e.Body) {
		t.summing = t.toSumUp(e)
		return t.summing
	}
	return t.sent()
}

// sumsUp reports whether a reply is to a call that makes a summary, and is no part of the
// conversation.
func sumsUp(body troupe.Body) bool {
	replied, ok := body.(*troupe.ModelReplied)
	return ok && replied.Purpose == "summary"
}

// Take adds what an event has the model know from then on.
func (r *Recorder) Take(e *troupe.Event) {
	if started, ok := e.Body.(*troupe.RunStarted); ok && e.Parent == "" {
		r.isAgent, r.earlier = started.Definition == nil || started.Definition.Kind == "agent", len(r.talk(e).messages)
	} else if ok && started.Conversation != "" {
		r.talkOf[e.Run] = started.Conversation
	}
	t := r.talk(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		t.begin(e, b)
	case *troupe.ContextLoaded:
		content := b.Content
		if content == "" {
			content = r.loaded[b.SHA256]
		}
		r.loaded[b.SHA256] = content
		t.load(e, b, content)
	case *troupe.UserSaid:
		if b.CallID == "" { // else the call's result tells what came of it
			given := t.given
			given.Task = b.Text
			t.ask(Part{Event: e.Seq, Text: given.Prompt()}, b.Parts)
		}
	case *troupe.ModelReplied:
		if b.Purpose == "" && b.Message != nil {
			t.reply(e, b)
		}
	case *troupe.ToolCalled:
		r.callsOf[e.Run+"/"+e.Step] = originOf(b.Arguments)
	case *troupe.ToolReturned:
		t.result(Part{Name: b.Tool, Origin: r.callsOf[e.Run+"/"+e.Step], CallID: b.CallID, Event: e.Seq, Text: b.Content}, b.Keep)
	case *troupe.Warned:
		if b.Told {
			t.notice(e, cmp.Or(b.Notice, b.Message))
		}
	case *troupe.LimitReached:
		t.notice(e, cmp.Or(b.Notice, b.Message))
	case *troupe.ContextCompacted:
		t.compact(e, b)
	case *troupe.RunFinished:
		if b.Stop != "input_requested" || !t.isWaiting() {
			t.answer(e, b.Output.Summary)
		}
	case *troupe.RunFailed:
		t.brokenOff(e, b.Partial)
	case *troupe.RunCancelled:
		t.brokenOff(e, b.Partial)
	}
}

// named are the arguments by which tools name what they read.
var named = []string{"file_path", "workflow_path", "path", "name", "url", "agent_id"}

// originOf is what a tool's arguments name.
func originOf(arguments troupe.Arguments) string {
	var given map[string]any
	if json.Unmarshal([]byte(arguments), &given) != nil {
		return ""
	}
	for _, key := range named {
		if name, ok := given[key].(string); ok && name != "" {
			return name
		}
	}
	return ""
}

func spoken(m *troupe.Message) string {
	text := m.Text
	for _, call := range m.Calls {
		text += fmt.Sprintf("\n→ %s %s", call.Name, call.Arguments)
	}
	return strings.TrimPrefix(text, "\n")
}

// Weigh shares what the provider has counted among the parts, by their sizes. What the
// tools' descriptions take is a part of its own. A price, where it is known, says which
// part of the cost is the input's.
func Weigh(parts []Part, b *troupe.ModelReplied, price troupe.Price) []Part {
	bytes := 0
	for _, p := range parts {
		bytes += len(p.Text) + 8
	}
	total := b.Usage.Input - b.Context.Tools
	if total <= 0 {
		total = bytes / 4
	}
	for i := range parts {
		parts[i].Tokens = (len(parts[i].Text) + 8) * total / max(bytes, 1)
	}
	if b.Context.Tools > 0 {
		parts = append(parts, Part{Kind: "tools", Tokens: b.Context.Tools})
	}
	cost := inputCost(b, price)
	sum := 0
	for _, p := range parts {
		sum += p.Tokens
	}
	for i := range parts {
		parts[i].Cost = cost * float64(parts[i].Tokens) / float64(max(sum, 1))
	}
	return parts
}

// inputCost is what of a call's cost is the input's.
func inputCost(b *troupe.ModelReplied, price troupe.Price) float64 {
	whole, out := b.Usage, b.Usage
	out.Input, out.CachedInput, out.CacheWrite = 0, 0, 0
	if all := price.Of(whole); price.Known() && all > 0 {
		return b.Cost * (all - price.Of(out)) / all
	}
	return b.Cost * float64(b.Usage.Input) / float64(max(b.Usage.Total(), 1))
}

// Compare marks what an earlier call did not have, and returns what it had beside that.
func Compare(parts, before []Part) (dropped []Part) {
	had := map[string]int{}
	key := func(p *Part) string { return p.Kind + "\x00" + p.Text }
	for i := range before {
		had[key(&before[i])]++
	}
	for i := range parts {
		p := &parts[i]
		if p.Kind == "tools" || had[key(p)] > 0 {
			had[key(p)]--
			continue
		}
		p.New = true
	}
	for i := range before {
		if k := key(&before[i]); had[k] > 0 {
			had[k]--
			dropped = append(dropped, before[i])
		}
	}
	return dropped
}

// Package explain says what a model was sent in each turn of a session, where every
// part of it came from, what it took and cost, and why the run stopped. It reads that
// off the session's events: the same that the engine makes its requests of.
package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// A Part is a piece of what a model was sent.
type Part struct {
	// Kind is instructions, context, user, assistant, tool, summary or tools.
	Kind string `json:"kind"`
	// Name is whose words they are: a file, a tool, a person or an agent.
	Name string `json:"name,omitempty"`
	// Origin is the file that it came from, and Line the line in it, where that is known.
	Origin string `json:"origin,omitempty"`
	Line   int    `json:"line,omitempty"`
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
	talkOf  map[string]string     // the conversation of a nested run
	callsOf map[string]toolOrigin // by run and step
}

// A talk is the conversation of one run and those that it goes on from.
type talk struct{ parts []Part }

// toolOrigin is what a tool call was about.
type toolOrigin struct{ origin string }

// NewRecorder returns a recorder that has seen nothing yet.
func NewRecorder() *Recorder {
	return &Recorder{loaded: map[string]string{}, talks: map[string]*talk{}, talkOf: map[string]string{}, callsOf: map[string]toolOrigin{}}
}

func (r *Recorder) talk(e *troupe.Event) *talk {
	key := "" // the session's own conversation; a nested run has one of its own
	if e.Parent != "" {
		key = e.Run
		if name := r.talkOf[e.Run]; name != "" {
			key = "conversation " + name
		}
	}
	if r.talks[key] == nil {
		r.talks[key] = &talk{}
	}
	return r.talks[key]
}

// Sent returns what a model is sent that is asked in the run of an event, in order.
func (r *Recorder) Sent(e *troupe.Event) []Part { return slices.Clone(r.talk(e).parts) }

// Take adds what an event has the model know from then on.
func (r *Recorder) Take(e *troupe.Event) {
	if started, ok := e.Body.(*troupe.RunStarted); ok && started.Conversation != "" {
		r.talkOf[e.Run] = started.Conversation
	}
	t := r.talk(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if prompt := b.Input.Prompt(); e.Parent != "" && prompt != "" {
			name := "task"
			if b.Edited {
				name = "task, edited by " + words.Person(b.EditedBy)
			}
			t.add(Part{Kind: "user", Name: name, Event: e.Seq, Text: prompt})
		}
	case *troupe.ContextLoaded:
		content := b.Content
		if content == "" {
			content = r.loaded[b.SHA256]
		}
		r.loaded[b.SHA256] = content
		t.load(Part{Kind: contextKind(b), Name: b.Source, Origin: b.Source, Event: e.Seq, Text: content})
	case *troupe.UserSaid:
		if b.CallID != "" { // the call's result tells what came of it
			break
		}
		text := b.Text
		for _, p := range b.Parts {
			text += fmt.Sprintf("\n[%s, %s]", p.Name, p.MIME)
		}
		t.add(Part{Kind: "user", Event: e.Seq, Text: text})
	case *troupe.ModelReplied:
		if b.Purpose == "" && b.Message != nil {
			t.add(Part{Kind: "assistant", Name: e.Agent, Event: e.Seq, Text: spoken(b.Message)})
		}
	case *troupe.ToolCalled:
		r.callsOf[e.Run+"/"+e.Step] = toolOrigin{originOf(b.Arguments)}
	case *troupe.ToolReturned:
		t.add(Part{Kind: "tool", Name: b.Tool, Origin: r.callsOf[e.Run+"/"+e.Step].origin, Event: e.Seq, Text: b.Content})
	case *troupe.ContextCompacted:
		t.compact(b)
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

func (t *talk) add(p Part) { t.parts = append(t.parts, p) }

// leads says whether a part is told before anybody speaks.
func (p *Part) leads() bool { return p.Kind == "instructions" || p.Kind == "context" }

// load puts what is told before the user speaks where it belongs: before what was said.
// What replaces an earlier part of that name takes its place, unless several have it.
func (t *talk) load(p Part) {
	lead := 0
	for lead < len(t.parts) && t.parts[lead].leads() {
		if old := &t.parts[lead]; old.Name == p.Name && (old.Text == p.Text || strings.ContainsAny(p.Name, "/.") || p.Kind == "instructions") {
			*old = p
			return
		}
		lead++
	}
	t.parts = slices.Insert(slices.Clone(t.parts), lead, p)
}

// compact drops the oldest of what was said, and puts the summary in its place.
func (t *talk) compact(b *troupe.ContextCompacted) {
	lead := slices.IndexFunc(t.parts, func(p Part) bool { return !p.leads() })
	if lead < 0 {
		return
	}
	rest := t.parts[min(len(t.parts), lead+b.Dropped):]
	t.parts = slices.Clone(t.parts[:lead])
	if b.Summary != "" {
		t.parts = append(t.parts, Part{Kind: "summary", Text: b.Summary})
	}
	t.parts = append(t.parts, rest...)
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

package explain

import (
	"fmt"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/compaction"
	"github.com/troupe-dev/troupe/internal/words"
)

// A talk is a conversation as its model gets it. It takes events into account as the engine's own
// history does, which makes the requests.
type talk struct {
	system   *message // what is told first, nil where nothing is
	systemOf string   // whose that is
	// messages begin with those that are pinned.
	messages []message
	// following is what is yet to come of what is told together.
	following int
	// calls are those of the latest reply, whose results go to the places from slots on.
	calls []troupe.ToolCall
	slots int
	// given is what the latest run was given beside its task.
	given troupe.Handoff
	// summing is what a model was sent to sum up the conversation, until it is known how much
	// of it that was.
	summing []Part
}

// A message is a part with what decides whether it stays.
type message struct {
	Part
	isPinned, isTask, calls bool
	isOpen                  bool   // it is the place of a result that is not there yet
	keep                    string // the name by which a result outlives compaction
	// said is what a summary is made of, nil where that is the part itself.
	said *compaction.Said
}

// noResult is what a model is told of a call whose outcome is not on record.
const noResult = `{"success":false,"class":"interrupted","error":"the call was interrupted and its outcome is unknown"}`

// sent returns all of it, in order.
func (t *talk) sent() []Part {
	parts := make([]Part, 0, len(t.messages)+1)
	if t.system != nil {
		parts = append(parts, t.system.Part)
	}
	for i := range t.messages {
		parts = append(parts, t.messages[i].Part) // the place of a result says that there is none
	}
	return parts
}

// toSumUp returns what a model is sent that is to sum up all that was said.
func (t *talk) toSumUp(e *troupe.Event) []Part {
	return []Part{
		{Kind: "instructions", Role: "system", Name: "how to sum up", Text: compaction.Instructions},
		{Kind: "transcript", Role: "user", Name: "what to sum up", Event: e.Seq, Text: transcript(t.loose())},
	}
}

// loose are the messages that may go.
func (t *talk) loose() (loose []message) {
	for _, m := range t.messages {
		if !m.isPinned {
			loose = append(loose, m)
		}
	}
	return loose
}

func transcript(messages []message) string {
	said := make([]compaction.Said, len(messages))
	for i, m := range messages {
		if said[i] = (compaction.Said{Role: m.Role, Tool: m.Name, Text: m.Text}); m.said != nil {
			said[i] = *m.said
		}
	}
	return compaction.Transcript(said)
}

func (t *talk) add(m message) {
	t.calls = nil // what is still open stays so
	t.messages = append(t.messages, m)
}

// inform begins with what was said in earlier runs of the session, as far as it was said.
func (t *talk) inform(root *talk, earlier int) {
	if root == nil {
		return
	}
	for _, m := range root.messages[:min(earlier, len(root.messages))] {
		if m.Text != "" && !m.isPinned && !m.calls && m.Role != "tool" {
			t.add(message{Part: m.Part, isTask: m.isTask, said: m.said})
		}
	}
}

// begin has a run be given its input. Nobody says that of a nested one: it is handed over.
func (t *talk) begin(e *troupe.Event, b *troupe.RunStarted) {
	t.given = b.Input
	if prompt := b.Input.Prompt(); e.Parent != "" && (prompt != "" || len(b.Input.Parts) > 0) {
		name := "task"
		if b.Edited {
			name = "task, edited by " + words.Person(b.EditedBy)
		}
		t.ask(Part{Name: name, Event: e.Seq, Text: prompt}, b.Input.Parts)
	}
}

// ask adds what is asked for.
func (t *talk) ask(p Part, attached []troupe.Part) {
	said := &compaction.Said{Role: "user", Text: p.Text}
	for _, a := range attached {
		p.Text += fmt.Sprintf("\n[%s, %s]", a.Name, a.MIME)
	}
	p.Kind, p.Role = "user", "user"
	t.add(message{Part: p, isTask: true, said: said})
}

// load adds what is told before the user speaks. Of several that belong together the first is
// the system prompt; what another agent was told is not for this one.
func (t *talk) load(e *troupe.Event, b *troupe.ContextLoaded, content string) {
	m := message{Part: Part{Kind: "context", Role: string(b.Role), Name: b.Source, Origin: b.Source, Event: e.Seq, Text: content}, isPinned: true}
	if b.Source == "instructions" {
		m.Kind = "instructions"
	}
	isFollowing := t.following > 0
	if isFollowing {
		t.following--
	} else {
		t.following = b.Following
	}
	if isFollowing || b.Role != troupe.RoleSystem {
		t.calls = nil
		lead := slices.IndexFunc(t.messages, func(m message) bool { return !m.isPinned })
		if lead < 0 {
			lead = len(t.messages)
		}
		t.messages = slices.Insert(slices.Clone(t.messages), lead, m)
		return
	}
	if t.systemOf != "" && t.systemOf != e.Agent {
		t.calls = nil
		t.messages = slices.DeleteFunc(slices.Clone(t.messages), func(m message) bool { return m.isPinned })
	}
	t.system, t.systemOf = &m, e.Agent
}

// reply adds a model's turn, with places for the results that it waits for. A call that was cut
// short is neither carried out nor sent back.
func (t *talk) reply(e *troupe.Event, b *troupe.ModelReplied) {
	said := message{Part: Part{Kind: "assistant", Role: "assistant", Name: e.Agent, Event: e.Seq, Text: spoken(b.Message)}}
	if len(b.Message.Calls) > 0 && (b.Finish == troupe.FinishLength || b.Finish == troupe.FinishFiltered) {
		if said.Text = b.Message.Text; said.Text != "" {
			t.add(said)
		}
		return
	}
	said.calls = len(b.Message.Calls) > 0
	said.said = &compaction.Said{Role: "assistant", Text: b.Message.Text}
	for _, call := range b.Message.Calls {
		said.said.Calls = append(said.said.Calls, [2]string{call.Name, call.Arguments})
	}
	t.add(said)
	t.calls, t.slots = b.Message.Calls, len(t.messages)
	for _, call := range b.Message.Calls {
		t.messages = append(t.messages, message{isOpen: true, Part: Part{Kind: "tool", Role: "tool", Name: call.Name, CallID: call.ID, Text: noResult}})
	}
}

// result puts what came of a call where the call's turn has a place for it: results are sent in
// the order of their calls, in whatever order they come.
func (t *talk) result(p Part, keep string) {
	for i := range t.calls {
		if m := &t.messages[t.slots+i]; t.calls[i].ID == p.CallID && m.isOpen {
			p.Kind, p.Role = "tool", "tool"
			*m = message{Part: p, keep: keep}
			return
		}
	}
}

// isWaiting says whether a call has no result yet.
func (t *talk) isWaiting() bool {
	return t.calls != nil && slices.ContainsFunc(t.messages[t.slots:t.slots+len(t.calls)], func(m message) bool { return m.isOpen })
}

// notice adds what the model is told and the user has not said.
func (t *talk) notice(e *troupe.Event, text string) {
	t.add(message{Part: Part{Kind: "user", Role: "user", Name: "notice", Event: e.Seq, Text: "[Notice] " + text}})
}

// answer adds what a run came to that is not itself a conversation with a model.
func (t *talk) answer(e *troupe.Event, text string) {
	t.calls = nil
	if n := len(t.messages); text != "" && (n == 0 || t.messages[n-1].Role != "assistant") {
		t.add(message{Part: Part{Kind: "assistant", Role: "assistant", Name: e.Agent, Event: e.Seq, Text: text}})
	}
}

// brokenOff adds what there was of an answer when its run ended.
func (t *talk) brokenOff(e *troupe.Event, text string) {
	if text != "" {
		t.add(message{Part: Part{Kind: "assistant", Role: "assistant", Name: e.Agent, Event: e.Seq, Text: text + "\n[broken off here]"}})
	}
}

// compact drops the oldest of what was said, and puts the summary in its place. What the user
// asked for first and last stays, and so do results that outlive it.
func (t *talk) compact(e *troupe.Event, b *troupe.ContextCompacted) {
	t.calls = nil
	var pinned []message
	for _, m := range t.messages {
		if m.isPinned {
			pinned = append(pinned, m)
		}
	}
	loose := t.loose()
	cut, standings := max(len(loose)-b.Kept, 0), make([]compaction.Standing, len(loose))
	for i, m := range loose {
		standings[i] = compaction.Standing{IsTask: m.isTask, Keep: m.keep}
	}
	if t.summing != nil {
		t.summing[1].Text, t.summing = transcript(loose[:cut]), nil
	}
	t.messages = pinned
	if b.Dropped > 0 {
		t.messages = append(t.messages, message{Part: Part{Kind: "summary", Role: "user", Event: e.Seq, Text: compaction.Summary(b.Dropped, b.Summary)}})
		for _, i := range compaction.Survivors(standings, cut) {
			m := loose[i]
			if m.Role == "tool" {
				m.Kind, m.Role, m.CallID, m.Text, m.said = "user", "user", "", compaction.InForce(m.Name, m.Text), nil
			}
			t.messages = append(t.messages, m)
		}
	}
	for i, m := range loose[cut:] {
		if b.ResultCap > 0 && m.Role == "tool" && len(m.Text) > b.ResultCap && !compaction.IsKept(standings, cut+i) {
			m.Text = compaction.Cut(m.Text, b.ResultCap)
		}
		t.messages = append(t.messages, m)
	}
}

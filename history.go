package troupe

import (
	"fmt"
	"slices"
	"strings"
)

// A history is the conversation as the model gets it: the fold of events. The
// loop adds to it what it records, and a session that is opened again adds the
// same from its log, so that both come to the same messages.
type history struct {
	// messages begins with the system message, nil where there is none.
	messages []*Message
	// system says what the system message is: its hash, and whose it is.
	systemSHA, systemOf string
	following           int // what is yet to come of a briefing
	// calls are those of the latest reply that wait for their results, which go to
	// the places kept for them from slots on.
	calls []ToolCall
	slots int
	// size is that of all messages but the first, in bytes.
	size int
	// perToken is how many bytes a token takes, learnt from what models report.
	perToken float64
	// given is what the latest run was given beside its task.
	given *Handoff

	room [8]*Message // for the first messages
}

// bytesPerToken is what to expect before a model has said otherwise.
const bytesPerToken = 4

func newHistory() *history {
	h := &history{perToken: bytesPerToken}
	h.messages = h.room[:1]
	return h
}

// request returns what to send: it stays as it is when the history grows.
func (h *history) request() []*Message {
	h.settle()
	list := slices.Clip(h.messages)
	if list[0] == nil {
		return list[1:]
	}
	return list
}

func (h *history) add(m *Message) {
	h.settle()
	h.messages = append(h.messages, m)
	h.size += m.size()
}

func (h *history) addUser(text string, parts []Part) {
	h.add(&Message{Role: RoleUser, Text: text, Parts: parts})
}

// addLoaded adds what the model is told before the user speaks. Of several that
// belong together the first is the system prompt.
func (h *history) addLoaded(loaded *ContextLoaded, by string) {
	m := &Message{Role: loaded.Role, Text: loaded.Content, Pinned: true}
	if h.following > 0 {
		h.following--
		h.pin(m)
		return
	}
	h.following = loaded.Following
	if m.Role == RoleSystem {
		h.setSystem(m, loaded.SHA256, by)
	} else {
		h.pin(m)
	}
}

// setSystem makes m the system prompt. What another agent was told before the user
// spoke is not for this one.
func (h *history) setSystem(m *Message, sha, by string) {
	if h.systemOf != "" && h.systemOf != by {
		h.settle()
		h.messages = slices.DeleteFunc(slices.Clone(h.messages), func(m *Message) bool {
			if m == nil || !m.Pinned || m == h.messages[0] {
				return false
			}
			h.size -= m.size()
			return true
		})
	}
	h.messages[0], h.systemSHA, h.systemOf = m, sha, by
}

// pin adds a message that stays where the conversation begins.
func (h *history) pin(m *Message) {
	// It goes before what was said, though the log has what the user said first:
	// that is on record before anything is loaded for it.
	h.settle()
	lead := 1
	for lead < len(h.messages) && h.messages[lead].Pinned {
		lead++
	}
	h.messages = slices.Concat(h.messages[:lead], []*Message{m}, h.messages[lead:]) // requests hold the old slice
	h.size += m.size()
}

// addReply adds a model's turn and keeps places for the results it waits for.
func (h *history) addReply(replied *ModelReplied) {
	if replied.Purpose != "" {
		return
	}
	m := replied.Message
	if replied.cutCalls() {
		// A call that was cut short is neither carried out nor sent back.
		if m.Text != "" {
			h.add(&Message{Role: RoleAssistant, Text: m.Text})
		}
		return
	}
	h.add(m)
	if len(m.Calls) > 0 {
		h.calls, h.slots = m.Calls, len(h.messages)
		h.messages = append(h.messages, make([]*Message, len(m.Calls))...)
	}
}

// cutCalls reports whether the reply ended in the middle of its tool calls.
func (m *ModelReplied) cutCalls() bool {
	return len(m.Message.Calls) > 0 && (m.Finish == FinishLength || m.Finish == FinishFiltered)
}

func (h *history) addResult(outcome *ToolReturned) {
	for i := range h.calls {
		if h.calls[i].ID == outcome.CallID && h.messages[h.slots+i] == nil {
			m := &Message{Role: RoleTool, Text: outcome.Content, CallID: outcome.CallID, Tool: outcome.Tool}
			h.messages[h.slots+i] = m
			h.size += m.size()
			return
		}
	}
}

// noResult stands for the outcome of a call that was never settled.
const noResult = `{"success":false,"class":"interrupted","error":"the call was interrupted and its outcome is unknown"}`

// settle gives every call that still waits a result: models take no conversation
// in which a call has none.
func (h *history) settle() {
	for i := range h.calls {
		if h.messages[h.slots+i] == nil {
			h.addResult(&ToolReturned{CallID: h.calls[i].ID, Tool: h.calls[i].Name, Content: noResult})
		}
	}
	h.calls = nil
}

// isWaiting reports whether a call has no result yet.
func (h *history) isWaiting() bool {
	return h.calls != nil && slices.Contains(h.messages[h.slots:h.slots+len(h.calls)], nil)
}

func (h *history) addNotice(w *Warned) {
	if w.Told {
		h.addUser("[Notice] "+w.Message, nil)
	}
}

// apply folds an event of a root run into the history.
func (h *history) apply(e *Event) {
	switch b := e.Body.(type) {
	case *ContextLoaded:
		h.addLoaded(b, e.Agent)
	case *RunStarted:
		h.given = &b.Input
	case *UserSaid:
		if b.CallID == "" { // else the call's result tells what came of it
			said := Handoff{}
			if h.given != nil {
				said = *h.given
			}
			said.Task = b.Text
			h.addUser(said.Prompt(), b.Parts)
		}
	case *ModelReplied:
		h.addReply(b)
		h.learn(b)
	case *ToolReturned:
		h.addResult(b)
	case *Warned:
		h.addNotice(b)
	case *ContextCompacted:
		h.compact(b)
	case *RunFinished:
		if b.Stop != StopInput || !h.isWaiting() {
			h.addAnswer(b.Output.Summary)
		}
	case *RunFailed:
		h.addPartial(b.Partial)
	case *RunCancelled:
		h.addPartial(b.Partial)
	}
}

// addAnswer adds the outcome of a run that is not itself a conversation with a
// model: of one that is, the answer is there already.
func (h *history) addAnswer(text string) {
	h.settle()
	if last := h.messages[len(h.messages)-1]; text != "" && (last == nil || last.Role != RoleAssistant) {
		h.add(&Message{Role: RoleAssistant, Text: text})
	}
}

func (h *history) addPartial(text string) {
	if text != "" {
		h.add(&Message{Role: RoleAssistant, Text: text + "\n[broken off here]"})
	}
}

// learn takes what a model reports of a request's size to estimate the next one.
func (h *history) learn(replied *ModelReplied) {
	estimated := replied.Context.Total()
	if replied.Usage.Input > 0 && estimated > 0 && replied.Purpose == "" {
		h.perToken = min(max(h.perToken*float64(estimated)/float64(replied.Usage.Input), 1.5), 8)
	}
}

func (h *history) tokens(bytes int) int { return int(float64(bytes)/h.perToken) + 1 }

// use estimates what a request takes, part by part.
func (h *history) use(kit *ToolSet, window int) ContextUse {
	use := ContextUse{History: h.tokens(h.size), Window: window}
	if h.messages[0] != nil {
		use.System = h.tokens(h.messages[0].size())
	}
	if kit.Len() > 0 {
		use.Tools = h.tokens(kit.size)
	}
	return use
}

// compact replaces older messages by their summary. Pinned ones stay.
func (h *history) compact(c *ContextCompacted) {
	h.settle()
	kept := []*Message{h.messages[0]}
	var loose []*Message
	for _, m := range h.messages[1:] {
		if m.Pinned {
			kept = append(kept, m)
		} else {
			loose = append(loose, m)
		}
	}
	if c.Dropped > 0 {
		kept = append(kept, &Message{Role: RoleUser, Text: summaryText(c)})
	}
	for _, m := range loose[max(len(loose)-c.Kept, 0):] {
		if c.ResultCap > 0 && m.Role == RoleTool && len(m.Text) > c.ResultCap {
			m = &Message{Role: RoleTool, CallID: m.CallID, Tool: m.Tool,
				Text: clip(m.Text, c.ResultCap) + fmt.Sprintf("\n[cut to make room: %d of %d bytes shown]", c.ResultCap, len(m.Text))}
		}
		kept = append(kept, m)
	}
	h.messages, h.size = kept, 0
	for _, m := range kept[1:] {
		h.size += m.size()
	}
}

func summaryText(c *ContextCompacted) string {
	if c.Summary == "" {
		return fmt.Sprintf("[%d earlier messages were dropped to make room.]", c.Dropped)
	}
	return fmt.Sprintf("[Summary of %d earlier messages]\n%s", c.Dropped, c.Summary)
}

// transcript writes messages as plain text for a model to sum up.
func transcript(messages []*Message) string {
	var b strings.Builder
	for _, m := range messages {
		switch {
		case m.Role == RoleTool:
			fmt.Fprintf(&b, "tool %s returned: %s\n\n", m.Tool, clip(m.Text, 4<<10))
		case m.Text != "":
			fmt.Fprintf(&b, "%s: %s\n\n", m.Role, m.Text)
		}
		for i := range m.Calls {
			fmt.Fprintf(&b, "%s calls %s %s\n\n", m.Role, m.Calls[i].Name, clip(m.Calls[i].Arguments, 2<<10))
		}
	}
	return b.String()
}

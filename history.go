package troupe

import (
	"cmp"
	"slices"

	"github.com/troupe-dev/troupe/internal/compaction"
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
	// stable is how many messages the latest request had: they are sent again.
	stable int

	room [8]*Message // for the first messages
}

// bytesPerToken is what to expect before a model has said otherwise.
const bytesPerToken = 4

func newHistory() *history {
	h := &history{perToken: bytesPerToken}
	h.messages = h.room[:1]
	return h
}

// request returns what to send, which stays as it is when the history grows, and
// how much of it was sent before.
func (h *history) request() (messages []*Message, stable int) {
	h.settle()
	messages, stable = slices.Clip(h.messages), h.stable
	if messages[0] == nil {
		messages = messages[1:]
	}
	h.stable = len(messages)
	return messages, min(stable, len(messages))
}

func (h *history) add(m *Message) {
	h.settle()
	h.messages = append(h.messages, m)
	h.size += m.size()
}

// addTask adds what is asked for.
func (h *history) addTask(text string, parts []Part) {
	h.add(&Message{Role: RoleUser, Text: text, Parts: parts, task: true})
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
			m := &Message{Role: RoleTool, Text: outcome.Content, CallID: outcome.CallID, Tool: outcome.Tool, Parts: outcome.Parts, keep: outcome.Keep}
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

// addNotice tells the model something that the user did not say.
func (h *history) addNotice(text string) { h.add(&Message{Role: RoleUser, Text: "[Notice] " + text}) }

// apply folds an event of the conversation's own runs into the history.
func (h *history) apply(e *Event) {
	switch b := e.Body.(type) {
	case *ContextLoaded:
		h.addLoaded(b, e.Agent)
	case *RunStarted:
		if h.given = &b.Input; e.Parent != "" {
			h.addTask(b.Input.Prompt(), b.Input.Parts) // nobody says it: it is handed over
		}
	case *UserSaid:
		if b.CallID == "" { // else the call's result tells what came of it
			said := Handoff{}
			if h.given != nil {
				said = *h.given
			}
			said.Task = b.Text
			h.addTask(said.Prompt(), b.Parts)
		}
	case *ModelReplied:
		h.addReply(b)
		h.learn(b)
	case *ToolReturned:
		h.addResult(b)
	case *Warned:
		if b.Told {
			h.addNotice(cmp.Or(b.Notice, b.Message))
		}
	case *LimitReached:
		h.addNotice(cmp.Or(b.Notice, b.Message))
	case *ContextCompacted:
		h.compact(b)
	case *RunFinished:
		if b.Stop != stopInput || !h.isWaiting() {
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

// compact replaces older messages by their summary. Pinned ones stay, and so do the
// task and the results that outlive compaction.
func (h *history) compact(c *ContextCompacted) {
	h.settle()
	messages := []*Message{h.messages[0]}
	var loose []*Message
	for _, m := range h.messages[1:] {
		if m.Pinned {
			messages = append(messages, m)
		} else {
			loose = append(loose, m)
		}
	}
	cut, standings := max(len(loose)-c.Kept, 0), make([]compaction.Standing, len(loose))
	for i, m := range loose {
		standings[i] = compaction.Standing{IsTask: m.task, Keep: m.keep}
	}
	if c.Dropped > 0 {
		messages = append(messages, &Message{Role: RoleUser, Text: compaction.Summary(c.Dropped, c.Summary)})
		for _, i := range compaction.Survivors(standings, cut) {
			m := loose[i]
			if m.Role == RoleTool {
				m = &Message{Role: RoleUser, Parts: m.Parts, keep: m.keep, Text: compaction.InForce(m.Tool, m.Text)}
			}
			messages = append(messages, m)
		}
	}
	for i, m := range loose[cut:] {
		if c.ResultCap > 0 && m.Role == RoleTool && len(m.Text) > c.ResultCap && !compaction.IsKept(standings, cut+i) {
			m = &Message{Role: RoleTool, CallID: m.CallID, Tool: m.Tool, Text: compaction.Cut(m.Text, c.ResultCap)}
		}
		messages = append(messages, m)
	}
	h.messages, h.size, h.stable = messages, 0, 0
	for _, m := range messages[1:] {
		h.size += m.size()
	}
}

// transcript writes messages as plain text for a model to sum up.
func transcript(messages []*Message) string {
	said := make([]compaction.Said, len(messages))
	for i, m := range messages {
		said[i] = compaction.Said{Role: string(m.Role), Tool: m.Tool, Text: m.Text}
		for j := range m.Calls {
			said[i].Calls = append(said[i].Calls, [2]string{m.Calls[j].Name, m.Calls[j].Arguments})
		}
	}
	return compaction.Transcript(said)
}

// clone returns a copy that grows on its own.
func (h *history) clone() *history {
	c := *h
	c.messages = slices.Clip(h.messages)
	return &c
}

// conversations are those of a session: the one with the user, and those that
// nested steps go on with: see [Run.Converse].
type conversations struct {
	root  *history
	named map[string]*history
	// of says which conversation a nested run belongs to.
	of map[string]string
	// earlier is how many messages the root had when the latest run began.
	earlier int
}

func newConversations() *conversations { return &conversations{root: newHistory(), earlier: 1} }

func (c *conversations) clone() *conversations {
	next := &conversations{root: c.root.clone(), earlier: len(c.root.messages)}
	for name, h := range c.named {
		next.put(name, h.clone())
	}
	return next
}

// size is that of all messages, in bytes.
func (c *conversations) size() int {
	size := c.root.size
	for _, h := range c.named {
		size += h.size
	}
	return size
}

func (c *conversations) put(name string, h *history) {
	if c.named == nil {
		c.named = map[string]*history{}
	}
	c.named[name] = h
}

// begin has what was said so far be what nested steps know of earlier runs.
func (c *conversations) begin() { c.earlier = len(c.root.messages) }

// apply folds an event into the conversation it belongs to.
func (c *conversations) apply(e *Event) {
	started, isStart := e.Body.(*RunStarted)
	if e.Parent == "" {
		if isStart {
			c.begin()
		}
		c.root.apply(e)
		return
	}
	if isStart && started.Conversation != "" {
		if c.of == nil {
			c.of = map[string]string{}
		}
		c.of[e.Run] = started.Conversation
		c.conversation(started.Conversation, started.Depth == 1)
	}
	if name := c.of[e.Run]; name != "" {
		c.named[name].apply(e)
	}
}

// conversation returns the named one, which begins with what the user and the flow
// have said where the flow is the one that the user talks to.
func (c *conversations) conversation(name string, informed bool) *history {
	h := c.named[name]
	if h == nil {
		h = c.fresh(informed)
		c.put(name, h)
	}
	return h
}

// fresh returns a new conversation, which begins with what was said in earlier runs
// of the session if it is informed.
func (c *conversations) fresh(informed bool) *history {
	h := newHistory()
	if !informed {
		return h
	}
	for _, m := range c.root.messages[1:min(c.earlier, len(c.root.messages))] {
		if m != nil && m.Text != "" && (m.Role == RoleUser || m.Role == RoleAssistant && len(m.Calls) == 0) && !m.Pinned {
			h.add(&Message{Role: m.Role, Text: m.Text, Parts: m.Parts, task: m.task})
		}
	}
	return h
}

// settle gives every call that still waits a result.
func (c *conversations) settle() {
	c.root.settle()
	for _, h := range c.named {
		h.settle()
	}
}

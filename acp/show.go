package acp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/converse"
)

// A show tells the editor what happens, event by event.
type show struct {
	session *session
	send    func(acp.SessionUpdate)
	// said is what was shown of the reply that is being made, by run; said last is the
	// latest whole answer.
	said    map[string]string
	attempt map[string]int
	last    string
	goesOn  bool                      // the answer reached the output limit, and its rest follows
	open    map[acp.ToolCallId]bool   // tool calls that have not returned
	calls   map[string]acp.ToolCallId // by the model's id of the call
	replays bool
}

func newShow(ctx context.Context, s *session) *show {
	return &show{
		session: s, send: func(u acp.SessionUpdate) { s.update(ctx, u) }, said: map[string]string{}, attempt: map[string]int{},
		open: map[acp.ToolCallId]bool{}, calls: map[string]acp.ToolCallId{},
	}
}

// replay shows the conversation so far.
func (s *session) replay(ctx context.Context) error {
	shown := newShow(ctx, s)
	shown.replays = true
	for e, err := range s.conversation.Past(ctx) {
		if err != nil {
			return err
		}
		shown.note(&e)
	}
	return nil
}

// note shows an event.
func (s *show) note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.UserSaid:
		if s.replays && !b.Hidden && e.Parent == "" {
			s.send(acp.UpdateUserMessageText(b.Text))
		}
	case *troupe.TextDelta:
		s.grow(e, b.Text, b.Attempt)
	case *troupe.ThoughtDelta:
		if b.Attempt < 0 && s.said[e.Run] != "" && s.attempt[e.Run] != b.Attempt {
			return // it was shown as text
		}
		s.send(acp.UpdateAgentThoughtText(b.Text))
	case *troupe.ModelReplied:
		s.reply(e, b)
	case *troupe.ToolCalled:
		s.call(e, b)
	case *troupe.ToolReturned:
		s.returned(e, b)
	case *troupe.HandedOff, *troupe.Warned, *troupe.LimitReached, *troupe.ModelFailed:
		if words := converse.Step(e); words != "" {
			s.send(acp.UpdateAgentThoughtText("\n" + words + "\n"))
		}
	case *troupe.RunFinished:
		s.finish(e, b)
	}
	if s.session.plan.note(e) {
		s.send(acp.UpdatePlan(s.session.plan.entries...))
	}
}

// text shows a piece of an answer: of the one that the person talks with as an answer, of
// those that it employs as a thought.
func (s *show) text(e *troupe.Event, text string) {
	if e.Parent == "" {
		s.send(acp.UpdateAgentMessageText(text))
	} else {
		s.send(acp.UpdateAgentThoughtText(text))
	}
}

func (s *show) grow(e *troupe.Event, text string, attempt int) {
	if s.said[e.Run] != "" && s.attempt[e.Run] != attempt {
		s.text(e, anew(attempt))
		s.said[e.Run] = ""
	}
	s.attempt[e.Run] = attempt
	s.said[e.Run] += text
	s.text(e, text)
}

// anew says what becomes of an answer that was shown: an editor cannot be told to drop it.
func anew(attempt int) string {
	if attempt < 0 { // it has turned out to be a thought
		return "\n\n(So far the model was thinking. Its answer follows.)\n\n"
	}
	return "\n\n(The answer broke off and begins again.)\n\n"
}

// reply shows what has not been shown of an answer that is whole.
func (s *show) reply(e *troupe.Event, b *troupe.ModelReplied) {
	if b.Purpose != "" || b.Message == nil {
		return
	}
	text := b.Message.Text
	if text == "" {
		text = b.Message.Refusal
	}
	if s.said[e.Run] == "" && text != "" {
		s.text(e, text)
	}
	if len(b.Message.Calls) > 0 && text != "" {
		s.text(e, "\n\n")
	}
	s.said[e.Run] = ""
	if e.Parent == "" {
		if s.goesOn {
			text = s.last + text
		}
		s.last, s.goesOn = text, b.Finish == troupe.FinishLength && len(b.Message.Calls) == 0
	}
}

// finish shows what a run came to, where that is not what was said last: the result of a
// flow, or a question.
func (s *show) finish(e *troupe.Event, b *troupe.RunFinished) {
	if e.Parent != "" || b.Output.Summary == "" || b.Output.Summary == s.last {
		return
	}
	if question := s.session.conversation.Question; b.Stop == "input_requested" && question != nil && question.Approval {
		return // it is asked as a request for permission
	}
	s.last = b.Output.Summary
	s.send(acp.UpdateAgentMessageText(b.Output.Summary))
}

// breakOff marks calls that will not return any more.
func (s *show) breakOff() {
	for id := range s.open {
		s.send(acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusFailed)))
	}
}

func (s *show) callID(model string) acp.ToolCallId { return s.calls[model] }

// call shows that a tool is being called. A call that is made again once it is permitted
// is the same call.
func (s *show) call(e *troupe.Event, b *troupe.ToolCalled) {
	id := acp.ToolCallId(e.Run + "/" + e.Step)
	s.calls[b.CallID] = id
	if s.open[id] {
		s.send(acp.UpdateToolCall(id, acp.WithUpdateStatus(acp.ToolCallStatusInProgress)))
		return
	}
	s.open[id] = true
	d := s.describe(b.Tool, b.Arguments)
	s.send(acp.StartToolCall(id, *d.Title, acp.WithStartKind(*d.Kind), acp.WithStartStatus(acp.ToolCallStatusInProgress),
		acp.WithStartRawInput(d.RawInput), acp.WithStartContent(d.Content), func(c *acp.SessionUpdateToolCall) { c.Locations = d.Locations }))
}

func (s *show) returned(e *troupe.Event, b *troupe.ToolReturned) {
	if b.Asks != "" {
		return // it goes on with the answer
	}
	id := acp.ToolCallId(e.Run + "/" + e.Step)
	delete(s.open, id)
	status := acp.ToolCallStatusCompleted
	if b.Class != "" {
		status = acp.ToolCallStatusFailed
	}
	options := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(status)}
	// The content of an edit stays the difference.
	if kind := kindOf(b.Tool); b.Content != "" && (kind != acp.ToolKindEdit || b.Class != "") {
		options = append(options, acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(shortened(b.Content)))}))
	}
	s.send(acp.UpdateToolCall(id, options...))
}

// maxContent is how much of a tool's result the editor is shown, in bytes.
const maxContent = 16 << 10

func shortened(text string) string {
	if len(text) <= maxContent {
		return text
	}
	return strings.ToValidUTF8(text[:maxContent], "") + "\n…"
}

// describe says what a call is about: for files, where they are and how they change.
func (s *show) describe(tool string, arguments troupe.Arguments) acp.ToolCallUpdate {
	var given map[string]any
	_ = json.Unmarshal([]byte(arguments), &given) // a model's arguments may be anything
	d := acp.ToolCallUpdate{Title: acp.Ptr(converse.CallTitle(tool, json.RawMessage(arguments))), Kind: acp.Ptr(kindOf(tool)), RawInput: given}
	name, _ := given["file_path"].(string)
	if name == "" {
		name, _ = given["path"].(string)
	}
	path := s.hostPath(name)
	if path == "" {
		return d
	}
	d.Locations = []acp.ToolCallLocation{{Path: path}}
	if shown, err := filepath.Rel(s.session.project.Dir(), path); err == nil && filepath.IsLocal(shown) {
		d.Title = acp.Ptr(strings.Replace(*d.Title, name, shown, 1)) // a place that a person can open
	}
	if content, ok := given["content"].(string); ok && *d.Kind == acp.ToolKindEdit {
		if old, err := os.ReadFile(path); err == nil && !s.replays {
			d.Content = []acp.ToolCallContent{acp.ToolDiffContent(path, content, string(old))}
		} else {
			d.Content = []acp.ToolCallContent{acp.ToolDiffContent(path, content)}
		}
	}
	return d
}

// hostPath is where a file is that an agent names, empty where nobody can say.
func (s *show) hostPath(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return ""
	}
	if path := s.session.conversation.HostPath(name); path != "" {
		return path
	}
	if strings.HasPrefix(name, "{") {
		return ""
	}
	return filepath.Join(s.session.project.Dir(), filepath.FromSlash(name))
}

// kindOf says what kind of work a tool does.
func kindOf(tool string) acp.ToolKind {
	switch tool {
	case "read_file", "list_files", "use_skill", "execute_workflow":
		return acp.ToolKindRead
	case "search_files", "search_skills", "search_knowledge":
		return acp.ToolKindSearch
	case "write_file", "edit_file", "save_output", "make_directory":
		return acp.ToolKindEdit
	case "run_command":
		return acp.ToolKindExecute
	case "web_fetch", "web_search", "wikipedia":
		return acp.ToolKindFetch
	}
	return acp.ToolKindOther
}

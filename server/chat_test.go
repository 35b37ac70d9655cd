package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// chat sends a message and returns the conversation and what the stream says of it.
func (w *world) chat(in chatMessage) (session string, lines []string) {
	w.t.Helper()
	f := w.stream("POST", "/api/chat", in)
	defer f.leave()
	first := f.next()
	session, ok := strings.CutPrefix(first, `{"type":"conversationId","conversationId":"`)
	if !ok {
		w.t.Fatalf("the stream begins with %s", first)
	}
	for {
		line := f.next()
		if lines = append(lines, line); line == "[DONE]" {
			return strings.TrimSuffix(session, `"}`), lines
		}
	}
}

func TestAChatIsStreamedInTheShapesOfTheOriginal(t *testing.T) {
	read := troupe.NewTool("read_file", "Reads.", func(context.Context, struct{}) (string, error) { return "x", nil })
	add := troupe.NewTool("add", "Adds.", func(context.Context, struct{}) (string, error) { return "5", nil })
	script := troupetest.NewScript(t,
		troupetest.Say("Let me see.").Calls(troupe.ToolCall{Name: "read_file", Arguments: "{}"}, troupe.ToolCall{Name: "add", Arguments: "{}"}),
		troupetest.Say("It is 5."),
		troupetest.Say("Five.").Expect(func(tb testing.TB, req *troupe.Request) {
			if len(req.Messages) < 6 || len(req.Messages[len(req.Messages)-1].Parts) != 1 {
				tb.Errorf("the model is told %v", req.Messages)
			}
		}))
	w := open(t, clerk(t, script, read, add))
	session, lines := w.chat(chatMessage{AgentID: "clerk", Message: "2+3?"})
	want := []string{
		`{"type":"token","content":"Let me see."}`,
		`{"type":"status","message":"Loading resources..."}`, `{"type":"status","message":"Using add..."}`,
		`{"type":"token","content":"\n\nIt is 5."}`, `[DONE]`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	w.write(session, "sum.md", "5")
	again, lines := w.chat(chatMessage{AgentID: "clerk", Message: "In words?", ConversationID: session, Attachments: []chatAttachment{{"sum.md", "sum.md"}}})
	if again != session || len(lines) != 2 {
		t.Errorf("the conversation went on in %s: %v", again, lines)
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/chat", chatMessage{AgentID: "clerk", Message: "x", ConversationID: session, Attachments: []chatAttachment{{"none.md", ""}}})
	w.want(http.StatusNotFound, nil, "POST", "/api/chat", chatMessage{AgentID: "nobody", Message: "x"})
	w.want(http.StatusBadRequest, nil, "POST", "/api/chat", chatMessage{AgentID: "clerk", Message: ""})
}

func TestAFailedChatSaysSo(t *testing.T) {
	w := open(t, clerk(t, modelFunc(func(context.Context, *troupe.Request, func(string)) error { return errors.New("out of order") })))
	_, lines := w.chat(chatMessage{AgentID: "clerk", Message: "hello"})
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"type":"error","message":`) || !strings.Contains(lines[0], "out of order") {
		t.Errorf("it says %v", lines)
	}
}

func TestAFlowSaysItsOutcomeOnce(t *testing.T) {
	w := open(t, clerk(t, echo()))
	_, lines := w.chat(chatMessage{AgentID: "round", Message: "hello"})
	want := []string{`{"type":"status","message":"clerk is working..."}`, `{"type":"token","content":"You said: hello"}`, "[DONE]"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestAChatGoesOnWhenItsReaderLeaves(t *testing.T) {
	words := make(chan string)
	w := open(t, clerk(t, gated(words)))
	f := w.stream("POST", "/api/chat", chatMessage{AgentID: "clerk", Message: "hello"})
	session := strings.TrimSuffix(strings.TrimPrefix(f.next(), `{"type":"conversationId","conversationId":"`), `"}`)
	f.leave()
	words <- "yes"
	w.follow(session, 0).until(isKind("run_finished"))
}

// What the model said before it was asked again cannot be taken back, and is not
// run into what it says then.
func TestASpeechKeepsTurnsAndAttemptsApart(t *testing.T) {
	delta := func(step string, attempt int, text string) *troupe.Event {
		return &troupe.Event{Step: step, Body: &troupe.TextDelta{Text: text, Attempt: attempt}}
	}
	nested := delta("1/1", 1, "psst")
	nested.Parent = "p"
	end := &troupe.Event{Body: &troupe.RunFinished{Output: troupe.Handoff{Summary: "And this?"}}}
	var s speech
	for _, e := range []*troupe.Event{delta("1", 1, "He"), delta("1", 2, "Hel"), delta("1", 2, "lo"), nested, delta("2", 1, "Bye"), end, end} {
		s.note(e)
	}
	if got := s.said.String(); got != "He\n\nHello\n\nBye\n\nAnd this?" {
		t.Errorf("said %q", got)
	}
}

package rehearsal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

func conversation(messages ...*troupe.Message) *troupe.Request {
	return &troupe.Request{Messages: append([]*troupe.Message{{Role: troupe.RoleSystem, Text: prompt}}, messages...)}
}

func user(text string) *troupe.Message { return &troupe.Message{Role: troupe.RoleUser, Text: text} }

func returned(tool, text string) *troupe.Message {
	return &troupe.Message{Role: troupe.RoleTool, Tool: tool, Text: text}
}

func TestAConversationThatAnotherModelBeganGoesOn(t *testing.T) {
	loaded := encode(workflow("intake", `<step n="1"><ask>First?</ask><ask>Second?</ask></step>`, "", nil))
	text, calls := (&model{}).reply(conversation(
		user("*intake"),
		&troupe.Message{Role: troupe.RoleAssistant, Text: "Let me look around first."},
		returned("list_files", "[]"), returned("execute_workflow", loaded),
		&troupe.Message{Role: troupe.RoleAssistant, Text: "What comes first?"},
		user("one"),
		returned("list_files", "[]"),
	))
	mustContain(t, text, "Noted: one", "Second?")
	mustLack(t, text, "[rehearsal]")
	if len(calls) != 0 {
		t.Errorf("it calls %v", calls)
	}
}

func TestAResultThatIsNotJSONStopsTheWorkflow(t *testing.T) {
	text, _ := (&model{}).reply(conversation(user("*intake"), returned("execute_workflow", `{"success":true,"instruc`)))
	mustContain(t, text, "could not be loaded: its result is not a JSON object.")
}

func TestTheConfigurationOfAWorkflowIsKnownByName(t *testing.T) {
	loaded := workflow("intake", `<output>{{depth}} {{count}} {{is_fast}}</output><step n="1" if="is_fast == true" goal="Fast"/>`, "", map[string]any{
		"variables": map[string]any{"depth": "deep"}, "count": 3, "is_fast": true, "list": []int{1},
	})
	loaded["unresolved"] = []string{"story_dir"}
	text, _ := (&model{}).reply(conversation(user("*intake"), returned("execute_workflow", encode(loaded))))
	mustContain(t, text, "deep 3 true", "Step 1: Fast", `stand-ins: ["story_dir"]`)
}

func TestReplayingAddsNothingToAReply(t *testing.T) {
	messages := []*troupe.Message{user("*help")}
	first, _ := (&model{}).reply(conversation(messages...))
	for range 20 {
		messages = append(messages, &troupe.Message{Role: troupe.RoleAssistant, Text: "x"}, user("*help"))
	}
	if last, _ := (&model{}).reply(conversation(messages...)); !strings.HasSuffix(first, last) {
		t.Errorf("%q is not how %q ends", last, first)
	}
}

func TestNamesMadeOfTextsAreShort(t *testing.T) {
	for text, want := range map[string]string{
		"What's the *name*?":       "what-s-the-name",
		"Ärger & Söhne":            "ärger-söhne",
		"...":                      "",
		strings.Repeat("ä", 100):   strings.Repeat("ä", 24),
		strings.Repeat("abc ", 50): strings.TrimSuffix(strings.Repeat("abc-", 12), "-"),
	} {
		if got := slug(text, "-"); got != want || len(got) > maxSlug {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := brief(strings.Repeat("ä", 100)); !utf8.ValidString(got) || len(got) > maxBrief+len("…") {
		t.Errorf("%q", got)
	}
}

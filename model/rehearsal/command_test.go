package rehearsal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestTheFirstLineSaysThatItIsARehearsal(t *testing.T) {
	d := open(t, prompt)
	if first := d.say("hello"); !strings.HasPrefix(first, "[rehearsal] No model is asked") {
		t.Errorf("it begins with %q", first)
	}
	mustLack(t, d.say("hello"), "[rehearsal]")
}

func TestTextComesInPieces(t *testing.T) {
	req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: prompt}, {Role: troupe.RoleUser, Text: "*help"}}}
	pieces, whole := 0, ""
	var end *troupe.End
	for chunk, err := range New().Generate(t.Context(), req) {
		if err != nil || end != nil {
			t.Fatalf("%+v, %v after the end", chunk, err)
		}
		pieces++
		whole += chunk.Text
		end = chunk.End
	}
	if pieces < 20 || !strings.HasSuffix(whole, "exit persona") {
		t.Errorf("%d pieces of %q", pieces, whole)
	}
	usage := troupe.Usage{Input: tokens(len(prompt) + len("*help")), Output: tokens(len(whole))}
	if end == nil || end.Finish != troupe.FinishStop || end.Model != Name || end.Usage != usage {
		t.Errorf("it ends with %+v", end)
	}
}

func TestGenerateStopsWhenItsContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	var last error
	for _, err := range New().Generate(ctx, &troupe.Request{}) {
		pieces++
		last = err
		cancel()
	}
	if pieces != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d pieces, then %v", pieces, last)
	}
	for range New().Generate(t.Context(), &troupe.Request{}) {
		break
	}
}

func TestCommandsAreUnderstood(t *testing.T) {
	const list = "1. *help - Show numbered cmd list\n2. *intake - Gather requirements\n3. *review-notes - Read the notes\n4. *exit - Goodbye+exit persona"
	notes := &stage{files: map[string]string{"{bundle-root}/tasks/notes.md": "# Notes\n"}}
	for said, want := range map[string]string{
		"Hello!":               "Hello! I am Alex.\n" + list,
		"*help":                list,
		"help":                 list,
		"1":                    list,
		"*exit":                "Goodbye",
		"4":                    "Goodbye",
		"*review-notes":        "Read {bundle-root}/tasks/notes.md (8 bytes)",
		"3":                    "Read {bundle-root}/tasks/notes.md",
		"REVIEW-NOTES":         "Read {bundle-root}/tasks/notes.md",
		"review notes":         "Read {bundle-root}/tasks/notes.md",
		"read the notes":       "Read {bundle-root}/tasks/notes.md",
		"*dance":               "Not recognized: \"*dance\". These are my commands:\n" + list,
		"sing me a song":       "Not recognized",
		"9":                    "Not recognized",
		"*intake for a bakery": "could not be loaded: no such workflow",
	} {
		mustContain(t, open(t, prompt, notes.tools()...).say(said), want)
	}
}

func TestPromptsAreReadLeniently(t *testing.T) {
	p := readPart(strings.Join([]string{
		"You are Mary, Business Analyst.",
		"Greeting: Welcome, {user_name}!",
		"* a bullet is no command, nor is *this* one",
		"1. `*brief` - [PB] Write a brief (workflows/brief/workflow.yaml)",
		"- **`*plan` (MP)**: Make PRD.md",
		"\tdata: \"data/plan.csv\"",
		"*brief - again",
		"*chat",
		"",
		"  Workflow: not/of/chat.yaml",
		"user_name: \"Bo\" # who it is",
		"*edit - Edit",
		"  Do: Change the file PRD.md",
	}, "\n"))
	want := []command{
		{name: "brief", about: "[PB] Write a brief (workflows/brief/workflow.yaml)", target: "workflows/brief/workflow.yaml"},
		{name: "plan", code: "MP", about: "Make PRD.md", target: "data/plan.csv"},
		{name: "chat"},
		{name: "edit", about: "Edit"},
	}
	if len(p.commands) != len(want) {
		t.Fatalf("commands: %+v", p.commands)
	}
	for i := range want {
		if p.commands[i] != want[i] {
			t.Errorf("command %d: %+v, want %+v", i, p.commands[i], want[i])
		}
	}
	for code, name := range map[string]string{"pb": "brief", "MP": "plan"} {
		if c := p.wanted(code); len(c) != 1 || c[0].name != name {
			t.Errorf("%s means %+v", code, c)
		}
	}
	if p.name != "Mary" || p.greeting != "Welcome, {user_name}!" || p.values["user_name"] != "Bo" {
		t.Errorf("name %q, greeting %q, values %v", p.name, p.greeting, p.values)
	}
}

func TestTheGreetingOfTheAgentIsUsed(t *testing.T) {
	mustContain(t, open(t, prompt+"GREETING, for the beginning of a conversation:\nWelcome back, {user_name}!\nHow are you?\n\nuser_name: Robin\n").say("hi"), "Welcome back, Robin!\nHow are you?\n1. *help")
}

func TestSeveralMatchesAreAskedAbout(t *testing.T) {
	reply := open(t, "*plan-a - One\n*plan-b - Two\n").say("plan")
	mustContain(t, reply, `"plan" can mean several of my commands`, "2. *plan-b - Two")
}

func TestACommandWithoutAFileIsExplained(t *testing.T) {
	mustContain(t, open(t, prompt+"*party - Bring everyone\n").say("*party"), "*party has no file behind it", "Bring everyone")
}

func TestMessagesOfTheEngineAreNotTakenForTheUsers(t *testing.T) {
	req := &troupe.Request{Messages: []*troupe.Message{
		{Role: troupe.RoleSystem, Text: prompt},
		{Role: troupe.RoleUser, Text: "[Critical Action] Loaded file: config.yaml\n\nuser_name: Robin\n", Pinned: true},
		{Role: troupe.RoleUser, Text: "*exit"},
		{Role: troupe.RoleUser, Text: "[Notice] No more tools can be called."},
	}}
	text, _ := (&model{}).reply(req)
	mustContain(t, text, "Goodbye")
	if s := newScene(req, &memory{}); s.part.values["user_name"] != "Robin" {
		t.Errorf("the configuration says %v", s.part.values)
	}
}

func TestAFileThatCannotBeReadIsReported(t *testing.T) {
	d := open(t, prompt, (&stage{}).tools()...)
	mustContain(t, d.say("*review-notes"), "{bundle-root}/tasks/notes.md could not be read: no such file.")
	mustContain(t, d.say("*exit"), "Goodbye")
}

// A command that validates goes through the checklist, and does not run the workflow.
func TestValidatingGoesThroughTheChecklist(t *testing.T) {
	s := &stage{files: map[string]string{"{bundle-root}/checklist.md": "# Check\n- [ ] One\n- [ ] Two\n"}, workflows: map[string]map[string]any{}}
	s.workflows[intakePath] = workflow("intake", `<step n="1"><ask>Run?</ask></step>`, "", map[string]any{"validation": "{bundle-root}/checklist.md"})
	d := open(t, "You are X.\n*check - Check it\n  Validate with the checklist of the workflow: "+intakePath+"\n", s.tools()...)
	all := strings.Join(d.spoken("*check"), "\n")
	mustContain(t, all, "intake is complete (steps: 2, questions: 0)", "validation-report-intake.md")
	mustLack(t, all, "Run?")
}

// An agent that is asked to open the conversation greets and shows its commands.
func TestTheOpeningIsAGreeting(t *testing.T) {
	d := open(t, "You are Mary, Analyst.\nGreeting: Welcome!\n*brief - Write a brief\n")
	mustContain(t, strings.Join(d.spoken("[Opening] The user has opened the conversation."), "\n"), "Welcome!", "1. *brief - Write a brief")
}

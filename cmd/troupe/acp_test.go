package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// An acpPlan is what the TypeScript client is to do: see tools/npm/clients/acp.mjs.
type acpPlan struct {
	Agent  arguments `json:"agent"`
	Permit []string  `json:"permit"`
	Steps  []acpStep `json:"steps"`
}

type acpStep struct {
	Do       string    `json:"do"`
	With     arguments `json:"with"`
	CancelOn string    `json:"cancelOn,omitempty"`
	Until    string    `json:"until,omitempty"`
}

// What the client has seen: updates of what came before the first step, and of each step.
type acpSeen struct {
	Results []struct {
		Error, SessionID, StopReason string
		Modes                        struct {
			CurrentModeID  string
			AvailableModes []struct{ ID, Name string }
		}
		Sessions []struct{ SessionID, Title, Cwd string }
	}
	Updates     [][]acpUpdate
	Permissions []struct {
		ToolCall acpUpdate
		Options  []struct{ Kind, Name string }
	}
	Exit int
}

type acpUpdate struct {
	SessionUpdate, ToolCallID, Title, Kind, Status string
	Content                                        json.RawMessage
	Locations                                      []struct{ Path string }
	AvailableCommands                              []struct{ Name, Description string }
	Entries                                        []struct{ Content, Status string }
}

// text joins what updates of a kind say.
func (s *acpSeen) text(step int, kind string) string {
	var b strings.Builder
	for _, u := range s.Updates[step+1] {
		var content struct{ Text string }
		if u.SessionUpdate == kind && json.Unmarshal(u.Content, &content) == nil {
			b.WriteString(content.Text)
		}
	}
	return b.String()
}

// of returns the updates of a kind.
func (s *acpSeen) of(step int, kind string) (found []acpUpdate) {
	for _, u := range s.Updates[step+1] {
		if u.SessionUpdate == kind {
			found = append(found, u)
		}
	}
	return found
}

func useACP(t *testing.T, plan acpPlan) (seen acpSeen) {
	t.Helper()
	program, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	if plan.Permit == nil {
		plan.Permit = []string{}
	}
	plan.Agent = arguments{"command": program, "args": []string{"acp"}, "cwd": t.TempDir(), "env": map[string]string{"CANARY": "k", "GORACE": hurry}}
	runClient(t, "acp.mjs", plan, &seen)
	if seen.Exit != 0 {
		t.Errorf("exit code %d", seen.Exit)
	}
	return seen
}

func newSession(dir string) acpStep {
	return acpStep{Do: "session/new", With: arguments{"cwd": dir, "mcpServers": []any{}}, Until: "available_commands_update"}
}

func prompt(blocks ...arguments) acpStep {
	return acpStep{Do: "session/prompt", With: arguments{"sessionId": "$session", "prompt": blocks}}
}

func textBlock(text string) arguments { return arguments{"type": "text", "text": text} }

// An editor opens the project of its directory: commands are slash commands, a workflow's
// steps are the plan, and another agent can be chosen. The session is there when the
// editor is started again.
func TestAnEditorTalksWithABMADAgent(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	seen := useACP(t, acpPlan{Steps: []acpStep{
		newSession(dir), prompt(textBlock("/decide")), prompt(textBlock("Otters or seals?")),
		{Do: "session/set_mode", With: arguments{"sessionId": "$session", "modeId": "bruno"}}, prompt(textBlock("/challenge")),
		{Do: "session/list", With: arguments{"cwd": dir}},
	}})
	if m := seen.Results[0].Modes; m.CurrentModeID != "mira" || len(m.AvailableModes) != 2 {
		t.Errorf("modes: %+v", m)
	}
	if c := seen.of(0, "available_commands_update"); len(c) != 1 || len(c[0].AvailableCommands) != 4 || c[0].AvailableCommands[1].Name != "decide" {
		t.Errorf("commands: %+v", c)
	}
	if calls := seen.of(1, "tool_call"); len(calls) != 1 || !strings.HasPrefix(calls[0].Title, "execute_workflow") {
		t.Errorf("calls: %+v", calls)
	}
	if plans := seen.of(1, "plan"); len(plans) == 0 || len(plans[0].Entries) != 5 || plans[0].Entries[0].Status != "in_progress" {
		t.Errorf("plan: %+v", plans)
	}
	if plans := seen.of(2, "plan"); len(plans) == 0 || plans[0].Entries[0].Status != "completed" || plans[0].Entries[1].Status != "in_progress" {
		t.Errorf("plan after an answer: %+v\n%s", plans, seen.text(2, "agent_message_chunk"))
	}
	if c := seen.of(3, "available_commands_update"); len(c) != 1 || c[0].AvailableCommands[1].Name != "challenge" {
		t.Errorf("commands of the other agent: %+v", c)
	}
	if list := seen.Results[5].Sessions; len(list) != 1 || list[0].Cwd != dir {
		t.Errorf("sessions: %+v", list)
	}
	id := seen.Results[0].SessionID
	again := useACP(t, acpPlan{Steps: []acpStep{
		{Do: "session/load", With: arguments{"sessionId": id, "cwd": dir, "mcpServers": []any{}}},
		{Do: "session/load", With: arguments{"sessionId": "00000000-0000-4000-8000-000000000000", "cwd": dir, "mcpServers": []any{}}},
	}})
	if said := again.text(0, "user_message_chunk"); said != "*decideOtters or seals?*challenge" {
		t.Errorf("the person's words: %q", said)
	}
	if m := again.Results[0].Modes; m.CurrentModeID != "bruno" || len(again.of(0, "tool_call")) == 0 || !strings.Contains(again.text(0, "agent_message_chunk"), "Step 1") {
		t.Errorf("loaded: %+v\n%s", m, again.text(0, "agent_message_chunk"))
	}
	if !strings.Contains(again.Results[1].Error, "no such session") {
		t.Errorf("%+v", again.Results[1])
	}
}

// What a rule wants to be asked about is a request for permission, with the change that
// is to be made.
func TestAnEditorIsAskedForPermission(t *testing.T) {
	models := troupetest.NewServer(t,
		writes("{session-folder}/otter.md", "# Otters"), troupetest.ServeText("It is written."),
		writes("{session-folder}/seal.md", "# Seals"), troupetest.ServeText("Then not."),
		writes("{session-folder}/otter.md", "# Sea otters"), writes("{session-folder}/otter.md", "# River otters"), troupetest.ServeText("Twice."),
	)
	dir := clerkAt(t, models.URL)
	if err := os.WriteFile(filepath.Join(dir, "notes.md"), []byte("Notes."), 0o600); err != nil {
		t.Fatal(err)
	}
	link := arguments{"type": "resource_link", "name": "notes.md", "uri": "file://" + filepath.ToSlash(filepath.Join(dir, "notes.md"))}
	seen := useACP(t, acpPlan{
		Permit: []string{"allow_once", "reject_once", "allow_always"},
		Steps:  []acpStep{newSession(dir), prompt(textBlock("Write down "), link), prompt(textBlock("Seals, too.")), prompt(textBlock("Twice."))},
	})
	for i, want := range []string{"It is written.", "Then not.", "Twice."} {
		if got := seen.text(i+1, "agent_message_chunk"); !strings.Contains(got, want) || seen.Results[i+1].StopReason != "end_turn" {
			t.Errorf("prompt %d: %q, %+v", i+1, got, seen.Results[i+1])
		}
	}
	if len(seen.Permissions) != 3 {
		t.Fatalf("asked %d times", len(seen.Permissions))
	}
	asked := seen.Permissions[0].ToolCall
	if asked.Kind != "edit" || len(asked.Locations) != 1 || !strings.Contains(string(asked.Content), `"newText":"# Otters"`) {
		t.Errorf("asked: %+v %s", asked, asked.Content)
	}
	if again := seen.Permissions[2].ToolCall; !strings.Contains(string(again.Content), `"oldText":"# Otters"`) {
		t.Errorf("the difference: %s", again.Content)
	}
	var statuses []string
	for _, u := range seen.of(2, "tool_call_update") {
		statuses = append(statuses, u.Status)
	}
	if len(statuses) == 0 || statuses[len(statuses)-1] != "failed" {
		t.Errorf("a call that was refused: %v", statuses)
	}
	if body := string(models.Requests()[0].Body); !strings.Contains(body, "{project-root}/notes.md") || strings.Contains(body, dir) {
		t.Errorf("the model hears of the file as %s", body)
	}
}

// Cancelling ends the turn, and an error is told in plain words.
func TestAnEditorCancelsAndHearsOfErrors(t *testing.T) {
	url, _ := stallingServer(t)
	dir := clerkAt(t, url)
	cancelled := prompt(textBlock("Go."))
	cancelled.CancelOn = "agent_message_chunk"
	seen := useACP(t, acpPlan{Steps: []acpStep{newSession(dir), cancelled}})
	if seen.Results[1].StopReason != "cancelled" || seen.text(1, "agent_message_chunk") != "The beginning" {
		t.Errorf("%+v %q", seen.Results[1], seen.text(1, "agent_message_chunk"))
	}
	models := troupetest.NewServer(t, troupetest.ServeStatus(401, `{"error":{"message":"no","code":"invalid_api_key"}}`))
	seen = useACP(t, acpPlan{Steps: []acpStep{newSession(clerkAt(t, models.URL)), prompt(textBlock("Go.")), prompt()}})
	if !strings.Contains(seen.Results[1].Error, "key") {
		t.Errorf("%+v", seen.Results[1])
	}
	if seen.Results[2].Error == "" {
		t.Errorf("an empty prompt: %+v", seen.Results[2])
	}
}

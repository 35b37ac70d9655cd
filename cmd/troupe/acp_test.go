package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/peers"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// An acpPlan is what the TypeScript client is to do: see tools/npm/clients/acp.mjs.
type acpPlan struct {
	Agent  arguments `json:"agent"`
	Permit []string  `json:"permit"`
	Steps  []acpStep `json:"steps"`
	// Buffers are files that are open in the editor and not saved, by path. Nil is an
	// editor that does not let agents at its files.
	Buffers map[string]string `json:"buffers,omitempty"`
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
		Sessions      []struct{ SessionID, Title, Cwd string }
		ConfigOptions []struct {
			ID, Category, CurrentValue string
			Options                    []struct{ Name, Value, Description string }
		}
	}
	Updates     [][]acpUpdate
	Permissions []struct {
		ToolCall acpUpdate
		Options  []struct{ Kind, Name string }
	}
	Read    []string
	Written map[string]string
	Exit    int
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

// An agent that was chosen has the session when the editor is started again, although
// nothing was said to it yet; once somebody else went on with the session, it is theirs.
func TestAChosenAgentKeepsTheSession(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	session := "$session"
	choose := func(agent string) acpStep {
		return acpStep{Do: "session/set_mode", With: arguments{"sessionId": session, "modeId": agent}}
	}
	help := func() acpStep {
		return acpStep{Do: "session/prompt", With: arguments{"sessionId": session, "prompt": []arguments{textBlock("/help")}}}
	}
	session = useACP(t, acpPlan{Steps: []acpStep{newSession(dir), help(), choose("bruno")}}).Results[0].SessionID
	mode := func(steps ...acpStep) string {
		t.Helper()
		load := acpStep{Do: "session/load", With: arguments{"sessionId": session, "cwd": dir, "mcpServers": []any{}}}
		seen := useACP(t, acpPlan{Steps: append([]acpStep{load}, steps...)})
		for i, r := range seen.Results {
			if r.Error != "" {
				t.Errorf("step %d: %s", i, r.Error)
			}
		}
		return seen.Results[0].Modes.CurrentModeID
	}
	if got := mode(choose("mira"), choose("bruno")); got != "bruno" {
		t.Errorf("after choosing bruno it is %s", got)
	}
	if got := mode(choose("mira"), help()); got != "bruno" {
		t.Errorf("after choosing bruno again it is %s", got)
	}
	if got := mode(); got != "mira" {
		t.Errorf("after a word to mira it is %s", got)
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
	if title := filepath.ToSlash(asked.Title); !strings.HasPrefix(title, "write_file data/") || !strings.HasSuffix(title, "/otter.md") {
		t.Errorf("the title names no place that a person can open: %q", title)
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
	if thought := seen.text(1, "agent_thought_chunk"); thought != "" {
		t.Errorf("whoever has stopped it is told %q", thought)
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

// A limit is told in words for people, not in those that its model was told.
func TestAnEditorHearsOfALimit(t *testing.T) {
	models := troupetest.NewServer(t, calls("read_file", arguments{"file_path": "{project-root}/notes.md"}), troupetest.ServeText("As far as I came."))
	dir := write(t, "model: local/m\nproviders: {local: {base_url: \""+models.URL+"/v1\", key_env: CANARY}}\nlimits: {turns: 1}\nagents: {scribe: {instructions: You write., tools: [read_file]}}\n")
	seen := useACP(t, acpPlan{Steps: []acpStep{newSession(dir), prompt(textBlock("Go."))}})
	if thought := seen.text(1, "agent_thought_chunk"); !strings.Contains(thought, "The 1 turn of this run is used up; the agent answers") || strings.Contains(thought, "No more tools") {
		t.Errorf("the editor is told %q", thought)
	}
}

// scribeAt makes a project with an agent that works on files, and two models.
func scribeAt(t *testing.T, url string) string {
	dir := write(t, "model: local/m\nproviders: {local: {base_url: \""+url+"/v1\", key_env: CANARY, models: {m: {}, n: {}}}}\nlimits: {model_tries: 1}\n"+
		"agents: {scribe: {instructions: You write., tools: [read_file, search_files, edit_file], write: {docs: docs}}}\n")
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"notes.md": "Saved notes.", "docs/plan.md": "The saved plan."} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func calls(tool string, with arguments) troupetest.Exchange {
	data, _ := json.Marshal(with)
	return troupetest.ServeCalls(troupe.ToolCall{ID: "c1", Name: tool, Arguments: string(data)})
}

// What a person has changed in the editor and not saved is what an agent reads and edits,
// and what it writes is written by the editor.
func TestAnAgentWorksOnTheEditorsUnsavedFiles(t *testing.T) {
	models := troupetest.NewServer(t,
		calls("read_file", arguments{"file_path": "{project-root}/notes.md"}),
		calls("edit_file", arguments{"file_path": "{docs}/plan.md", "edits": []arguments{{"search": "unsaved", "replace": "edited"}}}),
		calls("read_file", arguments{"file_path": "{project-root}/.env"}),
		troupetest.ServeText("Done."),
	)
	dir := scribeAt(t, models.URL)
	notes, plan, secret := filepath.Join(dir, "notes.md"), filepath.Join(dir, "docs", "plan.md"), filepath.Join(dir, ".env")
	if err := os.WriteFile(secret, []byte("CANARY=k"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := useACP(t, acpPlan{
		Buffers: map[string]string{notes: "Notes of otters.", plan: "The unsaved plan.", secret: "CANARY=k"},
		Steps:   []acpStep{newSession(dir), prompt(textBlock("Go."))},
	})
	if seen.Results[1].StopReason != "end_turn" {
		t.Fatalf("%+v", seen.Results[1])
	}
	requests := models.Requests()
	if body := string(requests[1].Body); !strings.Contains(body, "Notes of otters.") || strings.Contains(body, "Saved notes.") {
		t.Errorf("the model read %s", body)
	}
	if got := seen.Written[plan]; got != "The edited plan." {
		t.Errorf("written by the editor: %v", seen.Written)
	}
	if saved, err := os.ReadFile(plan); err != nil || string(saved) != "The edited plan." {
		t.Errorf("on disk: %q, %v", saved, err)
	}
	if slices.Contains(seen.Read, secret) {
		t.Error("the editor was asked for what agents may not read")
	}
}

// The MCP servers of the editor are tools of the session. One that cannot be started is
// reported, and the rest goes on.
func TestTheEditorsMCPServersAreToolsOfTheSession(t *testing.T) {
	memory := peers.Npm(t, "mcp-server-memory")
	models := troupetest.NewServer(t,
		calls("my-memory__create_entities", arguments{"entities": []arguments{{"name": "otter", "entityType": "animal", "observations": []string{"It swims."}}}}),
		calls("my-memory__read_graph", arguments{}), troupetest.ServeText("It is known."),
	)
	dir := scribeAt(t, models.URL)
	begun := newSession(dir)
	begun.With["mcpServers"] = []arguments{
		{"name": "my memory", "command": memory[0], "args": memory[1:], "env": []arguments{{"name": "MEMORY_FILE_PATH", "value": filepath.Join(t.TempDir(), "memory.jsonl")}}},
		{"name": "gone", "command": filepath.Join(dir, "no-such-program"), "args": []string{}, "env": []string{}},
	}
	seen := useACP(t, acpPlan{Steps: []acpStep{begun, prompt(textBlock("Remember the otter."))}})
	if said := seen.text(0, "agent_thought_chunk"); !strings.Contains(said, "gone") || strings.Contains(said, "memory") {
		t.Errorf("the person hears %q", said)
	}
	if said := seen.text(1, "agent_message_chunk"); !strings.Contains(said, "It is known.") {
		t.Errorf("%q, %+v", said, seen.Results[1])
	}
	if body := string(models.Requests()[2].Body); !strings.Contains(body, "It swims.") {
		t.Errorf("the server remembers nothing: %s", body)
	}
}

// A person chooses the model in the editor, and the agent by the same means.
func TestAModelIsChosenInTheEditor(t *testing.T) {
	models := troupetest.NewServer(t, troupetest.ServeText("One."), troupetest.ServeText("Two."))
	dir := scribeAt(t, models.URL)
	choose := func(option, value string) acpStep {
		return acpStep{Do: "session/set_config_option", With: arguments{"sessionId": "$session", "configId": option, "value": value}}
	}
	seen := useACP(t, acpPlan{Steps: []acpStep{
		newSession(dir), prompt(textBlock("Go.")), choose("model", "local/n"), prompt(textBlock("Go on.")), choose("model", "nobody/x"), choose("colour", "red"),
	}})
	offered := seen.Results[0].ConfigOptions
	if len(offered) != 2 || offered[0].Category != "mode" || offered[0].CurrentValue != "scribe" || offered[1].Category != "model" || offered[1].CurrentValue != "local/m" {
		t.Fatalf("options: %+v", offered)
	}
	var refs []string
	for _, o := range offered[1].Options {
		refs = append(refs, o.Value)
	}
	if !slices.Contains(refs, "local/n") || !slices.Contains(refs, "rehearsal") {
		t.Errorf("models to choose from: %v", refs)
	}
	if now := seen.Results[2].ConfigOptions; len(now) != 2 || now[1].CurrentValue != "local/n" {
		t.Errorf("chosen: %+v", seen.Results[2])
	}
	for i, want := range []string{`"model":"m"`, `"model":"n"`} {
		if body := string(models.Requests()[i].Body); !strings.Contains(body, want) {
			t.Errorf("request %d: %.200s", i, body)
		}
	}
	if !strings.Contains(seen.Results[4].Error, "nobody") || seen.Results[5].Error == "" {
		t.Errorf("what there is not: %+v, %+v", seen.Results[4], seen.Results[5])
	}
}

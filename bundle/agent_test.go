package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/workspace"
)

// briefed checks what the model is told before the user speaks.
func briefed(tb testing.TB, req *troupe.Request) {
	tb.Helper()
	var texts []string
	for _, m := range req.Messages {
		texts = append(texts, m.Text)
	}
	if len(texts) < 5 || req.Messages[0].Role != troupe.RoleSystem {
		tb.Errorf("the model is told %q", texts)
		return
	}
	contains(tb, "the system prompt", texts[0], "You are Alex, Requirements Facilitator.", "CRITICAL INSTRUCTIONS FOR TOOL USAGE:",
		"*intake-workflow", "CONVERSATIONAL RULES:", "{session-folder}")
	for i, want := range []string{
		"[Critical Action] Loaded file: {bundle-root}/config.yaml\n\n# What the installer asked.\nproject_name: Lighthouse",
		"[Critical Instruction] Remember the user's name is Ada",
		"[Critical Instruction] ALWAYS communicate in English",
	} {
		if !strings.HasPrefix(texts[i+1], want) || req.Messages[i+1].Role != troupe.RoleSystem || !req.Messages[i+1].Pinned {
			tb.Errorf("message %d is %q", i+1, texts[i+1])
		}
	}
}

func TestAConversationFromGreetingToFile(t *testing.T) {
	dir := project(t)
	s := play(t, find(t, dir, Config{}), "alex", Options{},
		troupetest.Say("Hello Ada, I am Alex.").Expect(briefed, troupetest.HasTool("read_file"), troupetest.HasTool("save_output"), troupetest.HasTool("list_files"), troupetest.HasTool("execute_workflow"), troupetest.HasTool("invoke_agent")),
		troupetest.Call("execute_workflow", `{"workflow_path":"{bundle-root}/workflows/intake/workflow.yaml","user_input":{"user_skill_level":"expert"}}`).Expect(briefed),
		troupetest.Say("Step 1: Problem statement. What problem are you trying to solve?").Expect(troupetest.ToolResult("execute_workflow", `"success":true`)),
		troupetest.Calls(troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":"{installed_path}/checklist.md"}`},
			troupe.ToolCall{Name: "save_output", Arguments: `{"file_path":"{default_output_file}","content":"# Requirements\n"}`},
			troupe.ToolCall{Name: "save_output", Arguments: `{"file_path":"{session-folder}/notes.md","content":"notes"}`}),
		troupetest.Call("list_files", `{}`),
		troupetest.Say("Done."),
	)
	s.say("hello")
	folder := filepath.Join(dir, "data", "agent-outputs", s.session)
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the session folder: %v %v", info, err)
	}

	results := s.say("*intake-workflow")
	result := object(t, results[0])
	config := result["config"].(map[string]any)
	today := config["date"].(string)
	if _, err := time.Parse(time.DateOnly, today); err != nil {
		t.Errorf("date is %q", today)
	}
	for key, want := range map[string]any{
		"workflow_name": "intake-workflow", "description": "Gather initial project requirements",
		"session_id": s.session, "session_folder": "{session-folder}",
	} {
		if result[key] != want {
			t.Errorf("%s is %v; want %v", key, result[key], want)
		}
	}
	contains(t, "instructions", result["instructions"].(string), "# Intake for Ada", "requirements-{{topic}}-"+today+".md")
	contains(t, "template", result["template"].(string), "# Requirements of Lighthouse\n\nDate: "+today)
	if files := result["files"].([]any); len(files) != 2 {
		t.Errorf("files are %v", files)
	}
	if unresolved := result["unresolved"].([]any); len(unresolved) != 0 || config["user_skill_level"] != "expert" {
		t.Errorf("unresolved are %v", unresolved)
	}

	results = s.say("Nobody knows what we need.")
	checklist, saved := object(t, results[0]), object(t, results[1])
	if checklist["content"] != "- [ ] There is a problem statement\n" {
		t.Errorf("the checklist is %v", checklist)
	}
	// {default_output_file} holds a placeholder that the model must fill in first.
	if saved["success"] != false || !strings.Contains(saved["error"].(string), "topic") {
		t.Errorf("saved %v", saved)
	}
	if content, err := os.ReadFile(filepath.Join(folder, "notes.md")); err != nil || string(content) != "notes" {
		t.Errorf("notes.md holds %q, %v", content, err)
	}
	if listed := object(t, results[3]); len(listed["entries"].([]any)) != 1 {
		t.Errorf("listed %v", listed)
	}
}

func TestOutputForTheProjectIsADocument(t *testing.T) {
	dir := project(t)
	s := play(t, find(t, dir, Config{}), "alex", Options{Outputs: filepath.Join(dir, "out")},
		troupetest.Call("save_output", `{"file_path":"{output_folder}/requirements-{date}.md","content":"x"}`), troupetest.Say("Saved."))
	results := s.say("go")
	saved := object(t, results[0])
	if saved["success"] != true || saved["path"] != "{output_folder}/requirements-{date}.md" {
		t.Fatalf("saved %v", saved)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "documents/docs/requirements-20*.md")); err != nil || len(found) != 1 {
		t.Error(found, err)
	}
}

func TestAnAgentWhoseCriticalActionFailsNeverReachesTheModel(t *testing.T) {
	dir := project(t)
	if err := os.Remove(filepath.Join(dir, "bmad/custom/bundles/requirements/config.yaml")); err != nil {
		t.Fatal(err)
	}
	s := play(t, find(t, dir, Config{}), "alex", Options{})
	_, err := troupe.Collect(s.engine.Run(t.Context(), s.agent, troupe.Input{Text: "hello"}))
	if failed, ok := errors.AsType[*CriticalError](err); !ok || failed.Missing != "{bundle-root}/config.yaml" || !strings.Contains(err.Error(), "Critical action failed: Load into memory {bundle-root}/config.yaml and set variables: project_name") {
		t.Errorf("%v", err)
	}
	if len(s.script.Requests()) > 0 {
		t.Error("the model was asked")
	}
}

// A session goes on in another process with the variables it had.
func TestAResumedSessionKnowsItsConfig(t *testing.T) {
	dir := project(t)
	s := play(t, find(t, dir, Config{}), "alex", Options{}, troupetest.Say("Hello."))
	s.say("hello")
	later := play(t, find(t, dir, Config{}), "alex", Options{},
		troupetest.Call("save_output", `{"file_path":"{user_name}.md","content":"x"}`).Expect(briefed), troupetest.Say("Saved."))
	later.engine, later.session = s.engine, s.session
	if results := later.say("go on"); object(t, results[0])["success"] != true {
		t.Errorf("saved %s", results[0].Content)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "agent-outputs", s.session, "Ada.md")); err != nil {
		t.Error(err)
	}
}

func TestNoToolLeavesTheRoots(t *testing.T) {
	const canary = "CANARY-51b2"
	dir := project(t)
	put(t, dir, "secret.md", canary)
	put(t, dir, ".env", canary)
	put(t, dir, "bmad/custom/bundles/requirements-evil/secret.md", canary)
	home := "bmad/custom/bundles/requirements"
	put(t, dir, home+"/workflows/evil/workflow.yaml", "name: evil\nconfig_source: '{project-root}/secret.md'\ninstructions: ./instructions.md\ntemplate: ../../../../../../secret.md\nother: '{project-root}/secret.md'\n")
	put(t, dir, home+"/workflows/evil/instructions.md", "Evil.")
	if err := os.Symlink("../../../../../secret.md", filepath.Join(dir, filepath.FromSlash(home), "workflows", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"{project-root}/secret.md", "{project-root}/.env", "{bundle-root}/../../../../secret.md", "{bundle-root}/../requirements-evil/secret.md",
		"../../../secret.md", "/etc/passwd", dir + "/secret.md", "{bundle-root}/workflows/link.yaml", "{output_folder}/../secret.md",
		"{session-folder}/../../../secret.md", "file://" + dir + "/secret.md", "{bundle-root}{project-root}/secret.md", "secret.md\x00.yaml",
		"{installed_path}/../../../../../../secret.md", "{bundle-root}/workflows/evil/workflow.yaml", "{project-root}/bmad/custom/bundles/helper/agent.md",
	}
	var calls []troupe.ToolCall
	for _, path := range paths {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls,
			troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":` + string(quoted) + `}`},
			troupe.ToolCall{Name: "list_files", Arguments: `{"path":` + string(quoted) + `}`},
			troupe.ToolCall{Name: "execute_workflow", Arguments: `{"workflow_path":` + string(quoted) + `,"user_input":{"config_source":` + string(quoted) + `,"template":` + string(quoted) + `}}`},
			troupe.ToolCall{Name: "save_output", Arguments: `{"file_path":` + string(quoted) + `,"content":"owned"}`})
	}
	var turns []troupetest.Turn
	for batch := range slices.Chunk(calls, 4) {
		turns = append(turns, troupetest.Calls(batch...), troupetest.Say("Next."))
	}
	s := play(t, find(t, dir, Config{}), "alex", Options{}, turns...)
	for range paths {
		results := s.say("try")
		for _, r := range results {
			if strings.Contains(r.Content, canary) || strings.Contains(r.Content, "root:x:0") {
				t.Errorf("%s returned what it must not: %s", r.Tool, r.Content)
			}
			if strings.Contains(r.Content, dir) && !strings.Contains(r.Content, `"path":"`+dir) && !strings.Contains(r.Content, "file://") {
				t.Errorf("%s shows the host's directory: %s", r.Tool, r.Content)
			}
		}
	}
	for name, want := range map[string]string{"secret.md": canary, ".env": canary, home + "/agents/alex.md": "", home + "/workflows/link.yaml": canary} {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || want != "" && string(content) != want || string(content) == "owned" {
			t.Errorf("%s holds %q, %v", name, content, err)
		}
	}
}

func TestTheProjectIsReadableOnlyIfGranted(t *testing.T) {
	dir := project(t)
	put(t, dir, "docs/plan.md", "the plan")
	put(t, dir, ".env", "KEY")
	read := troupetest.Calls(troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":"{output_folder}/plan.md"}`},
		troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":"{project-root}/.env"}`},
		troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":"{notes}/n.md"}`})
	notes := t.TempDir()
	put(t, notes, "n.md", "n")
	for _, granted := range []bool{false, true} {
		o := Options{ReadProject: granted}
		if granted {
			o.Roots = []workspace.Root{{Name: "notes", Dir: notes, Access: workspace.ReadOnly}}
		}
		results := play(t, find(t, dir, Config{}), "alex", o, read, troupetest.Say("Done.")).say("read")
		if plan := object(t, results[0]); plan["success"] != granted {
			t.Errorf("granted %v: the plan is %v", granted, plan)
		}
		if env := object(t, results[1]); env["success"] != false || results[1].Class != "unauthorized" {
			t.Errorf("granted %v: .env is %v", granted, env)
		}
		if note := object(t, results[2]); note["success"] != granted {
			t.Errorf("granted %v: the note is %v", granted, note)
		}
	}
}

func TestAFailedWorkflowIsToldInTheFormThatBundlesKnow(t *testing.T) {
	s := play(t, find(t, project(t), Config{}), "alex", Options{},
		troupetest.Call("execute_workflow", `{"workflow_path":"{bundle-root}/workflows/gone/workflow.yaml"}`),
		troupetest.Call("execute_workflow", `{"workflow_path":"{nobody}/workflow.yaml"}`),
		troupetest.Call("execute_workflow", `{"workflow_path":"{bundle-root}/../../../../../x/workflow.yaml"}`), troupetest.Say("Sorry."))
	results := s.say("go")
	for i, want := range []struct {
		path, text string
		class      string
	}{
		{"{bundle-root}/workflows/gone/workflow.yaml", "not found", "failed"},
		{"{nobody}/workflow.yaml", "variable {nobody} is unknown or empty; available variables: ", "failed"},
		{"{bundle-root}/../../../../../x/workflow.yaml", "Security violation: Access denied", "unauthorized"},
	} {
		got := object(t, results[i])
		if got["success"] != false || got["path"] != want.path || !strings.Contains(got["error"].(string), want.text) || results[i].Class != want.class {
			t.Errorf("%s: %v", results[i].Class, got)
		}
	}
}

func TestInvokeAgentRunsAnotherAgentOfTheCatalog(t *testing.T) {
	c := find(t, project(t), Config{})
	s := play(t, c, "alex", Options{},
		troupetest.Call("invoke_agent", `{"agent_id":"casey","message":"Dig."}`),
		troupetest.Call("save_output", `{"file_path":"dug.md","content":"42"}`).Expect(troupetest.System("You are Casey"), troupetest.LastUser("Dig.")), // casey
		troupetest.Call("invoke_agent", `{"agent_id":"alex","message":"Round and round."}`),                                                             // casey
		troupetest.Say("42").Expect(troupetest.ToolResult("invoke_agent", "circular")),                                                                  // casey
		troupetest.Call("invoke_agent", `{"agent_id":"nobody","message":"?"}`).Expect(troupetest.ToolResult("invoke_agent", `"response":"42"`)),
		troupetest.Call("read_file", `{"file_path":"dug.md"}`),
		troupetest.Say("Casey says 42."))
	results := s.say("Ask Casey.")
	if got := object(t, results[0]); got["success"] != true || got["response"] != "42" || got["agent_id"] != "casey" {
		t.Errorf("casey: %v", got)
	}
	if got := object(t, results[1]); got["success"] != false || !strings.Contains(got["error"].(string), "no such agent; there are: ") {
		t.Errorf("nobody: %v", got)
	}
	if got := object(t, results[2]); got["content"] != "42" {
		t.Errorf("the session folder is not shared: %v", got)
	}
}

func TestASourceTreesPathsWorkInEveryTool(t *testing.T) {
	s := play(t, find(t, project(t), Config{}), "dev", Options{},
		troupetest.Calls(troupe.ToolCall{Name: "read_file", Arguments: `{"file_path":"{project-root}/_bmad/bmm/workflows/quick/steps/step-02.md"}`},
			troupe.ToolCall{Name: "list_files", Arguments: `{"path":"{project-root}/{bmad_folder}/bmm/workflows/quick/"}`},
			troupe.ToolCall{Name: "execute_workflow", Arguments: `{"workflow_path":"{project-root}/bmad/bmm/workflows/quick/workflow.md"}`}),
		troupetest.Say("Done."))
	results := s.say("go")
	for _, r := range results {
		if object(t, r)["success"] != true {
			t.Errorf("%s: %s", r.Tool, r.Content)
		}
	}
}

func TestAnAgentNeedsAModelAndAName(t *testing.T) {
	c := find(t, project(t), Config{})
	if _, err := c.Agent("alex", Options{}); err == nil {
		t.Error("an agent without a model was made")
	}
	if _, err := c.Agent("nobody", Options{}); !errors.Is(err, ErrNoAgent) {
		t.Errorf("nobody: %v", err)
	}
}

func TestFurtherToolsAndAgentsAreTheOperatorsToGrant(t *testing.T) {
	calc := troupe.NewTool("calc", "Adds.", func(_ context.Context, in struct {
		A int `json:"a"`
	}) (int, error) {
		return in.A + 1, nil
	})
	stranger, err := troupe.NewAgent(troupe.AgentConfig{ID: "stranger", Model: troupetest.NewScript(t, troupetest.Say("Hm."))})
	if err != nil {
		t.Fatal(err)
	}
	invoke := func(id string) (troupe.Step, error) { return stranger, nil }
	s := play(t, find(t, project(t), Config{}), "alex", Options{Tools: []troupe.Tool{calc}, Invoke: invoke},
		troupetest.Call("calc", `{"a":1}`), troupetest.Call("invoke_agent", `{"agent_id":"casey","message":"?"}`), troupetest.Say("Done."))
	results := s.say("go")
	if results[0].Content != "2" || object(t, results[1])["response"] != "Hm." {
		t.Errorf("%s %s", results[0].Content, results[1].Content)
	}
}

// The config of a session that goes on may have gone in the meantime.
func TestAToolSaysThatItsSessionCannotBeOpened(t *testing.T) {
	dir := project(t)
	s := play(t, find(t, dir, Config{}), "alex", Options{}, troupetest.Say("Hello."))
	s.say("hello")
	if err := os.Remove(filepath.Join(dir, "bmad/custom/bundles/requirements/config.yaml")); err != nil {
		t.Fatal(err)
	}
	later := play(t, find(t, dir, Config{}), "alex", Options{},
		troupetest.Calls(troupe.ToolCall{Name: "list_files", Arguments: `{}`},
			troupe.ToolCall{Name: "execute_workflow", Arguments: `{"workflow_path":"{bundle-root}/workflows/intake/workflow.yaml"}`}),
		troupetest.Say("Sorry."))
	later.engine, later.session = s.engine, s.session
	for _, r := range later.say("go on") {
		if got := object(t, r); got["success"] != false || !strings.HasPrefix(got["error"].(string), "Critical action failed: Load into memory") {
			t.Errorf("%s: %v", r.Tool, got)
		}
	}
}

func TestTheOperatorMayStandBeforeTheToolsAndTellMore(t *testing.T) {
	var seen []string
	guard := func(tools ...troupe.Tool) []troupe.Tool {
		guarded := make([]troupe.Tool, len(tools))
		for i, tool := range tools {
			refusing, err := troupe.NewRawTool(tool.Spec(), func(context.Context, *troupe.Invocation) (troupe.Result, error) {
				seen = append(seen, tool.Spec().Name)
				return troupe.Result{}, errors.New("not now")
			})
			if err != nil {
				t.Fatal(err)
			}
			guarded[i] = refusing
		}
		return guarded
	}
	tell := func() []troupe.ContextLoaded {
		return []troupe.ContextLoaded{{Source: "skills", Content: "There is a skill."}}
	}
	o := Options{Guard: guard, Tell: tell}
	s := play(t, find(t, project(t), Config{}), "alex", o, troupetest.Call("list_files", `{}`), troupetest.Say("Done."))
	if results := s.say("go"); results[0].Class != "failed" || len(seen) != 1 || seen[0] != "list_files" {
		t.Errorf("%+v, %v", results[0], seen)
	}
	messages := s.script.Requests()[0].Messages
	if !slices.ContainsFunc(messages, func(m *troupe.Message) bool { return m.Text == "There is a skill." && m.Pinned }) {
		t.Error("the agent was not told")
	}
	parts, err := find(t, project(t), Config{}).PromptWith("alex", o)
	if last := parts[len(parts)-1]; err != nil || last.Name != "skills" || last.Tokens == 0 {
		t.Errorf("%+v, %v", last, err)
	}
}

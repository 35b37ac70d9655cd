package bundle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/workspace"
)

func TestThePromptHoldsWhatTheSpecificationAsksFor(t *testing.T) {
	parts, err := find(t, project(t), Config{}).Prompt("alex")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"persona", "tools", "commands", "rules", "session", "critical", "critical", "critical"}
	text := map[string]string{}
	for i, p := range parts {
		if i >= len(want) || p.Name != want[i] || p.Tokens < len(p.Text)/5 || p.Tokens == 0 {
			t.Fatalf("part %d is %s of %d tokens", i, p.Name, p.Tokens)
		}
		text[p.Name] += p.Text + "\n"
	}
	contains(t, "persona", text["persona"], "You are Alex, Requirements Facilitator.\n\nFacilitator who turns wishes & needs",
		"IDENTITY:\nHas asked", "COMMUNICATION STYLE:\nCalm and curious; calls the user Ada.", "PRINCIPLES:\nUnderstand first", "Hello Ada, I am Alex.")
	contains(t, "tools", text["tools"], "you MUST use the read_file tool", "you MUST use the execute_workflow tool", "DO NOT just acknowledge")
	contains(t, "commands", text["commands"],
		"AVAILABLE COMMANDS:\n*help - Show numbered cmd list\n",
		"*intake-workflow - Gather initial requirements\n  Workflow: {bundle-root}/workflows/intake/workflow.yaml\n",
		"*check-intake - Check the requirements\n  Validate with the checklist of the workflow: {bundle-root}/",
		"*estimate - Estimate the effort\n  Not implemented yet: say so\n",
		"*glossary - Write a glossary\n  Read and follow: {bundle-root}/tasks/glossary.md\n  Data: {bundle-root}/data/terms.csv\n",
		"*status - Show where we are\n  Follow the prompt #status below\n",
		"*summary - Sum up\n  Do: sum up what was said so far\n",
		"*letter - Write a letter\n  Template: {bundle-root}/templates/letter.md\n",
		"PROMPT #status:\nShow what is answered and what is open.",
		"WORKFLOW EXECUTION PATTERN:")
	contains(t, "rules", text["rules"], "ask ONE clear question at a time", "Paraphrase the user's answers", `<step n="X">`, "Where <ask> tags request input")
	contains(t, "session", text["session"], "Session ID: {session-id}", "{session-folder}")
	if parts[5].Source != "{bundle-root}/config.yaml" || !strings.HasPrefix(parts[5].Text, "[Critical Action] Loaded file: {bundle-root}/config.yaml\n\n# What") {
		t.Errorf("the first critical message is %+v", parts[5])
	}
}

func TestRulesForGuidedWorkflowsAreForAgentsThatHaveWorkflows(t *testing.T) {
	c := find(t, project(t), Config{})
	for id, has := range map[string]bool{"alex": true, "casey": false, "pm": true, "dev": true, "qa": false} {
		parts, err := c.Prompt(id)
		if err != nil {
			t.Fatal(err)
		}
		rules := parts[slices.IndexFunc(parts, func(p Part) bool { return p.Name == "rules" })]
		if strings.Contains(rules.Text, "GUIDED WORKFLOWS") != has {
			t.Errorf("%s: guided rules are wrong:\n%s", id, rules.Text)
		}
	}
}

func TestThePromptShowsRulesDependenciesAndTheSkillItself(t *testing.T) {
	c := find(t, project(t), Config{})
	for id, want := range map[string][]string{
		"pm":              {"*create-prd (CP) - Create PRD\n  Workflow: {project-root}/bmad/bmm/", "FURTHER RULES OF THIS AGENT:\n- Stay in character"},
		"qa":              {"FOCUS:\nQuality", "PRINCIPLES:\nDepth as needed\nCRITICAL: Tests first", "{root}/tasks/review-story.md\n", "story-file-permissions:\n  - CRITICAL: Only"},
		"dev":             {"*party-mode (PM) - party mode\n  Workflow: {bundle-root}/workflows/quick/workflow.md"},
		"bmad-agent-sage": {"Give advice; read `references/advice.md` first.", "Do: Tell a riddle", "[Critical Instruction] Remember: The owl is wise"},
	} {
		parts, err := c.Prompt(id)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(p.Text + "\n")
		}
		contains(t, id, all.String(), want...)
	}
}

func TestThePromptOfAnAgentThatMayReadTheProject(t *testing.T) {
	c, _ := alone(t, map[string]string{
		"agent.md": `<agent id="one" name="One"><critical-actions><i>Load {project-root}/docs/plan.md</i></critical-actions></agent>`,
	})
	put(t, c.project, "docs/plan.md", "the plan")
	if _, err := c.Prompt("one"); !errors.Is(err, workspace.ErrDenied) {
		t.Errorf("not granted: %v", err)
	}
	parts, err := c.PromptWith("one", Options{ReadProject: true})
	if err != nil || parts[len(parts)-1].Source != "{project-root}/docs/plan.md" {
		t.Errorf("granted: %v", err)
	}
}

func TestADefinitionsOwnPromptLeavesVariables(t *testing.T) {
	parts, err := define(t, find(t, project(t), Config{}), "alex").Prompt("S1")
	if err != nil || len(parts) != 5 {
		t.Fatal(parts, err)
	}
	contains(t, "persona", parts[0].Text, "calls the user {user_name}")
	contains(t, "session", parts[4].Text, "Session ID: S1")
}

// A model saves where the example says: it names the folder that a PRD belongs into, not
// whichever the configuration names first.
func TestTheExampleOfADocumentIsWhereAPRDBelongs(t *testing.T) {
	dir := unpackTree(t, "v4")
	put(t, dir, ".bmad-core/core-config.yaml", "qa:\n  qaLocation: docs/qa\nprd:\n  prdFile: docs/prd.md\n")
	parts, err := find(t, dir, Config{}).Prompt("pm")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.Name == "tools" {
			contains(t, "tools", p.Text, "what you save as docs/prd.md is read by that name")
		}
	}
}

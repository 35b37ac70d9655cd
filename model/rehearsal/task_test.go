package rehearsal

import (
	"slices"
	"strings"
	"testing"
)

const taskPrompt = `You are John, a product manager.

CONFIGURATION, loaded already; these values hold wherever instructions name them:
qa.qaLocation: docs/qa
prd.prdFile: docs/prd.md
architecture.architectureFile: docs/architecture.md

AVAILABLE COMMANDS:
*create-prd - run task create-doc.md with template prd-tmpl.yaml
  Read and follow: {root}/tasks/create-doc.md
  Template: {root}/templates/prd-tmpl.yaml
*create-doc {template} - execute task create-doc
  Read and follow: {root}/tasks/create-doc.md
*execute-checklist {checklist} - Run task execute-checklist
  Read and follow: {root}/tasks/execute-checklist.md
*story-checklist - Run task execute-checklist.md with checklist story-draft-checklist.md
  Read and follow: {root}/tasks/execute-checklist.md
  Data: {root}/checklists/story-draft-checklist.md
*shard-prd - run the task shard-doc.md for the provided prd.md (ask if not found)
  Read and follow: {root}/tasks/shard-doc.md
*shard-doc {document} {destination} - run the task shard-doc
  Read and follow: {root}/tasks/shard-doc.md
*review {story} - Review
  Read and follow: {root}/tasks/review-story.md
*validate {story} - Validate
  Read and follow: {root}/tasks/validate-next-story.md
*exit - Goodbye

FILES THAT COMMANDS USE, to be read with read_file when one is needed:
{root}/checklists/pm-checklist.md
{root}/checklists/story-draft-checklist.md
{root}/data/elicitation-methods.md
{root}/templates/prd-tmpl.yaml
{root}/templates/qa-gate-tmpl.yaml
{root}/templates/story-tmpl.yaml

Remember: be kind.
`

func taskStage() *stage {
	return &stage{files: map[string]string{
		"{root}/tasks/create-doc.md":                 "# Create Document\n\n## Processing Flow\n",
		"{root}/tasks/execute-checklist.md":          "# Checklist\n\n## Instructions\n",
		"{root}/tasks/shard-doc.md":                  "# Sharding\n\n## Purpose\n",
		"{root}/tasks/review-story.md":               "# Review\n\n## Gate\n\n- Render from `../templates/qa-gate-tmpl.yaml`\n",
		"{root}/tasks/validate-next-story.md":        "# Validate\n\n## Template\n\n- Load `.bmad-core/templates/story-tmpl.yaml` and extract all headings\n",
		"{root}/checklists/pm-checklist.md":          "# PM\n\n## 1. GOALS\n\n- [ ] a\n- [ ] b\n",
		"{root}/checklists/story-draft-checklist.md": "# Draft\n\n## 1. CLARITY\n\n- [ ] c\n\n## 2. TESTS\n\n- [ ] d\n- [ ] e\n",
		"{root}/data/elicitation-methods.md":         "# Methods\n",
		"{root}/templates/qa-gate-tmpl.yaml":         "template:\n  output:\n    format: yaml\n    filename: qa.qaLocation/gates/{{epic_num}}.{{story_num}}-{{slug}}.yml\nsections:\n  - id: decision\n    title: Decision\n",
		"{root}/templates/story-tmpl.yaml":           "template:\n  output:\n    filename: docs/stories/{{n}}.md\nsections:\n  - id: status\n    title: Status\n",
		"{root}/templates/prd-tmpl.yaml": "template:\n  name: PRD\n  output:\n    filename: docs/prd.md\n    title: \"{{project_name}} PRD\"\nsections:\n" +
			"  - id: goals\n    title: Goals and Context\n    sections:\n      - id: log\n        title: Change Log\n" +
			"  - id: requirements\n    title: Requirements\n    elicit: true\n" +
			"  - id: none\n    title: Never\n    condition: No project brief exists\n    sections:\n      - id: log\n        title: Inside\n",
	}}
}

func TestATemplateIsReadAndItsDocumentWritten(t *testing.T) {
	s := taskStage()
	d := open(t, strings.Replace(taskPrompt, "{root}/data/elicitation-methods.md\n", "", 1), s.tools()...)
	asked := d.say("*create-prd")
	mustContain(t, asked, "The template is for docs/prd.md", "Goals and Context", "Requirements", "1. Proceed to next section", "Select 1-9")
	last := d.say("Offline work matters most")
	mustContain(t, last, "is complete (steps: 4, questions: 1). Saved: docs/prd.md")
	mustContain(t, s.saved["docs/prd.md"], "PRD\n\n## Goals and Context", "### Change Log", "## Requirements\n\nOffline work matters most")
	mustContain(t, s.saved["docs/prd.md"], "## Never\n\nLeft out.")
	mustLack(t, s.saved["docs/prd.md"], "{{")
	open(t, taskPrompt, s.tools()...).say("*create-prd")
	if !slices.Contains(s.calls, "read_file {root}/templates/prd-tmpl.yaml") || !slices.Contains(s.calls, "read_file {root}/data/elicitation-methods.md") {
		t.Errorf("%q", s.calls)
	}
}

func TestATemplateIsChosenFromThoseThereAre(t *testing.T) {
	s := taskStage()
	d := open(t, taskPrompt, s.tools()...)
	mustContain(t, d.say("*create-doc"), "Which template?", "1. prd-tmpl", "3. story-tmpl")
	mustContain(t, d.say("3"), "Saved: docs/stories/n.md")
	mustContain(t, d.say("*create-doc prd #yolo"), "Saved: docs/prd.md")
	mustContain(t, d.say("*create-doc novel"), `There is no template called "novel"`, "Which template?")
}

func TestATemplateThatATaskNamesIsReadOrFilledIn(t *testing.T) {
	s := taskStage()
	d := open(t, taskPrompt, s.tools()...)
	mustContain(t, d.say("*review 1.1"), "Saved: docs/qa/gates/epic-num.story-num-slug.yml")
	mustContain(t, s.saved["docs/qa/gates/epic-num.story-num-slug.yml"], "decision: \"A model would write the decision here.\"")
	mustContain(t, d.say("*validate 1.1"), "Read {root}/templates/story-tmpl.yaml", "Nothing was to be saved.")
}

func TestAChecklistIsGoneThrough(t *testing.T) {
	s := taskStage()
	d := open(t, taskPrompt, s.tools()...)
	mustContain(t, d.say("*story-checklist"), "How shall I work through story-draft-checklist?")
	mustContain(t, d.say("2"), "1. CLARITY", "2. TESTS", "3 items", "is complete")
	mustContain(t, d.say("*execute-checklist"), "Which checklist?", "1. pm-checklist")
	if last, ended := d.rehearse("*execute-checklist pm", 3); !ended || !strings.Contains(last, "2 items") {
		t.Error(last)
	}
}

func TestADocumentIsSplitAtItsHeadings(t *testing.T) {
	s := taskStage()
	d := open(t, taskPrompt, s.tools()...)
	mustContain(t, d.say("*shard-prd"), "ended early, for there is no docs/prd.md yet, which a real run splits into docs/prd")
	s.files["docs/prd.md"] = "# PRD\n\nBy Ann.\n\n## Goals\n\nOne {{goal}}.\n\n### Inner\n\n```md\n## no heading\n```\n\n## Ziele\n\nZwei.\n\n## Goals\n\nAgain.\n"
	mustContain(t, d.say("*shard-prd"), "Saved: docs/prd/index.md, docs/prd/goals.md, docs/prd/ziele.md, docs/prd/goals-2.md")
	if got, want := s.saved["docs/prd/goals.md"], "# Goals\n\nOne {{goal}}.\n\n## Inner\n\n```md\n## no heading\n```\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	mustContain(t, s.saved["docs/prd/index.md"], "# PRD\n\nBy Ann.", "- [Ziele](./ziele.md)\n- [Goals](./goals-2.md)")
	s.files["docs/a.md"] = "# A\n\n## X\n\nx\n"
	mustContain(t, d.say("*shard-doc docs/a.md docs/parts"), "docs/parts/x.md")
	mustContain(t, d.say("*shard-doc"), "Which document shall I split?", "1. docs/prd.md", "2. docs/architecture.md")
}

func FuzzTemplate(f *testing.F) {
	for _, text := range taskStage().files {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := readBlueprint(text)
		for i, p := range b.parts {
			if p.id == "" || p.title == "" || p.depth > maxDepthOfParts || i == 0 && p.depth > 0 {
				t.Errorf("%+v", p)
			}
		}
		_ = b.outline(false) + b.outline(true)
		head, shards := split(text)
		if len(shards) == 0 && len(head) > len(text) {
			t.Errorf("%q has grown", text)
		}
	})
}

func TestEveryAgentUnderstandsHelpAndExit(t *testing.T) {
	d := open(t, "You are Zoé, a writer.\n\nAVAILABLE COMMANDS:\n*rédiger - Rédiger un texte\n  Do: rédige\n*relire - Relire\n  Do: relis\n")
	mustContain(t, d.say("*help"), "1. *rédiger", "2. *relire")
	mustLack(t, d.replies[0], "Not recognized")
	mustContain(t, d.say("*exit"), "Goodbye")
}

// A path in what a command's description goes on to say is no target of it.
func TestADescriptionNamesNoTarget(t *testing.T) {
	p := readPart("You are Linus.\n\nAVAILABLE COMMANDS:\n*review {story} - Review a story.\n    Gate file location: docs/qa/gates/{epic}.{story}-{slug}.yml\n*plan - Plan\n  Exec: tasks/plan.md\n")
	if len(p.commands) != 2 || p.commands[0].target != "" || p.commands[1].target != "tasks/plan.md" {
		t.Errorf("%+v", p.commands)
	}
}

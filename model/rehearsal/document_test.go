package rehearsal

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden documents")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update):\n%s", name, got)
	}
}

const requirements = `
<critical>Follow the steps.</critical>
<workflow>
<step n="1" goal="Name the project">
<ask>What is the project called?</ask>
<template-output>project_name</template-output>
</step>
<step n="2" goal="Choose a pace">
<ask response="pace">How fast shall we go?
1. **Steady** - step by step
2. Fast</ask>
<template-output>pace</template-output>
</step>
<step n="3" goal="Collect" if="pace == 'steady'">
<ask>Who will use it?</ask>
<ask>Why now?</ask>
<template-output>users</template-output>
<template-output>risks, summary</template-output>
</step>
<step n="4" goal="Close">
<template-output file="epics.md">epics</template-output>
<template-output>not_in_template</template-output>
</step>
</workflow>`

const requirementsTemplate = `# Requirements: {{project_name}}

**Date:** {{date}} by {{ user_name }} in {output_folder} ({unknown})

Pace: {{pace}}

## Users

{{users}}

## Risks

{{risks}}

{{#if extra}}
{{open_question}}
{{/if}}
`

func playRequirements(t *testing.T) (*stage, string) {
	s := stageOf(requirements, requirementsTemplate, map[string]any{
		"date": "2025-01-02", "user_name": "Robin", "output_folder": "{project-root}/docs",
		"default_output_file": "{output_folder}/requirements-{{project_name}}-{{date}}.md",
	})
	d := open(t, prompt, s.tools()...)
	for _, said := range []string{"*intake", "The Bakery & Co.", "1", "Bakers", "Flour is <cheap>"} {
		d.say(said)
	}
	return s, d.replies[len(d.replies)-1]
}

const requirementsPath = "{project-root}/docs/requirements-the-bakery-co-2025-01-02.md"

func TestATemplateIsFilled(t *testing.T) {
	s, last := playRequirements(t)
	golden(t, "requirements.md", s.saved[requirementsPath])
	golden(t, "epics.md", s.saved["{session-folder}/epics.md"])
	mustContain(t, last, "[rehearsal] intake is complete (steps: 4, questions: 4). Saved: "+requirementsPath+", {session-folder}/epics.md")
	if len(s.saved) != 2 || s.saves != 6 {
		t.Errorf("%d saves of %v, want 6 of 2 files: four places, the other file, and the end", s.saves, s.order)
	}
}

func TestTheSameAnswersGiveTheSameDocument(t *testing.T) {
	first, _ := playRequirements(t)
	second, _ := playRequirements(t)
	if !maps.Equal(first.saved, second.saved) {
		t.Errorf("%q\n%q", first.saved, second.saved)
	}
}

func TestWhatIsNotKnownYetStaysOpenUntilTheEnd(t *testing.T) {
	s := stageOf(requirements, requirementsTemplate, map[string]any{"date": "system-generated"})
	d := open(t, prompt, s.tools()...)
	d.say("*intake")
	d.say("Bakery")
	mustContain(t, s.saved["{session-folder}/intake.md"], "# Requirements: Bakery", "{{date}}", "{{users}}", "{{#if extra}}")
}

func TestWithoutATemplateTheDocumentIsTheQuestionsAndAnswers(t *testing.T) {
	s := stageOf(requirements, "", nil)
	d := open(t, prompt, s.tools()...)
	for _, said := range []string{"*intake", "Bakery", "2"} {
		d.say(said)
	}
	golden(t, "answers.md", s.saved["{session-folder}/intake.md"])
}

func TestARefusedPathIsReplacedByTheSessionFolder(t *testing.T) {
	s := stageOf(`<step n="1"><ask>Name?</ask><template-output>name</template-output></step>`, "", map[string]any{"default_output_file": "{nowhere}/x-{story_id}.md"})
	s.refuse = map[string]string{"{nowhere}/x-{story_id}.md": "unknown variable nowhere."}
	d := open(t, prompt, s.tools()...)
	d.say("*intake")
	last := strings.Join(d.spoken("Bakery"), "\n")
	mustContain(t, last, "Saving {nowhere}/x-{story_id}.md did not work: unknown variable nowhere.", "Saved: {session-folder}/x-story-id.md")
	if count(s.calls, "save_output {nowhere}") != 1 {
		t.Errorf("calls: %v", s.calls)
	}
}

func TestAFileAttributeMayNameTheWorkflowsOwnDocument(t *testing.T) {
	s := stageOf(`<step n="1"><ask>Name?</ask><action>Store it as {{name}}</action>
<template-output file="{default_output_file}">a</template-output>
<action>x</action>
<template-output file="{out}/{{name}}.md">b</template-output></step>`, "", map[string]any{"out": "docs", "default_output_file": "docs/{{name}}.md"})
	d := open(t, prompt, s.tools()...)
	d.say("*intake")
	mustContain(t, d.say("Bakery"), "Saved: docs/bakery.md")
	if len(s.saved) != 1 {
		t.Errorf("saved: %v", s.order)
	}
	mustContain(t, s.saved["docs/bakery.md"], "### A", "### B")
}

func TestSavingIsGivenUpWhereNothingCanBeSaved(t *testing.T) {
	s := stageOf(requirements, requirementsTemplate, nil)
	s.refuse = map[string]string{"{session-folder}/intake.md": "disk full", "{session-folder}/epics.md": "disk full"}
	d := open(t, prompt, s.tools()...)
	last, ended := d.rehearse("*intake", 10)
	if !ended {
		t.Fatal("it still asks")
	}
	mustContain(t, last, "is complete", "Nothing could be saved: disk full")
	if n := count(s.calls, "save_output"); n != 2 {
		t.Errorf("it tried %d times, want once for each file", n)
	}
}

func TestABrokenResultIsReported(t *testing.T) {
	r := readResult("not json")
	if r.fields != nil || r.problem != "" {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		`{"success":false}`:             "the tool gave no reason",
		`{"success":false,"error":"x"}`: "x",
		`{"error":"x"}`:                 "x",
		`{"success":true,"error":"x"}`:  "",
		`{"error":null}`:                "",
	} {
		if got := readResult(text).problem; got != want {
			t.Errorf("%s: problem %q, want %q", text, got, want)
		}
	}
}

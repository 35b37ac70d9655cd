package pipeline

import (
	"strings"
	"testing"
)

func TestYAMLThatCannotBeReadHasARemedy(t *testing.T) {
	for line, want := range map[string]string{
		"\ttitle: x":             "Indent it with spaces, not with a tab",
		"  \ttitle: x":           "Indent it with spaces, not with a tab",
		"  title: a\tb":          "The parser says: odd",
		`  title: "open`:         "A quote is opened in it and not closed",
		`  title: "a" and "b"`:   "The parser says: odd",
		"  title: First: a step": "A text with a colon in it needs quotes: title: \"First: the beginning\"",
		"- title: @home":         "A text that begins with such a sign needs quotes",
		"  -title: x":            "After the dash of a step comes a space",
		"  files: [a.go, b.go":   "A bracket is opened in it and not closed",
		"  anything":             "The parser says: odd",
	} {
		if got := yamlRemedy(line, "yaml: odd"); got != want {
			t.Errorf("%q: got %q", line, got)
		}
	}
	for _, problem := range []string{"did not find expected '-' indicator", "did not find expected key", "mapping values are not allowed", "could not find expected ':'"} {
		if got := yamlRemedy("  anything", "yaml: "+problem); got != "Indent it as far as the fields of the step above it" {
			t.Errorf("%q: got %q", problem, got)
		}
	}
}

func TestTheBrokenLineIsThatAfterWhatCanBeRead(t *testing.T) {
	plan := "steps:\n  - title: one\n  - title: two\n"
	for text, want := range map[string]string{
		"steps: [\n":               "line 1: \"steps: [\" cannot be read",
		plan + "  - title: a: b\n": "line 4: \"  - title: a: b\" cannot be read",
		plan + "  -title: x\nmore": "line 4: \"  -title: x\" cannot be read",
		"\"open":                   "line 1: ",
	} {
		if _, err := ReadPlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	long := strings.Repeat("# a comment\n", maxLinesTried-1)
	if _, err := ReadPlan([]byte(long + "a: b: c")); err == nil || !strings.Contains(err.Error(), "line 2000: \"a: b: c\" cannot be read") {
		t.Errorf("of a long plan: %v", err)
	}
	if _, err := ReadPlan([]byte(long + "\na: b: c")); err == nil || strings.Contains(err.Error(), "cannot be read") || !strings.HasPrefix(err.Error(), "plan: yaml: ") {
		t.Errorf("of one that is longer: %v", err)
	}
}

func TestAMistakeInAStepIsToldWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"steps:\n- {id: a}\n- {id: a}\n":            "plan: line 3: there are two steps with the id \"a\"",
		"# c\nsteps:\n- id: a\n  depends_on: [b]\n": "plan: line 3: step a depends on \"b\", and there is no such step",
		"steps:\n- id: a\n  status: odd\n":          "plan: line 2: step a: status \"odd\" is none of todo, doing, done, failed, skipped",
		"steps: []\n":                               "plan: it has no steps",
		"":                                          "plan: it has no steps",
		"steps:\n- id: a\n---\nsteps: []\n":         "plan: line 3: the plan ends at '---'. Take that line out",
		"stepz: []\n":                               "plan: line 1: there is no field \"stepz\"; a plan has steps",
		"steps:\n- titel: x\n":                      "plan: line 2: there is no field \"titel\"; a step has id, title, goal, files, depends_on, acceptance, checks and status",
		"steps:\n- files: a.go\n":                   "plan: line 2: a list is wanted, and \"a.go\" is none: write it in brackets",
		"steps:\n- rounds: many\n":                  "plan: line 2: a number is wanted, and \"many\" is none",
		"steps:\n- title: [a]\n":                    "plan: line 2: a text is wanted, and this is none: write it in quotes",
		"- title: x\n":                              "plan: line 1: a plan begins with the line 'steps:', and its steps stand below it",
		"steps: x\n":                                "plan: line 1: each step begins with a dash and has fields: - title: What is to be done",
		"steps:\n- x\n- {id: [1]}\n":                "plan: line 2: each step begins with a dash and has fields: - title: What is to be done; line 3: a text is wanted, and this is none: write it in quotes",
	} {
		if _, err := ReadPlan([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if p, err := ReadPlan([]byte("steps:\n- {id: a, title: T}\n")); err != nil || len(p.Steps) != 1 || p.Steps[0].Status != StepTodo {
		t.Errorf("%+v, %v", p, err)
	}
	if got := wanted("x", "map"); got != "\"x\" does not belong here" {
		t.Errorf("got %q", got)
	}
}

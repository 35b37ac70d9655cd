package pipeline

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite generated files")

var builtInPhases = []string{"requirements", "architecture", "discovery", "planning", "implementation", "qa"}

// good has, of each phase, an answer as the spec has it and as agents write it.
var good = map[string]string{
	"requirements": `{"user_stories": ["As a user I log in", {"id": "US-2", "title": "Log out", "points": 3}],
		"acceptance_criteria": [{"story": "US-2", "criteria": ["a", "b"]}], "scope": "MVP", "constraints": ["time"]}`,
	"architecture": `{"components": ["frontend", {"name": "api"}], "technologies": [{"name": "Go", "purpose": "all"}],
		"patterns": ["REST"], "decisions": [{"decision": "SQLite", "rationale": "one file"}]}`,
	"discovery": `{"relevant_files": [{"path": "a.go", "relevance": "all of it", "priority": "high"}],
		"gkchatty_context": [], "entry_points": ["main.go"], "dependencies": ["x/net"]}`,
	"planning":       `{"total_steps": 25, "estimated_time": "4-6 hours", "complexity": "medium", "risk_level": "low"}`,
	"implementation": `{"steps_completed": [1, "2"], "steps_remaining": [], "files_changed": ["a.go"], "notes": []}`,
	"qa": `{"tests_passed": true, "code_quality": "A", "security_issues": [], "performance_concerns": [],
		"recommendations": [{"priority": 1, "text": "more tests"}]}`,
}

// answerOf returns a whole answer around outputs, with what replaces parts of it.
func answerOf(phase string, replace ...string) string {
	answer := `{"status": "success", "phase": "` + phase + `", "outputs": ` + good[phase] + `,
		"artifacts": [{"name": "a.md", "path": "specs/a.md", "content": "# A\n", "type": "file", "metadata": {"tags": ["x"]}}],
		"validation": {"checks": ["c"], "passed": ["c"], "failed": []},
		"next_phase": {"ready": true, "blockers": [], "requirements": []}, "errors": []}`
	return strings.NewReplacer(replace...).Replace(answer)
}

func contractOf(t testing.TB, phase string) *Contract {
	t.Helper()
	c, ok := ContractOf(phase)
	if !ok {
		t.Fatalf("there is no phase %s", phase)
	}
	return c
}

func TestThePublishedSchemasAreThoseOfTheContracts(t *testing.T) {
	for _, phase := range builtInPhases {
		file := filepath.Join("schemas", phase+".json")
		schema := contractOf(t, phase).Schema()
		if *update {
			if err := os.WriteFile(file, schema, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		published, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(published, schema) {
			t.Errorf("%s is not the schema of the contract; run go generate (%v)", file, err)
		}
	}
}

// Another validator agrees on what has no problem at all.
func TestThePublishedSchemasMeanWhatCheckSays(t *testing.T) {
	for _, phase := range builtInPhases {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(contractOf(t, phase).Schema()))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("phase.json", document); err != nil {
			t.Fatal(err)
		}
		schema, err := compiler.Compile("phase.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{
			answerOf(phase),
			answerOf(phase, `"success"`, `"done"`),
			answerOf(phase, `"phase": "`, `"phase": "x`),
			answerOf(phase, `"errors"`, `"error"`),
			answerOf(phase, `"ready": true`, `"ready": "true"`),
			answerOf(phase, `["c"], "failed"`, `"c", "failed"`),
			answerOf(phase, good[phase], "{}"),
		} {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
			if err != nil {
				t.Fatal(err)
			}
			problems := contractOf(t, phase).Check([]byte(answer))
			if err := schema.Validate(value); (err == nil) != (len(problems) == 0) {
				t.Errorf("%s\nCheck: %v\nschema: %v", answer, problems, err)
			}
		}
	}
}

func TestCheckTellsCriticalProblemsFromWarnings(t *testing.T) {
	const needs = ": the next phase needs it, but it is missing or empty"
	tests := []struct {
		phase, answer string
		want          []string // critical ones begin with "!"
	}{
		{"requirements", answerOf("requirements"), nil},
		{"requirements", answerOf("requirements", `"errors"`, `"x"`), []string{"/errors: required, but missing"}},
		{"requirements", answerOf("requirements", `"scope": "MVP", `, ""), []string{"/outputs/scope: required, but missing"}},
		{"requirements", answerOf("requirements", `["time"]`, `"time"`), []string{`/outputs/constraints: expected array, got string "time"`}},
		{"requirements", answerOf("requirements", `"type": "file"`, `"type": "disk"`), []string{`/artifacts/0/type: expected one of "file", "gkchatty", "edit", "delete", "rename", got string "disk"`}},
		{"requirements", answerOf("requirements", `"success"`, `"done"`, `"scope": "MVP", `, ""), []string{
			`!/status: expected one of "success", "partial", "failed", got string "done"`, "/outputs/scope: required, but missing"}},
		{"requirements", answerOf("requirements", `"phase": "requirements"`, `"phase": "qa"`), []string{`!/phase: expected "requirements", got string "qa"`}},
		{"requirements", answerOf("requirements", `"ready": true`, `"ready": "true"`), []string{`!/next_phase/ready: expected boolean, got string "true"`}},
		{"requirements", answerOf("requirements", `"ready": true,`, ``), []string{`!/next_phase/ready: required, but missing`}},
		{"requirements", answerOf("requirements", `"user_stories"`, `"stories"`), []string{"!/outputs/user_stories" + needs}},
		{"requirements", answerOf("requirements", `"user_stories"`, `"stories"`, `"ready": true`, `"ready": false`), []string{"/outputs/user_stories: required, but missing"}},
		{"requirements", answerOf("requirements", `"errors": []`, `"status": "success"`), []string{"!/status: given twice", "/errors: required, but missing"}},
		{"architecture", answerOf("architecture", `["frontend", {"name": "api"}]`, `[]`), []string{"!/outputs/components" + needs}},
		{"discovery", answerOf("discovery", `["main.go"]`, `[]`), nil},
		{"discovery", answerOf("discovery", `"relevant_files"`, `"files"`, `"entry_points"`, `"points"`), []string{
			"!/outputs/relevant_files: the next phase needs one of /outputs/relevant_files, /outputs/entry_points, but they are missing or empty",
			"/outputs/entry_points: required, but missing"}},
		{"planning", answerOf("planning", `"# A\n"`, `" "`), []string{"!/artifacts/0/content: the next phase needs one of /artifacts/0/content, /outputs/steps, but they are missing or empty"}},
		{"planning", answerOf("planning", `25`, `"about 25"`), nil},
		{"qa", answerOf("qa", `"tests_passed": true`, `"tests_passed": null`), []string{"!/outputs/tests_passed: the next phase needs one of /outputs/tests_passed, /outputs/verdict, but they are missing or empty"}},
		{"qa", answerOf("qa", `"tests_passed": true`, `"tests_passed": false`), nil},
		{"qa", `{"status": "failed", "phase": "qa", "errors": ["no code"]}`, []string{
			"/artifacts: required, but missing", "/next_phase: required, but missing", "/outputs: required, but missing", "/validation: required, but missing"}},
		{"qa", `[]`, []string{"!the answer: expected object, got array []"}},
		{"qa", `{"status"`, []string{`!the answer: cannot read the JSON at byte 9: the text ends in the middle of an object, where a colon after the field name was expected, near: {"status"`}},
	}
	for _, test := range tests {
		var got []string
		for _, p := range contractOf(t, test.phase).Check([]byte(test.answer)) {
			mark := ""
			if p.Critical {
				mark = "!"
			}
			got = append(got, mark+p.String())
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s\n%s", test.phase, test.answer, diff)
		}
	}
}

func TestAPhaseOfYourOwnHasItsOwnContract(t *testing.T) {
	schema := `{"type": "object", "$defs": {"n": {"type": "integer"}}, "properties": {"pages": {"$ref": "#/$defs/n"}, "title": {"type": "string"}}}`
	c, err := NewContract("layout", []byte(schema), "pages|sheets", "title")
	if err != nil {
		t.Fatal(err)
	}
	answer := func(outputs string) []byte {
		return []byte(strings.Replace(answerOf("layout"), `"outputs": ,`, `"outputs": `+outputs+`,`, 1))
	}
	if problems := c.Check(answer(`{"pages": 3, "title": "x"}`)); problems != nil {
		t.Error(problems)
	}
	if problems := c.Check(answer(`{"pages": "3", "title": "x"}`)); len(problems) != 1 || problems[0].Critical || problems[0].Pointer != "/outputs/pages" {
		t.Error(problems)
	}
	if problems := c.Check(answer(`{"sheets": 3}`)); len(problems) != 1 || !problems[0].Critical || problems[0].Pointer != "/outputs/title" {
		t.Error(problems)
	}
	for _, wrong := range []func() (*Contract, error){
		func() (*Contract, error) { return NewContract("", nil) },
		func() (*Contract, error) { return NewContract("x", []byte(`{"type": "objekt"}`)) },
		func() (*Contract, error) { return NewContract("x", nil, "a/b") },
		func() (*Contract, error) { return NewContract("x", nil, "a|") },
	} {
		if _, err := wrong(); err == nil {
			t.Error("a wrong contract was made")
		}
	}
	if _, ok := ContractOf("layout"); ok {
		t.Error("layout is not built in")
	}
}

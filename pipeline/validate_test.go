package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// wholeAnswer is an answer that its contract is content with, but for what is replaced in it.
func wholeAnswer(phase, outputs, artifacts string) string {
	return fmt.Sprintf(`{"status": "success", "phase": %q, "outputs": %s, "artifacts": %s, "validation": {"checks": [], "passed": [], "failed": []},
		"next_phase": {"ready": true, "blockers": [], "requirements": []}, "errors": []}`, phase, outputs, artifacts)
}

func TestAnAnswerIsTriedOutBeforeItIsUsed(t *testing.T) {
	const requirements = `{"user_stories": ["x"], "acceptance_criteria": [{"id": "AC1", "how": "test"}, "plain"], "scope": " mvp ", "constraints": []}`
	const qa = `{"tests_passed": true, "code_quality": "A-", "security_issues": [], "performance_concerns": [], "recommendations": [], "verdict": "accept", "criteria": [{"state": "met"}], "findings": [{"severity": "minor"}]}`
	for name, c := range map[string]struct {
		phase, outputs, artifacts string
		want                      []string // those that are critical begin with !
	}{
		"all is well":            {"requirements", requirements, `[{"name": "a", "path": "a.md", "type": "file", "content": "x"}]`, nil},
		"another word":           {"requirements", strings.Replace(requirements, " mvp ", "huge", 1), `[]`, []string{`!/outputs/scope: "huge" is none of MVP, Full, Enterprise`}},
		"in a list":              {"requirements", strings.Replace(requirements, `"how": "test"`, `"how": "hope"`, 1), `[]`, []string{`!/outputs/acceptance_criteria/0/how: "hope" is none of test, check, review`}},
		"a review":               {"qa", qa, `[]`, nil},
		"a grade":                {"qa", strings.Replace(qa, "A-", "G", 1), `[]`, []string{`!/outputs/code_quality: "G" is none of A, B, C, D, E, F`}},
		"no word":                {"qa", strings.Replace(qa, `"A-"`, `" "`, 1), `[]`, nil},
		"a path that leads away": {"requirements", requirements, `[{"name": "a", "path": "../a.md", "type": "file", "content": "x"}]`, []string{"!/artifacts/0/path: the path leads upwards"}},
		"no content":             {"requirements", requirements, `[{"name": "a", "path": "", "type": "gkchatty", "content": ""}]`, []string{"/artifacts/0/content: required, but missing or empty"}},
		"an edit has none":       {"requirements", requirements, `[{"name": "a", "path": "a", "type": "edit"}]`, nil},
		"an odd type":            {"requirements", requirements, `[{"name": "a", "path": "a", "type": "odd", "content": "x"}, {"name": "b", "path": "/b", "type": "file", "content": "x"}]`, []string{`!/artifacts/0/type: "odd" is none of file, gkchatty, edit, delete, rename`, "!/artifacts/1/path: the path is absolute; paths are relative to the repository"}},
		"a warning stays":        {"requirements", strings.Replace(requirements, `, "constraints": []`, "", 1), `[{"name": "a", "path": "../a", "type": "file", "content": "x"}]`, []string{"!/artifacts/0/path: the path leads upwards", "/outputs/constraints: required, but missing"}},
	} {
		contract, _ := ContractOf(c.phase)
		var got []string
		for _, p := range contract.Validate([]byte(wholeAnswer(c.phase, c.outputs, c.artifacts))) {
			got = append(got, strings.Repeat("!", weight(p))+p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	contract, _ := ContractOf("qa")
	if got := contract.Validate([]byte("[]")); len(got) == 0 || !got[0].Critical {
		t.Errorf("a list is an answer: %+v", got)
	}
}

func TestAValueThatIsEmptyIsNotThere(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, " null ": false, `""`: false, `"  "`: false, `"\u0020"`: false, `"a"`: true, "[]": false, "[ \n]": false, "[1]": true, "[null]": true, "{}": false, `{ }`: false, `{"a":1}`: true, "0": true, "false": true,
	} {
		if got := isFilled([]byte(value)); got != want {
			t.Errorf("%q: got %t", value, got)
		}
	}
}

func TestAProblemIsAPhrase(t *testing.T) {
	if got := (Problem{Message: "no JSON"}).String(); got != "the answer: no JSON" {
		t.Errorf("got %q", got)
	}
	if got := (Problem{Pointer: "/a", Message: "missing"}).String(); got != "/a: missing" {
		t.Errorf("got %q", got)
	}
}

func TestASectionListsItsEntries(t *testing.T) {
	for text, want := range map[string][]string{
		"one\n\ntwo\nmore of two\n":  {"one", "two\nmore of two"},
		"- one\n  more\n- two\n":     {"one\nmore", "two"},
		"words\n\n1. one\n2) two\n":  {"one", "two"},
		"### A\na\n- in a\n### B\n":  {"A\na\n- in a", "B"},
		"None.\n":                    {},
		"- n/a\n- **none**\n- one\n": {"one"},
		"":                           {},
		"\n\n- one\n\n  still one\n": {"one\nstill one"},
	} {
		got := section{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}.entries()
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestSectionsEndAtTheNextHeadingThatIsNotBelow(t *testing.T) {
	var got []string
	for _, s := range sections("intro\n# A\na\n## B #\nb\n```\n# no heading\n```\n### C\nc\r\n## D\n#no heading\n# E\n") {
		got = append(got, fmt.Sprintf("%d %s %q", s.level, s.title, s.lines))
	}
	want := []string{
		`1 A ["a" "## B #" "b" "\t` + "```" + `" "\t# no heading" "` + "```" + `" "### C" "c" "## D" "#no heading"]`, `2 B ["b" "\t` + "```" + `" "\t# no heading" "` + "```" + `" "### C" "c"]`, `3 C ["c"]`, `2 D ["#no heading"]`, `1 E []`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	c, _ := ContractOf("requirements")
	own := c.withoutOthers([]string{"a", "## Details", "b", "## Scope", "c", "### More", "d", "## Other", "e", "## Blockers", "f", "# Top", "g"})
	if want := []string{"a", "## Details", "b", "## Other", "e", "# Top", "g"}; !slices.Equal(own, want) {
		t.Errorf("got %q", own)
	}
}

package pipeline

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/answer"
)

func TestParseUnderstandsWhatAgentsAnswer(t *testing.T) {
	answer := answerOf("requirements")
	other := answerOf("requirements", `"MVP"`, `"Full"`)
	tests := []struct {
		name, text string
		level      Level
	}{
		{"as asked", answer, LevelStrict},
		{"with space around", "\n " + answer + "\n", LevelStrict},
		{"with prose around", "Sure, {name}! Here it is:\n" + answer + "\nAnything {else}?", LevelExtracted},
		{"in a code block", "```json\n" + answer + "\n```", LevelExtracted},
		{"behind a byte order mark", "\ufeff" + answer, LevelExtracted},
		{"wrapped", `{"result": ` + answer + `}`, LevelExtracted},
		{"in a list", `[` + answer + `]`, LevelExtracted},
		{"with other JSON before it", `I called {"tool": "x"} and [1]. ` + answer, LevelExtracted},
		{"with something broken before it, which could go on", `{ "hm ` + answer, LevelRaw},
		{"with something broken before it in a line", "{\"hm\": ...}\n" + answer, LevelExtracted},
		{"with a quote missing", strings.Replace(answer, `"MVP",`, `"MVP,`, 1), LevelRepaired},
		{"with what a quote has swallowed", strings.Replace(answer, `"scope": "MVP"`, `"scope: "MVP"`, 1), LevelRaw},
		{"with a comma too many", strings.Replace(answer, `"errors": []`, `"errors": [],`, 1), LevelRepaired},
		{"mended, without a required field", strings.Replace(strings.Replace(answer, `, "errors": []`, ``, 1), `"MVP",`, `"MVP,`, 1), LevelRaw},
		{"twice the same", answer + "\n\nAgain:\n" + strings.ReplaceAll(answer, "\n\t\t", " "), LevelExtracted},
		{"with a draft in its thoughts", "<think>\nMaybe " + other + "?\n</think>\n" + answer, LevelExtracted},
		{"with thoughts that lack their tag", "Maybe " + other + "?\n</think>\n" + answer, LevelExtracted},
		{"with the template echoed", `{"status": "success|partial|failed", "phase": "requirements"} ` + answer, LevelExtracted},
		{"within a broken object", `{"result": ` + answer + `, "by": me}`, LevelRepaired},
		{"with trailing commas", strings.ReplaceAll(answer, "]}", "],}"), LevelRepaired},
		{"with a comma missing", strings.Replace(answer, `"MVP",`, `"MVP"`, 1), LevelRepaired},
		{"in single quotes", strings.ReplaceAll(answer, `"`, `'`), LevelRepaired},
		{"with comments, in a code block", "Here:\n```json\n" + strings.Replace(answer, `"outputs"`, "// all\n\"outputs\"", 1) + "\n```\nThat's {it}.", LevelRepaired},
		{"with raw line breaks", strings.Replace(answer, `As a user`, "As a\nuser", 1), LevelRepaired},
		{"with unescaped quotes", strings.Replace(answer, `As a user`, `As a "user" who`, 1), LevelRepaired},
		{"as Python has it", strings.ReplaceAll(strings.ReplaceAll(answer, `"`, `'`), "true", "True"), LevelRepaired},
		{"with a phase that is not this one", answerOf("qa"), LevelRaw},
		{"with a field given twice", strings.Replace(answer, `"errors": []`, `"status": "failed"`, 1), LevelRaw},
		{"too deep", strings.Replace(answer, `"MVP"`, strings.Repeat("[", 70)+strings.Repeat("]", 70), 1), LevelRaw},
		{"as prose", "I am sorry, I cannot do that.", LevelRaw},
		{"as prose with braces", "Use {a} and {b: c}, or [d].", LevelRaw},
		{"with nothing", "", LevelRaw},
		{"as text in a string", `"{\"status\": \"success\"}"`, LevelRaw},
	}
	c := contractOf(t, "requirements")
	for _, test := range tests {
		parsed, err := c.Parse(test.text)
		if err != nil || parsed.Level != test.level {
			t.Errorf("%s: level %s, %v\n%s", test.name, parsed.Level, err, strings.Join(parsed.Notes, "\n"))
			continue
		}
		if test.level == LevelRaw {
			checkRaw(t, test.name, test.text, parsed)
			continue
		}
		var outputs Requirements
		if err := json.Unmarshal(parsed.Output.Outputs, &outputs); err != nil {
			t.Fatal(err)
		}
		if parsed.Output.Status != "success" || len(outputs.UserStories) != 2 || outputs.Scope.String() != "MVP" ||
			len(parsed.Output.Artifacts) != 1 || parsed.Output.Artifacts[0].Content != "# A\n" || !parsed.Output.NextPhase.Ready {
			t.Errorf("%s: got %+v", test.name, parsed.Output)
		}
		if parsed.Correction != "" || len(parsed.Problems) > 0 {
			t.Errorf("%s: problems %v, correction %q", test.name, parsed.Problems, parsed.Correction)
		}
	}
}

// checkRaw checks that a text which was not understood stops the pipeline and is not lost.
func checkRaw(t *testing.T, name, text string, parsed Parsed) {
	t.Helper()
	var kept struct{ Text string }
	if err := json.Unmarshal(parsed.Output.Outputs, &kept); err != nil || kept.Text != text {
		t.Errorf("%s: kept %q, %v", name, kept.Text, err)
	}
	output := parsed.Output
	if output.Status != "partial" || output.NextPhase.Ready || len(output.Errors) == 0 || len(parsed.Notes) == 0 {
		t.Errorf("%s: got %+v", name, output)
	}
	if !strings.Contains(parsed.Correction, output.Errors[0].String()) {
		t.Errorf("%s: the correction does not say what is wrong: %s", name, parsed.Correction)
	}
}

func TestTwoDifferentAnswersAreNotChosenBetween(t *testing.T) {
	one, two := answerOf("qa"), answerOf("qa", `"A"`, `"B"`)
	parsed, err := contractOf(t, "qa").Parse("Either\n" + one + "\nor\n" + two)
	ambiguity, ok := errors.AsType[*AmbiguityError](err)
	if !ok || ambiguity.Phase != "qa" {
		t.Fatalf("got %v", err)
	}
	if parsed.Level != LevelRaw || parsed.Output.NextPhase.Ready || parsed.Correction == "" {
		t.Errorf("got %+v", parsed)
	}
	for _, text := range []string{
		"```json\n" + one + "\n```\n```json\n" + two + "\n```",
		`{"a": ` + one + `, "b": ` + two + `}`,
		`{"a": [` + one + two + `]}`,
		`{"draft": ` + one + `, "final": ` + strings.Replace(two, `"errors": []`, `"errors": [],`, 1) + `}`,
	} {
		if parsed, err := contractOf(t, "qa").Parse(text); err == nil {
			t.Errorf("%s of %s was chosen", parsed.Output.Outputs, text)
		}
	}
	early := strings.Replace(one, `, "errors"`, `}, "errors"`, 1)
	if parsed, err := contractOf(t, "qa").Parse(early); err != nil || parsed.Level == LevelExtracted {
		t.Errorf("what follows an object that closes early was lost: %s, %v", parsed.Level, err)
	}
}

// Whatever it has when it breaks off, it is not an answer: half a file must not be written.
func TestAnAnswerThatBreaksOffIsNone(t *testing.T) {
	answer := answerOf("qa")
	gate, rest, _ := strings.Cut(answer, `"outputs"`)
	reordered := gate + `"next_phase": {"ready": true}, "outputs"` + rest
	stride := 1
	if isRace {
		stride = 7
	}
	for end := 1; end < len(reordered)-1; end += stride {
		for _, text := range []string{reordered[:end], "```json\n" + reordered[:end] + "\n```"} {
			parsed, err := contractOf(t, "qa").Parse(text)
			if err != nil || parsed.Level != LevelRaw || len(parsed.Output.Artifacts) > 0 || parsed.Output.NextPhase.Ready {
				t.Fatalf("%q: level %s, %+v, %v", text, parsed.Level, parsed.Output, err)
			}
		}
	}
	parsed, _ := contractOf(t, "qa").Parse(reordered[:strings.Index(reordered, `"# A`)+4])
	if !strings.Contains(parsed.Correction, "/artifacts/0/content: it breaks off here") || !strings.Contains(parsed.Correction, "from the beginning") {
		t.Errorf("the correction does not say that it breaks off: %s", parsed.Correction)
	}
	for _, text := range []string{answerOf("qa", `"more tests"}]`, `"more tests"}, ...]`), answer[:strings.Index(answer, `"next_phase"`)]} {
		if parsed, err := contractOf(t, "qa").Parse(text); err != nil || parsed.Level != LevelRaw {
			t.Errorf("%q: level %s, %v", text, parsed.Level, err)
		}
	}
	if parsed := contractOf(t, "qa").parseCut(answer); parsed.Level != LevelRaw || parsed.Output.NextPhase.Ready || parsed.Correction == "" {
		t.Errorf("what its provider says was cut off is taken: %+v", parsed)
	}
}

func TestNearMissesAreReadAndWarnedOf(t *testing.T) {
	near := answerOf("qa", `"phase": "qa"`, `"phase": "QA"`, `"ready": true`, `"ready": "true"`, `"success"`, `"Success"`)
	parsed, err := contractOf(t, "qa").Parse(near)
	if err != nil || parsed.Level != LevelStrict || parsed.Output.Phase != "qa" || !parsed.Output.NextPhase.Ready || len(parsed.Problems) != 3 {
		t.Errorf("got %+v, %v", parsed, err)
	}
}

func TestAFailedPhaseNeedsNoOutputs(t *testing.T) {
	parsed, err := contractOf(t, "qa").Parse(`{"status": "failed", "phase": "qa", "errors": ["no code", {"code": 7}]}`)
	if err != nil || parsed.Level != LevelStrict || parsed.Output.Status != "failed" || parsed.Output.NextPhase.Ready {
		t.Errorf("got %+v, %v", parsed, err)
	}
}

func TestMarkdownIsReadByItsHeadings(t *testing.T) {
	text := "# Requirements\n\nIntro.\n\n## 1. **User Stories**\n\nThese:\n\n### US-1: Log in\nAs a user\n\n### US-2: Log out\n```\n## Scope\n- x\n```\n\n" +
		"## Acceptance criteria\n- fast\n  and safe\n* small\n\n## Scope: MVP\n\n## Constraints\nNone.\n\n## Blockers\n\nNone\n"
	parsed, err := contractOf(t, "requirements").Parse(text)
	if err != nil || parsed.Level != LevelMarkdown {
		t.Fatalf("level %s, %v", parsed.Level, err)
	}
	want := strings.ReplaceAll(`{"acceptance_criteria":["fast\nand safe","small"],"constraints":[],"scope":"MVP",`+
		`"user_stories":["US-1: Log in\nAs a user","US-2: Log out\nFENCE\n## Scope\n- x\nFENCE"]}`, "FENCE", "```")
	output := parsed.Output
	if string(output.Outputs) != want {
		t.Errorf("got %s", output.Outputs)
	}
	if output.Status != "partial" || !output.NextPhase.Ready || output.Artifacts[0].Content != text || parsed.Correction == "" {
		t.Errorf("got %+v", output)
	}
	if thought, _ := contractOf(t, "requirements").Parse("<think>\n# Scope\n?</think>" + text); thought.Output.Artifacts[0].Content != text {
		t.Error("the thoughts became part of the document")
	}
	blocked := strings.Replace(text, "\nNone\n", "\n1. no budget\n2. no time", 1)
	if parsed, _ = contractOf(t, "requirements").Parse(blocked); parsed.Output.NextPhase.Ready || len(parsed.Output.NextPhase.Blockers) != 2 {
		t.Errorf("got %+v", parsed.Output.NextPhase)
	}
	for _, other := range []string{text + "\n## Scope\nFull\n", "# Notes\n\nSomething.", "## Scope\nMVP", "```json\n{\"a\": \"" + text} {
		if parsed, _ = contractOf(t, "requirements").Parse(other); parsed.Level != LevelRaw {
			t.Errorf("%q was read as %s", other, parsed.Level)
		}
	}
}

func TestMarkdownWhoseFirstHeadingStandsAboveAll(t *testing.T) {
	parsed, err := contractOf(t, "requirements").Parse("# User Stories\n\n- As a user I log in\n- As a user I log out\n\n## Acceptance Criteria\n\n- fast\n\n## Scope\n\nMVP\n\n## Constraints\n\n- none\n")
	want := `{"acceptance_criteria":["fast"],"constraints":[],"scope":"MVP","user_stories":["As a user I log in","As a user I log out"]}`
	if err != nil || parsed.Level != LevelMarkdown || string(parsed.Output.Outputs) != want {
		t.Errorf("%s: %s, %v", parsed.Level, parsed.Output.Outputs, err)
	}
}

// The source document's own plan is markdown with headings for its steps.
func TestAPlanInMarkdownIsAPlan(t *testing.T) {
	text := "# Implementation Plan\n\n## Step 1: Build\n\nBuild it.\n\n## Step 2: Test\n\nTest it.\n"
	parsed, err := contractOf(t, "planning").Parse(text)
	if err != nil || parsed.Level != LevelMarkdown || !parsed.Output.NextPhase.Ready || parsed.Correction == "" {
		t.Fatalf("%s, %+v, %v", parsed.Level, parsed.Output, err)
	}
	if a := parsed.Output.Artifacts; len(a) != 1 || a[0].Content != text || a[0].Type != ArtifactKnowledge {
		t.Errorf("%+v", a)
	}
	for _, none := range []string{"I have thought about it.", "# Implementation Plan\n\nTo be done.\n"} {
		if parsed, _ := contractOf(t, "planning").Parse(none); parsed.Level != LevelRaw {
			t.Errorf("%q is %s", none, parsed.Level)
		}
	}
	if parsed, _ := contractOf(t, "architecture").Parse(text); parsed.Level != LevelRaw {
		t.Errorf("of another phase it is %s", parsed.Level)
	}
}

// Twice the text takes about twice the time, whatever is in it.
func TestHostileTextIsReadInLinearTime(t *testing.T) {
	c := contractOf(t, "requirements")
	parts := []string{"{", "[", `{"a":`, `{"a":[`, `[{"a":0,`, `{"":{"`, `{":{":`, `{}`, `{"a":{}}`, `{"status":"success","phase":"requirements"}`,
		`{"a":"\"`, "```", "'", "{'", "a:1 ", `"x" `, `"x`, `"a":1,`, `"a":[1],`, `{"a} `, `{"a":"x}`, "{a:(} ", `","`, "<think>", "# Scope\n", "- x\n", "{\"a\":/*",
		strings.Repeat(`{"a":`, 60) + "0" + strings.Repeat("}", 60)}
	size := 100_000
	if isRace { // a text that is read in more than linear time takes too long at this size, too
		size = 20_000
	}
	for i, part := range parts {
		start := []string{"", `{"a":`, `{'a':[`, "{'a':1,", "# User stories\n"}[i%5]
		for _, end := range []string{"", `\uZ"`} {
			began := time.Now()
			parsed, err := c.Parse(start + strings.Repeat(part, size/len(part)) + end)
			if took := time.Since(began); err != nil || strings.HasPrefix(start, "{") && parsed.Level != LevelRaw || took > time.Minute {
				t.Errorf("%q, then %.20q to %d bytes: %s, %v, %v", start, part, size, parsed.Level, err, took)
			}
		}
	}
	if parsed, _ := c.Parse(strings.Repeat("x", answer.MaxText) + answerOf("requirements")); parsed.Level != LevelRaw {
		t.Error("a text beyond the limit was read")
	}
}

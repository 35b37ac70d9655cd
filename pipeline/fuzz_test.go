package pipeline

import (
	"encoding/json"
	"testing"
)

func FuzzParse(f *testing.F) {
	answer := answerOf("qa")
	for _, text := range []string{answer, "x {y} " + answer, answer[:len(answer)-3], answer[:len(answer)/2], "{'a': [1, 'b' // c\n], \"d\": \"e\"f\", g: \\\"h",
		"## Tests passed\ntrue\n## Blockers\n- a\n", `{"status": "failed", "phase": "qa"}`, `{\"status\": \"failed\", \"phase\": \"qa\"}`, "<think>{</think>{}", "{“a”: ‘b’, c: None, ...}",
		`{status: failed, phase: qa, errors: ["a" "b`, `{"status": "partial", "phase": "qa", "outputs": {}, "next_phase": {"ready": false}} {"status": "failed", "phase": "qa",}`} {
		f.Add(text)
	}
	c, _ := ContractOf("qa")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := c.Parse(text)
		again, _ := c.Parse(text)
		one, _ := json.Marshal(parsed)
		if two, _ := json.Marshal(again); string(one) != string(two) {
			t.Errorf("two readings differ: %s %s", one, two)
		}
		if parsed.Level == LevelStrict && !json.Valid([]byte(text)) {
			t.Error("strict, but not JSON")
		}
		if len(parsed.Notes) == 0 || (parsed.Correction == "") != (parsed.Level == LevelStrict || parsed.Level == LevelExtracted || parsed.Level == LevelRepaired) {
			t.Errorf("level %s: notes %q, correction %q", parsed.Level, parsed.Notes, parsed.Correction)
		}
		output := parsed.Output
		if parsed.Level == LevelRaw {
			if output.Status != "partial" || output.NextPhase.Ready || len(output.Errors) == 0 {
				t.Errorf("raw, but %+v", output)
			}
			return
		}
		if err != nil {
			t.Errorf("level %s with %v", parsed.Level, err)
		}
		encoded, err := json.Marshal(output)
		if err != nil {
			t.Fatal(err)
		}
		if !c.fits(encoded) {
			t.Errorf("level %s, but %s does not fit: %v", parsed.Level, encoded, c.Check(encoded))
		}
	})
}

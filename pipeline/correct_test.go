package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// In a repository an agent may correct itself twice: for JSON that cannot be read, and for a
// plan without steps. The answer that is read is the last that could be.
func TestAPlannerMayCorrectItselfTwice(t *testing.T) {
	good, noSteps := thought("planning", yardStep("1", "First", nil)), strings.Replace(thought("planning"), "## Step", "## Part", -1)
	const raw, markdown = "Let me think about it.", "# Plan\n\n## Total Steps\n\n1\n\n## Step 1: First\n\nDo it.\n"
	for name, c := range map[string]struct {
		answers     []string
		asked       int
		level       pipeline.Level
		corrections int
		status      pipeline.Status
	}{
		"at once":             {[]string{good}, 1, pipeline.LevelStrict, 0, "success"},
		"once":                {[]string{raw, good}, 2, pipeline.LevelCorrected, 1, "success"},
		"twice":               {[]string{raw, noSteps, good}, 3, pipeline.LevelCorrected, 2, "success"},
		"steps are missing":   {[]string{noSteps, noSteps, noSteps, noSteps}, 3, pipeline.LevelCorrected, 2, "failed"},
		"it never answers":    {[]string{raw, raw, raw, raw}, 3, pipeline.LevelRaw, 2, "partial"},
		"markdown, then JSON": {[]string{markdown, good}, 2, pipeline.LevelCorrected, 1, "success"},
		"markdown, then less": {[]string{markdown, raw, raw}, 3, pipeline.LevelMarkdown, 2, "partial"},
	} {
		t.Run(name, func(t *testing.T) {
			y := shellYard(t)
			y.config.Knowledge = newShelf()
			y.config.From, y.config.To = "planning", "planning"
			y.with("planning", func(_, _ string, n int) string { return c.answers[min(n, len(c.answers)-1)] })
			if _, _, err := y.run(nil); err != nil {
				t.Fatal(err)
			}
			var got pipeline.Result
			for _, r := range pipeline.Results(y.events()) {
				got = r
			}
			if n := len(y.prompts("BMAD planning")); n != c.asked || got.JSON != c.level || got.Corrections != c.corrections || got.Status != c.status || len(y.warnings("json_correction")) != c.corrections {
				t.Errorf("asked %d times: %s, %d corrections, %s, %q", n, got.JSON, got.Corrections, got.Status, got.Warnings)
			}
			if c.asked == 3 && !slices.ContainsFunc(y.prompts("YOUR ANSWER 1:", "YOUR LAST ANSWER:"), func(p string) bool { return strings.Contains(p, "WHAT CAME OF IT:") }) {
				t.Error("it does not see what it has answered")
			}
		})
	}
}

// A builder is asked for texts beside the JSON once its JSON could not be read, and only then.
func TestTextsBesideTheJSONAreAskedForAfterBrokenJSON(t *testing.T) {
	const ask = "Write code as blocks beside the JSON"
	for _, c := range []struct {
		edits  string
		first  string
		blocks []bool // whether each request asks for blocks
	}{
		{"", "no JSON", []bool{false, true}}, {"json", "no JSON", []bool{false, false}}, {"blocks", "no JSON", []bool{true, true}}, {"blocks", "", []bool{true}}, {"", "", []bool{false}},
	} {
		t.Run(fmt.Sprint(c.edits, c.first), func(t *testing.T) {
			y := shellYard(t)
			y.config.Repository.Edits = c.edits
			y.with("planning", func(string, string, int) string { return thought("planning", yardStep("1", "First", nil)) })
			y.with("implementation", func(step, _ string, n int) string {
				if n == 0 && c.first != "" {
					return c.first
				}
				return y.usual("implementation", step)
			})
			y.mustRun(pipeline.OutcomeDelivered)
			var got []bool
			for _, p := range y.prompts("BMAD implementation") {
				got = append(got, strings.Contains(p, ask))
			}
			if !slices.Equal(got, c.blocks) {
				t.Errorf("got %v", got)
			}
		})
	}
}

package pipeline

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// lines decodes a file of the corpus, one T per line.
func lines[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	file, err := os.Open(corpus.Path(t, "json-repair/"+name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line T
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Nothing that was not written for a phase passes for its answer.
func TestTextsOfOthersPassForNoPhase(t *testing.T) {
	var texts []string
	for _, p := range lines[struct{ Input string }](t, "pairs.jsonl") {
		texts = append(texts, p.Input)
	}
	for _, real := range lines[struct{ Text string }](t, "real-llm-outputs.jsonl") {
		texts = append(texts, real.Text)
	}
	for _, phase := range builtInPhases {
		c := contractOf(t, phase)
		for _, text := range texts {
			if parsed, err := c.Parse(text); parsed.Level != LevelRaw || err != nil {
				t.Errorf("%s: %.100q passed as %s, %v", phase, text, parsed.Level, err)
			}
		}
	}
}

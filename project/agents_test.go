package project_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project"
)

// Whoever misspells the name of a flow, or of an agent of troupe.yaml, is told what there is.
func TestWhatThereIsIsSaidToWhoeverMisspellsIt(t *testing.T) {
	p := open(t, write(t, "agents: {writer: {instructions: Write.}}\nflows: {article: {sequence: [writer]}}\n"), project.Options{})
	for name, want := range map[string]string{"artcle": "did you mean article?", "writr": "did you mean writer?", "zoe": "there are: writer, article"} {
		if _, err := p.Step(t.Context(), name); !errors.Is(err, bundle.ErrNoAgent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Agent(t.Context(), "article"); err == nil || !strings.Contains(err.Error(), "it is a flow") {
		t.Errorf("a flow as an agent: %v", err)
	}
}

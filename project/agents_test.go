package project_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/corpus"
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

// An agent that nobody has described says in its author's words who it is, in one sentence.
func TestAnAgentIsListedWithASentence(t *testing.T) {
	dir := write(t, "model: rehearsal\n")
	if err := os.CopyFS(dir, os.DirFS(corpus.Path(t, "bmad/installed-6.0.4"))); err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, a := range open(t, dir, project.Options{}).Agents() {
		about[a.Name] = a.About
	}
	if got, want := about["Mary"], "Senior analyst with deep expertise in market research, competitive analysis, and requirements elicitation."; got != want {
		t.Errorf("Mary: %q, want %q", got, want)
	}
	for _, name := range []string{"Winston", "John", "Sally"} {
		if !strings.HasSuffix(about[name], ".") {
			t.Errorf("%s: %q", name, about[name])
		}
	}
}

// An agent of troupe.yaml is listed with its tools, as one of a bundle is: those that are meant, by
// their names.
func TestAnAgentOfTheConfigurationIsListedWithItsTools(t *testing.T) {
	dir := write(t, "agents:\n  writer: {instructions: Write., tools: [calculator, \"*_file\", read_file, \"calendar__*\"], commands: [go test]}\n  poet: {instructions: Rhyme.}\nmcp: {calendar: {url: \"http://127.0.0.1:1/mcp\"}}\n")
	want := map[string]string{"writer": "calculator edit_file read_file write_file calendar__* run_command", "poet": ""}
	for _, a := range open(t, dir, project.Options{}).Agents() {
		if got := strings.Join(a.Tools, " "); got != want[a.ID] {
			t.Errorf("%s has %q, not %q", a.ID, got, want[a.ID])
		}
	}
}

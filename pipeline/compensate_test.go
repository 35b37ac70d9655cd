package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// claimed are the ways in which agents try to write files themselves.
var claimed = map[string]struct {
	text string
	want string // act, path and content
}{
	"a claim":            {"I have saved the file to specs/plan.md.", "write specs/plan.md "},
	"an upload":          {"I've uploaded the plan as docs/plan.md to the knowledge base.", "upload docs/plan.md "},
	"a call":             {`{"name": "write_file", "arguments": {"path": "a/b.go", "content": "package b\n"}}`, "write a/b.go package b\n"},
	"a call in a call":   {`<tool_call>{"function": {"name": "Write", "arguments": "{\"file_path\": \"c.md\", \"content\": \"c\"}"}}</tool_call>`, "write c.md c"},
	"a call of MCP":      {`{"tool": "mcp__gkchatty_kb__upload_to_gkchatty", "input": {"file_path": "/tmp/x.md"}}`, "upload /tmp/x.md "},
	"tags":               {"<invoke name=\"Write\"><parameter name=\"file_path\">d.txt</parameter><parameter name=\"content\">d</parameter></invoke>", "write d.txt d"},
	"a block":            {"```go cmd/main.go\npackage main\n```\n", "write cmd/main.go package main\n"},
	"a block with title": {"**`src/app.ts`**\n\n```ts\nlet x = {};\n```\n", "write src/app.ts let x = {};\n"},
	"another tool":       {`{"tool": "run_shell", "args": {"command": "rm -r /"}}`, "tool  "},
}

// clumsy is an agent that says something before its answer.
func clumsy(text string) func(phase, prompt string) string {
	return func(phase, prompt string) string { return text + "\n\n" + goodAnswer(phase, prompt) }
}

func TestAttemptedIOIsAProposal(t *testing.T) {
	for name, c := range claimed {
		for _, perform := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", perform), func(t *testing.T) {
				w := newWorld(t)
				w.answer = clumsy(c.text)
				config := w.config()
				config.Compensate, config.To = perform, "requirements"
				s, _ := mustEnd(t, deliver(t, config))
				r := s.result("requirements")
				if len(r.Proposals) != 1 || s.codes()["migration"] != 1 {
					t.Fatalf("got %+v, warned %v", r.Proposals, s.codes())
				}
				p := r.Proposals[0]
				if got := p.Act + " " + p.Path + " " + p.Content; got != c.want {
					t.Errorf("got %q", got)
				}
				complete := p.Path != "" && p.Content != ""
				if p.Performed != (perform && complete) || w.files()[p.Path] != p.Content && p.Performed {
					t.Errorf("got %+v, wrote %v", p, w.files())
				}
				if n := len(w.files()); n != 1+map[bool]int{true: 1}[p.Performed] {
					t.Errorf("it wrote %v", w.files())
				}
			})
		}
	}
}

func TestCompensationStaysInsideTheOutputRoot(t *testing.T) {
	w := newWorld(t)
	w.answer = clumsy(`{"name": "write_file", "arguments": {"path": "../../escape.md", "content": "x"}}`)
	c := w.config()
	c.Compensate, c.To = true, "requirements"
	s, _ := mustEnd(t, deliver(t, c))
	r := s.result("requirements")
	if a := r.Artifacts[len(r.Artifacts)-1]; a.State != pipeline.StateFailed || len(w.files()) != 1 {
		t.Errorf("got %+v, wrote %v", a, w.files())
	}
}

func TestAnArtifactIsNoAttempt(t *testing.T) {
	w := newWorld(t)
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		answer["artifacts"] = []object{{"name": "a.md", "path": "docs/a.md", "type": "file",
			"content": "I have saved the file to x/y.md\n```go main.go\npackage main\n```\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"z.md\",\"content\":\"z\"}}\n"}}
		answer["outputs"].(object)["constraints"] = []string{"The document was saved to docs/a.md"}
		return encode(answer)
	}
	c := w.config()
	c.Compensate, c.To = true, "requirements"
	s, _ := mustEnd(t, deliver(t, c))
	if r := s.result("requirements"); r.Proposals != nil || len(w.files()) != 1 {
		t.Errorf("got %+v, wrote %v", r.Proposals, w.files())
	}
}

func TestAClaimInsideTheAnswerIsFound(t *testing.T) {
	w := newWorld(t)
	w.answer = func(phase, prompt string) string {
		answer := output(phase)
		answer["outputs"].(object)["constraints"] = []string{"I have written the stories to specs/stories.md"}
		return encode(answer)
	}
	c := w.config()
	c.To = "requirements"
	s, _ := mustEnd(t, deliver(t, c))
	if p := s.result("requirements").Proposals; len(p) != 1 || p[0].Path != "specs/stories.md" {
		t.Errorf("got %+v", p)
	}
}

func TestManyAttemptsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.answer = clumsy(strings.Repeat("```go a.go\nx\n```\n", 500) + strings.Repeat("{", 10_000))
	c := w.config()
	c.To = "requirements"
	s, _, err := begin(t, deliver(t, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.result("requirements").Proposals); n == 0 || n > 60 {
		t.Errorf("%d proposals", n)
	}
	if !slices.Contains([]pipeline.Level{pipeline.LevelExtracted, pipeline.LevelRaw}, s.result("requirements").JSON) {
		t.Errorf("got %s", s.result("requirements").JSON)
	}
}

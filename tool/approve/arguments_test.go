package approve_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/troupetest"
)

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// A loose tool is one of an MCP server, say: its schema leaves out that there is nothing
// else, and it reads names in any case.
type loose struct{ schema, called string }

func (l *loose) Spec() troupe.ToolSpec {
	return troupe.ToolSpec{Name: "fetch", Input: json.RawMessage(l.schema)}
}

func (l *loose) Call(_ context.Context, in *troupe.Invocation) (troupe.Result, error) {
	l.called = string(in.Arguments)
	return troupe.Result{Content: "done"}, nil
}

func TestArgumentsThatAreNotTheToolsAreRefusedBeforeAnyRule(t *testing.T) {
	policy := approve.Policy{
		{Tool: "fetch", Where: map[string]string{"url": "https://evil.example/**"}, Do: approve.Deny},
		{Tool: "fetch", Where: map[string]string{"url": "https://asked.example/**"}, Do: approve.Ask},
	}
	const (
		plain  = `{"type":"object","properties":{"url":{"type":"string"},"options":{"type":"object","properties":{"depth":{"type":"integer"}}},"list":{"type":"array","items":{"type":"object","properties":{"a":{}}}}}}`
		open   = `{"type":"object","properties":{"url":{"type":"string"}},"additionalProperties":true}`
		nobody = `{"type":"object"}`
	)
	for _, c := range []struct{ schema, arguments, refusal string }{
		{plain, `{"url":"https://fine.example/"}`, ""},
		{plain, `{"url":"x","options":{"depth":1},"list":[{"a":1}]}`, ""},
		{plain, `{"URL":"https://evil.example/"}`, `it is written "url"`},
		{plain, `{"url":"https://fine.example/","Url":"https://evil.example/"}`, "given twice"},
		{plain, `{"url":"https://fine.example/","url":"https://evil.example/"}`, "given twice"},
		{plain, `{"url":"https://fine.example/","\u0075rl":"https://evil.example/"}`, "given twice"},
		{plain, `{"url":"https://fine.example/","uRſ":1}`, "there is no argument"},
		{plain, `{"target":"https://evil.example/"}`, "there is no argument /target; there are: list, options, url"},
		{plain, `{"url":"x","options":{"Depth":1}}`, `it is written "depth"`},
		{plain, `{"url":"x","options":{"depth":1,"more":1}}`, "there is no argument /options/more"},
		{plain, `{"url":"x","list":[{"A":1}]}`, `it is written "a"`},
		{open, `{"url":"x","more":1}`, ""},
		{open, `{"more":1,"More":2}`, "given twice"},
		{open, `{"Url":"https://evil.example/"}`, `it is written "url"`},
		{nobody, `{"whatever":1}`, ""},
		{nobody, `{"URL":"https://evil.example/"}`, `it is written "url"`},
		{nobody, `{"deep":{"x":1,"X":2}}`, "given twice"},
	} {
		tool := &loose{schema: c.schema}
		_, err := policy.Tools(tool)[0].Call(t.Context(), &troupe.Invocation{Arguments: json.RawMessage(c.arguments)})
		switch {
		case c.refusal == "" && (err != nil || tool.called != c.arguments):
			t.Errorf("%s: %v", c.arguments, err)
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal) || tool.called != ""):
			t.Errorf("%s: got %v, called %q, want %q", c.arguments, err, tool.called, c.refusal)
		}
	}
}

func ask(t *testing.T, arguments string) string {
	t.Helper()
	_, err := approve.Policy{{Tool: "*", Do: approve.Ask}}.Tools(&loose{schema: `{"type":"object"}`})[0].Call(t.Context(), &troupe.Invocation{Arguments: json.RawMessage(arguments)})
	if err == nil {
		t.Fatal("nobody is asked")
	}
	return err.Error()
}

func TestAQuestionShowsTheArgumentsDecodedAndWhole(t *testing.T) {
	got := ask(t, `{"url":"\u0068ttps://ex\u0061mple.org/%20","n":1e3,"text":"one\ntwo\n  three\u202egnp.exe\u001b[2J\n","flag":true,"digits":"12","empty":"","list":["a",{"b":null}],"none":{},"o":{"k":"\u00a0x"},"idn":"https://ex\u0430mple.org/"}`)
	want := `May I call fetch with these arguments? (yes or no)

    url: https://example.org/%20
    n: 1e3
    text: (30 bytes)
        one
        two
          three[U+202E]gnp.exe[U+001B][2J
    flag: true
    digits: "12"
    empty: ""
    list:
        - a
        -
            b: null
    none: {}
    o:
        k: "[U+00A0]x"
    idn: https://exаmple.org/
        (its host is xn--exmple-4nf.org)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ask(t, `{}`); got != "May I call fetch? It takes no arguments. (yes or no)" {
		t.Error(got)
	}
}

func TestALongQuestionIsNotCut(t *testing.T) {
	long := strings.Repeat("harmless line\n", 20_000) + "rm -rf /"
	got := ask(t, `{"script":`+quoted(long)+`}`)
	if !strings.Contains(got, "\n        rm -rf /") || strings.Count(got, "harmless line") != 20_000 {
		t.Errorf("%d bytes shown", len(got))
	}
	for i, line := range strings.Split(got, "\n")[2:] {
		if !strings.HasPrefix(line, "    ") {
			t.Fatalf("line %d is %q: a program could take it for markup, or a person for another argument", i, line)
		}
	}
}

func TestWhereSomethingGoesIsReadBeforeAllOfWhatGoesThere(t *testing.T) {
	got := ask(t, `{"content":`+quoted(strings.Repeat("line\n", 20))+`,"path":"a.md","note":"one\ntwo"}`)
	want := "May I call fetch with these arguments? (yes or no)\n\n    path: a.md\n    note: (7 bytes)\n        one\n        two\n    content: (100 bytes)\n        line\n"
	if !strings.HasPrefix(got, want) || strings.Count(got, "        line") != 20 {
		t.Errorf("got\n%s", got)
	}
}

// An argument by another tool's name has its own before a rule or a person is asked: what
// they see is what is carried out.
func TestRulesAndPeopleSeeArgumentsUnderTheirOwnNames(t *testing.T) {
	type edit struct {
		Search  string `json:"search"`
		Replace string `json:"replace"`
	}
	type request struct {
		FilePath string `json:"file_path"`
		Edits    []edit `json:"edits"`
	}
	var done []request
	tool := troupe.NewTool("edit_file", "Edits.", func(_ context.Context, in request) (string, error) {
		done = append(done, in)
		return "edited", nil
	})
	policy := approve.Policy{
		{Tool: "edit_file", Where: map[string]string{"file_path": "secret/*"}, Do: approve.Deny},
		{Tool: "edit_file", Do: approve.Ask},
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "ada", Tools: policy.Tools(tool), Model: troupetest.NewScript(nil,
		troupetest.Call("edit_file", `{"path":"secret/key","old_str":"a","new_str":"b"}`),
		troupetest.Call("edit_file", `{"path":"notes.md","old_str":"a","new_str":"b"}`), troupetest.Say("Done."))})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "go"}))
	if err != nil || outcome.Stop != "input_requested" || len(done) != 0 {
		t.Fatalf("%s, %v, done: %v", outcome.Stop, err, done)
	}
	for _, part := range []string{"file_path: notes.md", "search", "replace"} {
		if !strings.Contains(outcome.Text, part) {
			t.Errorf("the question lacks %q:\n%s", part, outcome.Text)
		}
	}
	if err := engine.Answer(t.Context(), outcome.Session, outcome.Handoff.Meta.Asked, troupe.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := troupe.Collect(engine.Resume(t.Context(), agent, outcome.Session)); err != nil {
		t.Fatal(err)
	}
	if len(done) != 1 || done[0].FilePath != "notes.md" || len(done[0].Edits) != 1 || done[0].Edits[0] != (edit{"a", "b"}) {
		t.Errorf("done: %+v", done)
	}
}

package project_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

type stockRequest struct {
	SKU string `json:"sku"`
}

func stock() troupe.Tool {
	return troupe.NewTool("stock", "How many are in stock.", func(_ context.Context, in stockRequest) (int, error) { return 42, nil })
}

// A tool of the program is one that troupe.yaml can name: of an agent by itself, in a flow
// and behind the server, and the rules decide on its calls as on all others.
func TestAgentsOfTroupeYAMLHaveToolsOfTheProgram(t *testing.T) {
	call := troupetest.ServeCalls(troupe.ToolCall{ID: "1", Name: "stock", Arguments: `{"sku":"A1"}`})
	yaml := func(url string) string {
		return strings.Replace(withServer(url), "[calculator]", "[calculator, stock]", 1)
	}
	for _, c := range []struct {
		step, rules, stop, result string
		texts                     int
	}{
		{"clerk", "", "answered", "42", 1},
		{"both", "", "answered", "42", 2},
		{"clerk", "approve: [{tool: stock, where: {sku: A*}, do: ask}]\n", "input_requested", "", 0},
		{"both", "approve: [{tool: stock, do: deny}]\n", "answered", "may not be called", 2},
	} {
		model := troupetest.NewServer(t, append([]troupetest.Exchange{call}, slices.Repeat([]troupetest.Exchange{troupetest.ServeText("There are 42.")}, c.texts)...)...)
		p := open(t, write(t, yaml(model.URL)+c.rules), project.Options{Tools: []troupe.Tool{stock()}})
		step, err := p.Step(t.Context(), c.step)
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), step, troupe.Input{Text: "How many A1?"}))
		if err != nil || outcome.Stop != c.stop {
			t.Errorf("%s %s: %s, %v", c.step, c.rules, outcome.Stop, err)
		}
		result := ""
		for e, err := range engine(t, p).Events(t.Context(), outcome.Session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := e.Body.(*troupe.ToolReturned); ok {
				result = b.Content
			}
		}
		if !strings.Contains(result, c.result) || (result == "") != (c.result == "") {
			t.Errorf("%s %s: the call came to %q", c.step, c.rules, result)
		}
		for _, agent := range p.Agents() {
			if agent.Broken != "" {
				t.Errorf("%s is broken: %s", agent.ID, agent.Broken)
			}
		}
	}
}

// A name that nothing provides is told where the project is opened, with its line, in every
// place that names tools.
func TestOpenReportsToolsOfNobody(t *testing.T) {
	const agents = "agents:\n  clerk:\n    instructions: x\n"
	for _, c := range []struct{ yaml, want string }{
		{agents + "    tools: [calculator, stok]\n", "troupe.yaml:4: agents.clerk.tools: there is no tool stok; did you mean stock?"},
		{agents + "    tools:\n      - calculator\n      - fly\n", "troupe.yaml:6: agents.clerk.tools: there is no tool fly; there are "},
		{agents + "    tools: [fly]\n", "a tool that a program brings (project.Options.Tools) is not known to any other program"},
		{"agents:\n  \"*\": {tools: [calculator, stok]}\n  clerk: {instructions: x}\n", "troupe.yaml:2: agents.*.tools: there is no tool stok; did you mean stock?"},
		{agents + "approve:\n  - {tool: calculator, do: allow}\n  - {tool: stok, do: deny}\n", "troupe.yaml:6: approve: there is no tool stok; did you mean stock?"},
		{agents + "approve:\n  - {tool: stock, where: {sko: A*}, do: deny}\n", "troupe.yaml:5: approve: the tool stock has no argument sko; did you mean sku?"},
		{agents + "approve: [{tool: write_file, where: {file_pth: \"*\"}, do: deny}]\n", "troupe.yaml:4: approve: the tool write_file has no argument file_pth; did you mean "},
		{agents + "engine: workers\nstore: postgres://127.0.0.1:1/x\nqueues:\n  - {name: first, tools: [stock]}\n  - {name: second, tools: [stok]}\n", "troupe.yaml:8: queues: second: there is no tool stok; did you mean stock?"},
		{agents + "approve: [{tool: \"*_file\", where: {file_pth: \"*\"}, do: deny}]\n", "no tool that *_file means has an argument file_pth"},
	} {
		p, err := project.Open(write(t, c.yaml), project.Options{LookupEnv: env, Tools: []troupe.Tool{stock()}})
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\nis told as %v\nnot as  %s", c.yaml, err, c.want)
		}
	}
}

// What may be a tool is not refused: of servers that are asked later, of editors, of agents
// that are tools, and of deliveries.
func TestOpenKnowsEveryNameThatAToolMayHave(t *testing.T) {
	open(t, write(t, `
mcp: {files: {command: files-server}}
agents:
  clerk: {instructions: x, tools: [files__*, "files__read", "calc*"], commands: [go test]}
  poet: {instructions: x, tools: [bundle]}
flows: {both: {sequence: [clerk, poet]}}
approve:
  - {tool: files__write, where: {path: "*"}, do: ask}
  - {tool: editor__write, do: ask}
  - {tool: "*", where: {url: "*"}, do: ask}
  - {tool: run_command, where: {command: "*"}, do: ask}
  - {tool: save_output, where: {file_path: "*"}, do: ask}
  - {tool: use_skill, do: ask}
  - {tool: clerk, do: ask}
  - {tool: commit_step, do: ask}
  - {tool: "delete_*", do: deny}
`), project.Options{})
}

// A program that has no such tools, as troupe has none of other programs, opens the project
// all the same where it says so, and tells whoever asks.
func TestUnknownToolsAreWarnedOfWhereTheyAreAllowed(t *testing.T) {
	p := open(t, write(t, "agents:\n  clerk: {instructions: x, tools: [stock, \"pay*\"]}\n  poet: {instructions: x}\napprove: [{tool: pay, do: deny}]\n"), project.Options{Model: "rehearsal", AllowUnknownTools: true})
	if told := strings.Join(p.Warnings(), "\n"); !strings.Contains(told, "agents.clerk.tools: there is no tool stock") || !strings.Contains(told, "approve: there is no tool pay") {
		t.Errorf("warnings %s", told)
	}
	for rule, want := range map[string]string{
		"{tool: pay, do: deny}":                                   "troupe.yaml:2: approve: there is no tool pay",
		"{tool: calculator, where: {expresion: \"*\"}, do: deny}": "troupe.yaml:2: approve: the tool calculator has no argument expresion; did you mean expression?",
	} {
		wrong, err := project.Open(write(t, "agents: {clerk: {instructions: x, tools: [stock, calculator]}}\napprove: ["+rule+"]\n"), project.Options{LookupEnv: env, AllowUnknownTools: true})
		if err == nil {
			wrong.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if _, err := p.Agent(t.Context(), "poet"); err != nil {
		t.Error(err)
	}
	_, err := p.Agent(t.Context(), "clerk")
	if err == nil || !strings.Contains(err.Error(), "there is no tool stock") || !strings.Contains(err.Error(), "not known to any other program") {
		t.Errorf("the agent cannot be made because %v", err)
	}
}

// Who lints a project whose program has tools is not told that it is broken; who mistyped a
// name is.
func TestLintWarnsOfToolsThatAProgramMayHave(t *testing.T) {
	for yaml, want := range map[string][2]int{ // errors and warnings
		"agents: {clerk: {instructions: x, tools: [stock]}}\napprove: [{tool: stock, do: ask}]\n":      {0, 2},
		"agents: {clerk: {instructions: x, tools: [calculatr]}}\n":                                     {1, 0},
		"agents: {clerk: {instructions: x, tools: [stock]}}\napprove: [{tool: refund, do: ask}]\n":     {1, 1},
		"agents: {clerk: {instructions: x, tools: [stock]}}\napprove: [{tool: calculatr, do: deny}]\n": {1, 1},
		"agents: {clerk: {instructions: x, read: {all: .}, write: {docs: ./docs}}}\n":                  {0, 1}, // it may be where it is used
	} {
		report, err := project.Lint(write(t, yaml), env)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{report.Errors(), len(report.Findings) - report.Errors()}; got != want {
			t.Errorf("%s: %v errors and warnings, not %v: %+v", yaml, got, want, report.Findings)
		}
	}
}

func TestToolsOfAProgramHaveNamesOfTheirOwn(t *testing.T) {
	named := func(name string) troupe.Tool {
		return troupe.NewTool(name, "x", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	dir := write(t, "mcp: {files: {command: files-server}}\nagents: {a: {instructions: x}}\n")
	for _, c := range []struct {
		tools []troupe.Tool
		want  string
	}{
		{[]troupe.Tool{nil}, "tool 1 is nil"},
		{[]troupe.Tool{stock(), stock()}, "there are two tools stock"},
		{[]troupe.Tool{named("calculator")}, "calculator is the name of a tool that comes with Troupe"},
		{[]troupe.Tool{named("save_output")}, "save_output is the name of a tool that comes with Troupe"},
		{[]troupe.Tool{named("use_skill")}, "use_skill is the name of a tool that comes with Troupe"},
		{[]troupe.Tool{named("run_command")}, "run_command is the name"},
		{[]troupe.Tool{named("bundle")}, "bundle is the name"},
		{[]troupe.Tool{named("files__read")}, "files__read is the name of a tool of the MCP server files"},
	} {
		p, err := project.Open(dir, project.Options{LookupEnv: env, Tools: c.tools})
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("told as %v, not as %s", err, c.want)
		}
	}
}

// The names that Open goes by are those that agents of bundles have.
func TestNamesOfBundlesToolsAreThoseOfTheirAgents(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, project.Options{})
	specs, err := p.Catalog().Tools("mira", bundle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known := bundle.ToolNames()
	for _, spec := range specs {
		found := false
		for _, name := range known {
			found = found || name == spec.Name
		}
		if !found {
			t.Errorf("%s is a tool of bundles, and not among their names", spec.Name)
		}
	}
	if len(specs) < 6 || len(known) > 8 {
		t.Errorf("%d tools and %d names", len(specs), len(known))
	}
}

package repo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/repo"
	"github.com/troupe-dev/troupe/troupetest"
)

// files is a repository in memory.
type files map[string]string

func (f files) Paths() (list []string) {
	for p := range f {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}
func (f files) Read(path string) (string, bool, error) { c, ok := f[path]; return c, ok, nil }
func (f files) Size(path string) int64                 { return int64(len(f[path])) }
func (f files) Load([]string) error                    { return nil }

// ask has an agent call tools, one after the other, and returns what it is told.
func ask(t *testing.T, c repo.Config, calls ...string) (told []string) {
	t.Helper()
	var turns []troupetest.Turn
	for _, call := range calls {
		name, arguments, _ := strings.Cut(call, " ")
		turns = append(turns, troupetest.Call(name, arguments))
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "a", Model: troupetest.NewScript(t, append(turns, troupetest.Say("done"))...), Tools: repo.Tools(c)})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{Limits: troupe.Limits{Turns: 100}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.ToolReturned); ok {
			told = append(told, b.Content)
		}
	}
	return told
}

func TestLooking(t *testing.T) {
	tree := files{"a.go": "package a\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n\ntype T struct{}\n\nfunc (t *T) Do() error { return nil }\n",
		"web/app.ts": "export function start() {}\nclass App {}\n", "web/deep/er/x.txt": "needle\nother\n", "bin": "\x00\x01", ".github/ci.yml": "on: push\n", "long.txt": strings.Repeat("line\n", 900)}
	var shown []string
	c := repo.Config{Open: func(context.Context, string) (repo.View, error) { return tree, nil },
		Shown: func(_, _, path, _ string) error { shown = append(shown, path); return nil },
		Diff:  func(_ context.Context, _, path, step string) (string, error) { return "diff " + path + step, nil }}
	for _, q := range []struct{ call, want string }{
		{`list_files {}`, "a.go  "}, {`list_files {}`, ".github/ci.yml"}, {`list_files {"depth":1}`, "web/  2 files"}, {`list_files {"glob":"*.ts"}`, "web/app.ts"}, {`list_files {"path":"nothing"}`, "there is nothing"},
		{`search_code {"pattern":"needle"}`, "web/deep/er/x.txt:1: needle"}, {`search_code {"pattern":"NEEDLE","ignore_case":true,"context":1}`, "web/deep/er/x.txt:2- other"},
		{`search_code {"pattern":"("}`, "missing closing"}, {`search_code {"pattern":"nowhere"}`, "no matches in 6 files"}, {`search_code {"pattern":"line"}`, "900 matches in all"},
		{`read_file {"path":"a.go"}`, "     4\tfunc Add"}, {`read_file {"path":"long.txt"}`, "[goes on at line 401]"}, {`read_file {"path":"long.txt","offset":899}`, "   900\tline"},
		{`read_file {"path":"app.ts"}`, "nearest: web/app.ts"}, {`read_file {"path":"bin"}`, "is binary"}, {`read_file {"path":"../../etc/passwd"}`, "there is nothing"},
		{`outline {"path":"a.go"}`, "a.go:4: func Add(a, b int) int"}, {`outline {"path":"a.go"}`, "a.go:8: func (*T) Do() error"}, {`outline {"path":"web"}`, "web/app.ts:2: class App {}"},
		{`show_diff {"step":"1"}`, "diff 1"},
	} {
		if got := ask(t, c, q.call); len(got) != 1 || !strings.Contains(got[0], q.want) {
			t.Errorf("%s: %q is not in %.400q", q.call, q.want, got)
		}
	}
	if !slices.Equal(shown, []string{"a.go"}) {
		t.Errorf("shown in full: %q", shown)
	}
}

func TestCallsRunOut(t *testing.T) {
	c := repo.Config{Calls: 12, Open: func(context.Context, string) (repo.View, error) { return files{"a": "x\n"}, nil }}
	var calls []string
	for i := range 14 {
		calls = append(calls, fmt.Sprintf(`search_code {"pattern":"x%d"}`, i))
	}
	got := ask(t, c, calls...)
	if strings.Contains(got[0], "calls left") || !strings.Contains(got[2], "9 calls left") || !strings.Contains(got[13], "used up") {
		t.Errorf("%q", got)
	}
}

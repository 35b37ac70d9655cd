package command_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/tool/command"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == command.SandboxArgument {
		os.Exit(command.SandboxMain())
	}
	os.Exit(m.Run())
}

// call has an agent call the tool, and returns what the model is told.
func call(t *testing.T, c command.Config, arguments string) string {
	t.Helper()
	tool, err := command.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return callTool(t, command.Words(tool), arguments)
}

func callTool(t *testing.T, tool troupe.Tool, arguments string) string {
	t.Helper()
	model := troupetest.NewScript(t, troupetest.Call("run_command", arguments), troupetest.Say("done"))
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "a", Model: model, Tools: []troupe.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	told := ""
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.ToolReturned); ok {
			told = b.Content
		}
	}
	return told
}

func config(t *testing.T, allow ...string) command.Config {
	dir := t.TempDir()
	return command.Config{
		Allow: allow, Cache: t.TempDir(), Helper: []string{os.Args[0], command.SandboxArgument},
		Dir: func(context.Context, string) (string, error) { return dir, nil },
	}
}

func TestOnlyWhatIsGrantedIsRun(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(home, ".troupe-command-test")
	if err := os.WriteFile(secret, []byte("hidden-thing"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret)
	for _, c := range []struct{ name, arguments, want string }{
		{"granted", `{"command":["echo","hello"]}`, "hello"},
		{"as one text", `{"command":"echo  'a  b' \"c\\\"d\" e\\ f"}`, `a  b c\"d e f`},
		{"as a list of one", `{"command":["echo one two"]}`, "one two"},
		{"as a list in a text", `{"command":"[\"echo\",\"x y\"]"}`, "x y"},
		{"a text that is not granted", `{"command":"git push"}`, "is not granted"},
		{"a text for a shell", `{"command":"echo a && rm -rf x"}`, "no shell here"},
		{"a text with a variable", `{"command":"echo \"$HOME\""}`, "no shell here"},
		{"a variable that is none", `{"command":"echo '$HOME'"}`, "$HOME"},
		{"open quotes", `{"command":"echo 'a"}`, "not closed"},
		{"an empty text", `{"command":"  "}`, "empty"},
		{"with any words", `{"command":["echo","a","b","c"]}`, "a b c"},
		{"not granted", `{"command":["rm","-rf","x"]}`, "is not granted"},
		{"a prefix is not it", `{"command":["echoes"]}`, "is not granted"},
		{"there is no shell", `{"command":["echo","$(id)","; rm x"]}`, "$(id) ; rm x"},
		{"another program's argument", `{"command":["git","push"]}`, "is not granted"},
		{"empty", `{"command":[]}`, "empty"},
		{"missing", `{"command":["no-such-program"]}`, "no such program"},
		{"in the sandbox", `{"command":["cat","` + secret + `"]}`, `"exit":1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := call(t, config(t, "echo *", "git status", "no-such-program", "cat *"), c.arguments)
			if !strings.Contains(got, c.want) || strings.Contains(got, "hidden-thing") {
				t.Errorf("got %s", got)
			}
		})
	}
	if _, err := command.New(config(t)); err == nil {
		t.Error("nothing is granted, and there is a tool")
	}
}

// What is kept for others is neither seen nor changed by a command.
func TestClosedPlacesAreClosedToCommands(t *testing.T) {
	c := config(t, "sh *")
	dir, _ := c.Dir(t.Context(), "")
	for name, content := range map[string]string{"troupe.yaml": "model: x", ".env": "hidden-key", "data/theirs.md": "hidden-work", "bmad/agent.md": "be good", "own.md": "mine"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.Hide = []string{filepath.Join(dir, "data"), filepath.Join(dir, ".env"), filepath.Join(dir, "not-there"), filepath.Join(dir, ".env.local"), filepath.Join(dir, "x.db")}
	c.Keep = []string{filepath.Join(dir, "troupe.yaml"), filepath.Join(dir, "bmad"), filepath.Join(dir, "_bmad"), filepath.Join(dir, ".bmad-core")}
	c.MustHide = true
	got := call(t, c, `{"command":["sh","-c","cat .env data/theirs.md data/*; echo evil > troupe.yaml; echo evil > bmad/agent.md; echo evil > bmad/new.md; echo evil > data/new.md; rm -rf data bmad troupe.yaml .env; mv bmad b2; mkdir -p _bmad/new; echo evil > _bmad/new/agent.md; echo evil > .bmad-core; mkdir .bmad-core/x; rmdir _bmad; mv _bmad b3; echo evil > .env.local; rm .env.local; cat troupe.yaml; echo new > own.md; cat own.md"]}`)
	if strings.Contains(got, "not run here") {
		t.Skip("there are no namespaces here: " + got)
	}
	if strings.Contains(got, "hidden-") || !strings.Contains(got, "model: x") || !strings.Contains(got, "new") {
		t.Errorf("got %s", got)
	}
	for name, content := range map[string]string{"troupe.yaml": "model: x", ".env": "hidden-key", "data/theirs.md": "hidden-work", "bmad/agent.md": "be good", "own.md": "new\n", "bmad/new.md": "", "data/new.md": ""} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != content {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"_bmad", ".bmad-core", ".env.local", "b2", "b3", "x.db", "not-there"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("there is %s now", name)
		}
	}
	c.Level = "files"
	if got := call(t, c, `{"command":["sh","-c","cat data/theirs.md"]}`); !strings.Contains(got, "not run here") {
		t.Errorf("without namespaces: %s", got)
	}
}

// A rule sees the words of a command, however the model has written it.
func TestRulesSeeWhatIsRun(t *testing.T) {
	tool, err := command.New(config(t, "echo *"))
	if err != nil {
		t.Fatal(err)
	}
	policy := approve.Policy{{Tool: "run_command", Where: map[string]string{"command": `["echo","secret"*`}, Do: approve.Deny}, {Tool: "*", Do: approve.Allow}}
	guarded := command.Words(policy.Tools(tool)[0])
	for arguments, want := range map[string]string{
		`{"command":["echo","secret"]}`:       "may not be called",
		`{"command":"echo secret"}`:           "may not be called",
		`{"command":["echo 'secret' thing"]}`: "may not be called",
		`{"command":"echo \\secret"}`:         "may not be called",
		`{"command":"[\"echo\",\"secret\"]"}`: "may not be called",
		`{"Command":"echo secret"}`:           "command",
		`{"command":"echo plain"}`:            "plain",
	} {
		if got := callTool(t, guarded, arguments); !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

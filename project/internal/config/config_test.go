package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/troupe-dev/troupe/project/internal/config"
)

// environment is what tests look variables up in.
func environment(name string) (string, bool) {
	value, ok := map[string]string{
		"HOST": "models.test", "TURNS": "7", "SECRET": "canary-5c1e", "EMPTY": "",
	}[name]
	return value, ok
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("troupe.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryKeyIsRead(t *testing.T) {
	half, most, seed := 0.5, 4096, 11
	got := parse(t, `
model: openai/gpt-x
providers:
  local:
    type: openai
    base_url: http://${HOST}:8000/v1
    key_env: LOCAL_KEY
    headers: {X-Team: "a $${b}"}
    models:
      big: {window: 128_000, price: {input: 2.5, cached_input: 1, output: 10}}
bundles: [more/*, other]
core: bmad/core
skills: my-skills
data: state
agents:
  alex: {model: local/big, tools: [read_file], temperature: 0.5, top_p: 0.5, max_tokens: 4096, seed: 11, effort: low, read_project: true, read: {docs: ../docs}, write: {out: out}}
limits: {turns: "${TURNS}", tool_calls: 5, tokens: 1000, cost: 0.25, time: 5m, depth: -1, tool_timeout: 90s, attempts: 2, model_tries: 1}
mcp:
  docs: {command: npx, args: [-y, server], env: {A: b}}
  web: {url: https://mcp.test/}
flows: {review: {sequence: [a, {name: both, parallel: [b, c], quorum: 2, max_parallel: 1}], continue_on_error: true}}
web: {allow: [wiki.test], search: {engine: searxng, base_url: "https://search.test/", key_env: K}}
approve: [{tool: web_*, where: {url: "https://*"}, do: ask}]
pipeline: {output: out, project: ., approve: manual, compensate: true, phases: [{name: qa}, {name: legal, agent: alex, title: Lawyer, task: Check., path: l.md, schema: l.json, critical: [verdict]}]}
knowledge: {path: kb, user: ann, server: docs, style: memory, user_env: U, password_env: P}
log: {level: debug}
server: {addr: "127.0.0.1:7717", hosts: [t.test], users: {ann: ANN_TOKEN}}
`)
	want := &config.Config{
		Model: []string{"openai/gpt-x"},
		Providers: map[string]config.Provider{"local": {
			Type: "openai", BaseURL: "http://models.test:8000/v1", KeyEnv: "LOCAL_KEY",
			Headers: map[string]string{"X-Team": "a ${b}"},
			Models:  map[string]config.Model{"big": {Window: 128000, Price: config.Price{Input: 2.5, CachedInput: 1, Output: 10}}},
		}},
		Bundles: []string{"more/*", "other"}, Core: "bmad/core", Skills: []string{"my-skills"}, Data: "state",
		Agents: map[string]config.Agent{"alex": {
			Model: []string{"local/big"}, Tools: []string{"read_file"}, Temperature: &half, TopP: &half, MaxTokens: &most, Seed: &seed, Effort: "low",
			ReadProject: new(true), Read: map[string]string{"docs": "../docs"}, Write: map[string]string{"out": "out"},
		}},
		Limits: config.Limits{
			Turns: 7, ToolCalls: 5, Tokens: 1000, Cost: 0.25, Time: 5 * time.Minute, Depth: -1,
			ToolTimeout: 90 * time.Second, Attempts: 2, ModelTries: 1,
		},
		MCP: map[string]config.MCPServer{
			"docs": {Command: "npx", Args: []string{"-y", "server"}, Env: map[string]string{"A": "b"}},
			"web":  {URL: "https://mcp.test/"},
		},
		Flows: map[string]config.Flow{"review": {ContinueOnError: true, Sequence: []config.Part{{Name: "a", Line: 21},
			{Line: 21, Flow: &config.Flow{Name: "both", Parallel: []config.Part{{Name: "b", Line: 21}, {Name: "c", Line: 21}}, Quorum: 2, MaxParallel: 1}}}}},
		Web:     config.Web{Allow: []string{"wiki.test"}, Search: config.WebSearch{Engine: "searxng", BaseURL: "https://search.test/", KeyEnv: "K"}},
		Approve: []config.Approval{{Tool: "web_*", Where: map[string]string{"url": "https://*"}, Do: "ask"}},
		Pipeline: config.Pipeline{Output: "out", Project: ".", Approve: "manual", Compensate: true, Phases: []config.Phase{{Name: "qa"},
			{Name: "legal", Agent: "alex", Title: "Lawyer", Task: "Check.", Path: "l.md", Schema: "l.json", Critical: []string{"verdict"}}}},
		Knowledge: config.Knowledge{Path: "kb", User: "ann", Server: "docs", Style: "memory", UserEnv: "U", PasswordEnv: "P"},
		Log:       config.Log{Level: "debug"}, Server: config.Server{Addr: "127.0.0.1:7717", Hosts: []string{"t.test"}, Users: map[string]string{"ann": "ANN_TOKEN"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(config.Flow{})); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotSaidHasItsDefault(t *testing.T) {
	want := &config.Config{Data: "data", Skills: []string{"skills"}, Pipeline: config.Pipeline{Output: "delivery"}}
	for name, text := range map[string]string{"empty": "", "a comment": "# nothing\n", "keys without values": "model:\nlimits:\nagents:\n  alex:\n"} {
		got := parse(t, text)
		got.Agents = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAProjectWithoutAFileHasTheDefaults(t *testing.T) {
	dir := t.TempDir()
	c, err := config.Load(dir, environment)
	if err != nil || c.Path != "" || c.Data != "data" {
		t.Errorf("%+v, %v", c, err)
	}
	file := filepath.Join(dir, "troupe.yaml")
	if err := os.WriteFile(file, []byte("data: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = config.Load(dir, environment)
	if err != nil || c.Path != file || c.Data != "elsewhere" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestADirectoryInPlaceOfTheFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "troupe.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(dir, environment); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

func TestProblemsSayWhereAndWhatToDo(t *testing.T) {
	for text, want := range map[string]string{
		"modle: x":                                    `troupe.yaml:1: unknown key "modle"; did you mean model?`,
		"\n\nzebra: 1":                                `troupe.yaml:3: unknown key "zebra"; there are model, providers,`,
		"limits:\n  turn: 3":                          `troupe.yaml:2: unknown key "turn" in limits; did you mean turns?`,
		"limits: {turns: many}":                       `limits.turns must be a whole number, not "many"`,
		"limits: {time: 5}":                           `limits.time must be a duration such as 90s or 5m, not "5"`,
		"limits: {cost: .nan}":                        `limits.cost must be a number`,
		"limits:\n  cost: -1":                         `troupe.yaml:2: limits.cost must be more than 0; leave it out for no limit`,
		"limits: {cost: 0}":                           `limits.cost must be more than 0; leave it out for no limit`,
		"limits: {tokens: 0}":                         `limits.tokens must be more than 0`,
		"limits: {time: -5m}":                         `limits.time must be more than 0`,
		"limits: {turns: 0}":                          `limits.turns must not be 0: leave it out for the default, -1 is no limit`,
		"agents:\n  a: {model: []}":                   `troupe.yaml:2: agents.a.model has no model in it`,
		"model: []":                                   `troupe.yaml:1: model has no model in it; leave it out for the usual one`,
		"model: \"\"":                                 `troupe.yaml:1: model is empty: write provider/name, as in openai/gpt-4.1-mini, or rehearsal; leave it out for the usual one`,
		"data: d\nmodel: [\"\"]":                      `troupe.yaml:2: model is empty: write`,
		"model:\n  - a/b\n  - \" \"":                  `troupe.yaml:3: model is empty: write`,
		"agents:\n  a: {model: \"\"}":                 `troupe.yaml:2: agents.a.model is empty: write`,
		"server: {month_cost: 0}":                     `troupe.yaml:1: server.month_cost must be more than 0; leave it out for no limit`,
		"server:\n  month_cost: -1":                   `troupe.yaml:2: server.month_cost must be more than 0`,
		"agents: {a: {skills: []}}":                   `troupe.yaml:1: agents.a.skills must be true or false`,
		"limits: 5":                                   `limits must be a map of keys and values`,
		"limits: {turns: [1]}":                        `limits.turns must be a single value`,
		"bundles: {a: b}":                             `bundles must be a list`,
		"flows: [a]":                                  `flows must be a map`,
		"- a":                                         `troupe.yaml:1: troupe.yaml must be a map`,
		"model: a/b\nmodel: c/d":                      `troupe.yaml:2: model is there twice`,
		"log: {level: inf}":                           `log.level must be one of debug, info, warn, error, not "inf"; did you mean info?`,
		"data: ${NOWHERE}/x":                          `data: the environment variable NOWHERE is not set`,
		"data: ${not closed":                          `data: after ${ comes the name of an environment variable`,
		"a: &x 1\nb: *x":                              `troupe.yaml:1: anchors, aliases and merge keys are not used here`,
		"<<: {model: x}":                              `merge keys are not used here`,
		"model: !mine x":                              `tags such as !mine are not used here`,
		"model: a\n---\nmodel: b":                     `more than one document`,
		"model: [":                                    `this is not YAML`,
		"providers: {a/b: {}}":                        `the name of a provider has no slash`,
		"providers:\n  x:\n    base_url: ftp://a":     `troupe.yaml:3: providers.x.base_url must begin with http://`,
		"providers: {x: {models: {m: {window: -1}}}}": `neither window nor price is negative`,
		"mcp:\n  x: {args: [a]}":                      `troupe.yaml:2: mcp.x needs either a command or a url`,
		"mcp: {x: {command: a, url: http://b}}":       `mcp.x needs either a command or a url`,
		"? [a]\n: b":                                  `a key of troupe.yaml is not a plain word`,
	} {
		_, err := config.Parse("troupe.yaml", []byte(text), environment)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
		if _, ok := errors.AsType[config.Problems](err); err != nil && !ok {
			t.Errorf("%q: the error is a %T", text, err)
		}
	}
}

func TestAllProblemsAreReportedAtOnceInOrder(t *testing.T) {
	_, err := config.Parse("troupe.yaml", []byte("mcp: {x: {}}\nmodle: a\nlimits: {turns: x}\n"), environment)
	problems, _ := errors.AsType[config.Problems](err)
	if len(problems) != 3 || problems[0].Line != 1 || problems[1].Line != 2 || problems[2].Line != 3 {
		t.Errorf("problems: %v", err)
	}
}

func TestWhatCameFromTheEnvironmentIsInNoError(t *testing.T) {
	for _, text := range []string{
		"limits: {turns: '${SECRET}'}", "limits: {time: '${SECRET}'}", "log: {level: '${SECRET}'}",
		"providers: {x: {base_url: '${SECRET}'}}", "mcp: {x: {url: '${SECRET}'}}",
	} {
		_, err := config.Parse("troupe.yaml", []byte(text), environment)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestLimitsOfTheFileHold(t *testing.T) {
	deep := strings.Repeat("{a: ", 80) + "1" + strings.Repeat("}", 80)
	wide := "flows:\n" + strings.Repeat("  k: 1\n", 2001)
	for name, text := range map[string]string{"bytes": "#" + strings.Repeat("x", 256<<10), "depth": "flows: " + deep, "keys": wide} {
		if _, err := config.Parse("troupe.yaml", []byte(text), environment); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("model: openai/x\nlimits: {turns: 3, time: 5m}\nproviders: {a: {headers: {b: ${HOST}}}}")
	f.Add("agents: {a: {tools: [x], temperature: 0.5}}\nmcp: {x: {command: y}}\nflows: {a: {b: c}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("troupe.yaml", []byte(text), environment)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary-5c1e") && !strings.Contains(text, "canary-5c1e") {
			t.Fatalf("a value of the environment is in %v", err)
		}
	})
}

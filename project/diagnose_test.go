package project_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

// What every run would fail on, doctor finds first, and it leaves nothing behind.
func TestDoctorFindsWhatEveryRunWouldFailOn(t *testing.T) {
	for _, c := range []struct{ yaml, file, want string }{
		{yaml: "agents: {a: {instructions: x, tools: [calculatr]}}", want: "there is no tool calculatr; did you mean calculator?"},
		{yaml: "agents: {a: {instructions: x, tools: [web_search]}}", want: "web.search.engine says which search engine"},
		{yaml: "agents: {a: {instructions: x}}\nflows: {f: {sequence: [nobody]}}", want: "nobody"},
		{yaml: "agents: {a: {instructions: x}}\napprove: [{tool: web_fetch, where: {url: \"https://example.org*\"}, do: allow}]", want: "a star stands alone"},
		{yaml: "agents: {a: {instructions: x}}\nserver: {users: {ann: ANN_TOKEN}}", want: "the environment variable ANN_TOKEN"},
		{yaml: "agents: {a: {instructions: x}}\nserver: {users: {ann: CANARY}}", want: "has 17 characters, and 32 are the least"},
		{yaml: "agents: {a: {instructions: x}}\nweb: {allow: [\"not a host\"]}\n", want: ""},
		{yaml: "agents: {a: {instructions: x}}", file: "data/troupe.db", want: "troupe.db"},
		{yaml: "agents: {a: {instructions: x, tools: [calculator, \"read_*\"]}}", want: ""},
		{yaml: "agents: {a: {instructions: x, write: {docs: ./docs}}}", want: "agents.a.write.docs: there is no directory ./docs: make it"},
		{yaml: "agents: {\"*\": {read: {all: .}}, a: {instructions: x}}", want: ""},
	} {
		dir := write(t, c.yaml)
		if c.file != "" {
			file := filepath.Join(dir, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var broken []string
		for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: env}) {
			if check.Status == project.Broken {
				broken = append(broken, check.Message)
				if check.Fix == "" {
					t.Errorf("%s: nobody says what to do about %s", c.yaml, check.Message)
				}
			}
		}
		if all := strings.Join(broken, "; "); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: broken is %q, want %q", c.yaml, all, c.want)
		}
		if c.file == "" {
			if found, _ := os.ReadDir(dir); len(found) != 1 {
				t.Errorf("%s: it has left %v", c.yaml, found)
			}
		}
	}
}

// Whoever has an Ollama that runs and no key has agents that work: with a model that can
// call tools, before others one that is loaded.
func TestARunningOllamaIsUsedWhereNobodyHasChosen(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"nomic-embed-text:latest"},{"name":"gemma:2b"},{"name":"qwen3:8b"},{"name":"llama3.2:latest"}]}`)
		case "/api/ps":
			fmt.Fprint(w, `{"models":[{"name":"gemma:2b"},{"name":"llama3.2:latest"}]}`)
		case "/api/show":
			can := `["completion","tools"]`
			if strings.Contains(string(asked), "nomic") {
				can = `["embedding"]`
			} else if strings.Contains(string(asked), "gemma") {
				can = `["completion"]`
			}
			fmt.Fprintf(w, `{"capabilities":%s,"model_info":{"general.architecture":"x","x.context_length":40960}}`, can)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	none := func(string) (string, bool) { return "", false }
	dir := write(t, "agents: {a: {instructions: x}, b: {instructions: y, model: rehearsal}}\nproviders: {ollama: {base_url: \""+server.URL+"\"}}")
	open := func(o project.Options) *project.Project {
		p, err := project.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	p := open(project.Options{LookupEnv: none, LookForOllama: true})
	if ref, by := p.Model("a"); ref != "ollama/llama3.2" || by != "the Ollama that runs here" {
		t.Errorf("%s, chosen by %q", ref, by)
	}
	if _, isFound := p.FoundModel(); isFound {
		t.Error("a model counts as found before there is an agent that has it")
	}
	for _, name := range []string{"b", "a"} {
		if _, err := p.Step(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if ref, isFound := p.FoundModel(); isFound != (name == "a") || isFound && ref != "ollama/llama3.2" {
			t.Errorf("%s: %s, %t", name, ref, isFound)
		}
	}
	if p.Rehearses() {
		t.Error("it rehearses although there is a model")
	}
	if ref, _ := open(project.Options{LookupEnv: none}).Model("a"); ref != "rehearsal" {
		t.Errorf("%s, though nobody looks for one", ref)
	}
	no := func(name string) (string, bool) { return "no", name == "TROUPE_LOOK_FOR_OLLAMA" }
	if ref, _ := open(project.Options{LookupEnv: no, LookForOllama: true}).Model("a"); ref != "rehearsal" {
		t.Errorf("%s, though it is kept out", ref)
	}
	key := func(name string) (string, bool) { return "k", name == "OPENAI_API_KEY" }
	if ref, _ := open(project.Options{LookupEnv: key, LookForOllama: true}).Model("a"); ref != "openai/gpt-4.1-mini" {
		t.Errorf("%s, though there is a key", ref)
	}
	host := func(name string) (string, bool) { return server.URL, name == "OLLAMA_HOST" }
	p = open(project.Options{LookupEnv: host})
	if _, err := p.Step(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if ref, by := p.Model("a"); ref != "ollama/llama3.2" || by != "OLLAMA_HOST" {
		t.Errorf("%s, chosen by %q", ref, by)
	}
	if list := p.Models(t.Context()); !slices.ContainsFunc(list, func(m project.Model) bool { return m.Ref == "ollama/llama3.2" && m.Problem == "" }) {
		t.Errorf("listed are %+v", list)
	}
}

// A key that decides nothing by itself is not passed over in silence.
func TestKeysThatDecideNothingAreNamed(t *testing.T) {
	env := map[string]string{"AZURE_OPENAI_API_KEY": "k", "GITHUB_TOKEN": "k"}
	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	p, err := project.Open(write(t, "agents: {a: {instructions: x}}\nproviders: {ollama: {base_url: \"http://127.0.0.1:1\"}}"), project.Options{LookupEnv: lookup})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := "; AZURE_OPENAI_API_KEY is set: --model azure/NAME uses it; GITHUB_TOKEN is set: --model github/openai/gpt-4.1-mini uses it"
	if how := p.HowToChooseAModel(t.Context()); !strings.HasSuffix(how, want) {
		t.Error(how)
	}
	for _, source := range p.Providers() {
		if source.Name == "azure" && !source.IsSetUp || source.Name == "github" && source.IsSetUp {
			t.Errorf("%+v", source)
		}
	}
}

// An address without a key leads nowhere, and whoever has set it is told what is missing.
func TestAnAddressWithoutAKeyIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		"AZURE_OPENAI_ENDPOINT": "; AZURE_OPENAI_ENDPOINT is set, but no key: AZURE_OPENAI_API_KEY and --model azure/NAME use it",
		"AZURE_RESOURCE_NAME":   "; AZURE_RESOURCE_NAME is set, but no key: AZURE_OPENAI_API_KEY and --model azure/NAME use it",
		"DATABRICKS_HOST":       "; DATABRICKS_HOST is set, but no key: DATABRICKS_TOKEN and --model databricks/NAME use it",
		"AWS_REGION":            "pass --model provider/name",
	} {
		p, err := project.Open(write(t, "agents: {a: {instructions: x}}\nproviders: {ollama: {base_url: \"http://127.0.0.1:1\"}}"),
			project.Options{LookupEnv: func(asked string) (string, bool) { return "https://h.test", asked == name }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if how := p.HowToChooseAModel(t.Context()); !strings.HasSuffix(how, want) {
			t.Errorf("%s: %s", name, how)
		}
	}
}

// Quotes around a variable, which docker --env-file passes on, are no part of it.
func TestQuotesAroundAKeyAreNoPartOfIt(t *testing.T) {
	for _, quoted := range []string{`"sk-real"`, `'sk-real'`, ` "sk-real" `, `sk-real`} {
		var sent string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}))
		env := map[string]string{"OPENAI_API_KEY": quoted, "OPENAI_BASE_URL": `"` + server.URL + `/v1"`}
		p, err := project.Open(write(t, "agents: {a: {instructions: x, tools: []}}"), project.Options{LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok }})
		if err != nil {
			t.Fatal(err)
		}
		step, err := p.Step(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		engine, err := troupe.New(troupe.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := troupe.Collect(engine.Run(t.Context(), step, troupe.Input{Text: "Hi"})); err != nil || sent != "Bearer sk-real" {
			t.Errorf("%s: sent %q, %v", quoted, sent, err)
		}
		engine.Close()
		p.Close()
		server.Close()
	}
}

func TestAMisspeltVariableIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		"OPENAI_KEY": "OPENAI_KEY is set: the key of OpenAI is read from OPENAI_API_KEY", "CLAUDE_API_KEY": "read from ANTHROPIC_API_KEY", "GROK_API_KEY": "read from XAI_API_KEY", "GEMINI_KEY": "read from GEMINI_API_KEY",
	} {
		p, err := project.Open(write(t, "agents: {a: {instructions: x}}\nproviders: {ollama: {base_url: \"http://127.0.0.1:1\"}}"),
			project.Options{LookupEnv: func(asked string) (string, bool) { return "k", asked == name }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if how := p.HowToChooseAModel(t.Context()); !strings.HasSuffix(how, want) {
			t.Errorf("%s: %s", name, how)
		}
	}
}

// Whoever has an Ollama and has chosen nothing is told how to use it.
func TestARunningOllamaIsNamedWhereNobodyHasChosen(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/tags" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}`)
	}))
	defer server.Close()
	p, err := project.Open(write(t, "agents: {a: {instructions: x}}\nproviders: {ollama: {base_url: \""+server.URL+"\"}}"), project.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if hint := p.HowToChooseAModel(t.Context()); !strings.HasSuffix(hint, "Ollama is running here: --model ollama/qwen3:8b") {
		t.Error(hint)
	}
	server.Close()
	if hint := p.HowToChooseAModel(t.Context()); !strings.HasSuffix(hint, "--model provider/name") {
		t.Error(hint)
	}
}

// A model whose price nobody knows works under a limit in money where that is allowed, and
// where its provider reports what it bills.
func TestAModelOfUnknownPriceWorksWhereThatIsAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		yaml, ref string
		works     bool
	}{
		"allowed":  {"limits: {cost: 0.02, cost_unknown: allow}", "far/odd", true},
		"refused":  {"limits: {cost: 0.02}", "far/odd", false},
		"reported": {"limits: {cost: 0.02}", "openrouter/foo/unknown", true},
	} {
		dir := write(t, c.yaml+"\nagents: {a: {instructions: x}}\nproviders: {far: {base_url: \"http://models.example:1/v1\"}}")
		p, err := project.Open(dir, project.Options{Model: c.ref, LookupEnv: func(name string) (string, bool) { return "k", name == "OPENROUTER_API_KEY" },
			WrapModel: func(string, troupe.Model) (troupe.Model, error) {
				return troupetest.NewScript(t, troupetest.Say("Yes.")), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		step, err := p.Step(t.Context(), "a")
		if !c.works {
			if err == nil || !strings.Contains(err.Error(), "cost_unknown") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		engine, err := p.Engine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if outcome, err := troupe.Collect(engine.Run(t.Context(), step, troupe.Input{Text: "go"})); err != nil || outcome.Text != "Yes." {
			t.Errorf("%s: %q, %v", name, outcome.Text, err)
		}
	}
}

package project_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
)

// What every run would fail on, doctor finds first, and it leaves nothing behind.
func TestDoctorFindsWhatEveryRunWouldFailOn(t *testing.T) {
	for _, c := range []struct{ yaml, file, want string }{
		{yaml: "agents: {a: {instructions: x, tools: [calculatr]}}", want: "there is no tool calculatr; did you mean calculator?"},
		{yaml: "agents: {a: {instructions: x, tools: [web_search]}}", want: "web.search.engine says which search engine"},
		{yaml: "agents: {a: {instructions: x}}\nflows: {f: {sequence: [nobody]}}", want: "nobody"},
		{yaml: "agents: {a: {instructions: x}}\napprove: [{tool: web_fetch, where: {url: \"https://example.org*\"}, do: allow}]", want: "a star stands alone"},
		{yaml: "agents: {a: {instructions: x}}\nserver: {users: {ann: ANN_TOKEN}}", want: "the environment variable ANN_TOKEN"},
		{yaml: "agents: {a: {instructions: x}}\nweb: {allow: [\"not a host\"]}\n", want: ""},
		{yaml: "agents: {a: {instructions: x}}", file: "data/troupe.db", want: "troupe.db"},
		{yaml: "agents: {a: {instructions: x, tools: [calculator, \"read_*\"]}}", want: ""},
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
		for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }}) {
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

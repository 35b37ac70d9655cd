package project_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/project"
)

// An agent whose prompt and tools do not fit the window of its model, or barely, is named
// before anybody talks with it, with the figures. An Ollama says which window it uses.
func TestAnAgentThatDoesNotFitItsModelIsNamed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/api/show":
			held := 40960
			if strings.Contains(string(body), "tiny") {
				held = 4096
			} else if strings.Contains(string(body), "middling") {
				held = 6000
			}
			fmt.Fprintf(w, `{"capabilities":["completion","tools"],"model_info":{"x.context_length":%d}}`, held)
		case "/api/ps":
			fmt.Fprint(w, `{"models":[{"name":"m:latest","model":"m:latest","context_length":4096},{"name":"tiny:latest","model":"tiny:latest","context_length":4096},{"name":"middling:latest","model":"middling:latest","context_length":4096}]}`)
		default:
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		}
	}))
	defer server.Close()
	long := strings.Repeat("word ", 2400) // 3,000 tokens
	dir := write(t, "model: local/m\nproviders:\n  local: {base_url: \""+server.URL+"/v1\", models: {m: {window: 8000}, s: {window: 6000}, xs: {window: 3500}}}\n  ollama: {base_url: \""+server.URL+"/v1\"}\n"+
		"agents:\n  easy: {instructions: Be brief., tools: []}\n  fits: {instructions: "+long+", tools: []}\n  barely: {instructions: "+long+", tools: [calculator], model: local/s}\n"+
		"  large: {instructions: "+long+", tools: [calculator], model: local/xs}\n  small: {instructions: "+long+", tools: [], model: ollama/m}\n"+
		"  full: {instructions: "+long+", tools: [], model: ollama/tiny}\n  more: {instructions: "+long+", tools: [], model: ollama/middling}\n")
	found := map[string]project.Check{}
	for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }}) {
		found[check.Name] = check
	}
	for name, want := range map[string]struct {
		status       project.Status
		message, fix string
	}{
		"agent barely": {project.Warning, "it barely fits local/s: its prompt takes about 3000 tokens and its tools ", "agents.barely.model"},
		"agent large":  {project.Broken, "it does not fit local/xs: its prompt takes about 3000 tokens and its tools ", "agents.large.tools"},
		"agent small":  {project.Warning, "it barely fits ollama/m: its prompt takes about 3000 tokens and its tools 0, of a window of 4096; 1096 are left for the conversation", "start 'ollama serve' with OLLAMA_CONTEXT_LENGTH=16384; or choose"},
		"agent full":   {project.Warning, "it barely fits ollama/tiny", "choose a model with a larger window"},
		"agent more":   {project.Warning, "it barely fits ollama/middling", "OLLAMA_CONTEXT_LENGTH=6000; or choose"},
	} {
		if got := found[name]; got.Status != want.status || !strings.HasPrefix(got.Message, want.message) || !strings.Contains(got.Fix, want.fix) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if strings.Contains(found["agent full"].Fix, "OLLAMA") {
		t.Errorf("a window that the model does not hold: %+v", found["agent full"])
	}
	if found["agent easy"].Name != "" || found["agent fits"].Name != "" {
		t.Errorf("%+v, %+v", found["agent easy"], found["agent fits"])
	}
}

// Tools of MCP servers count, and one that cannot be reached is named. Nothing is left behind.
func TestToolsOfMCPServersCount(t *testing.T) {
	served := sdk.NewServer(&sdk.Implementation{Name: "wordy"}, nil)
	sdk.AddTool(served, &sdk.Tool{Name: "look", Description: strings.Repeat("word ", 3200)}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return served }, nil))
	defer server.Close()
	dir := write(t, "model: local/m\nproviders:\n  local: {base_url: \""+server.URL+"/v1\", models: {m: {window: 4500}}}\n"+
		"mcp:\n  wordy: {url: \""+server.URL+"\"}\n  gone: {url: \"http://127.0.0.1:1\"}\n  unused: {url: \"http://127.0.0.1:1\"}\n"+
		"agents:\n  plain: {instructions: Be brief., tools: []}\n  armed: {instructions: Be brief., tools: [\"wordy__*\", \"gone__*\"]}\n")
	found := map[string]project.Check{}
	for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: func(string) (string, bool) { return "", false }}) {
		found[check.Name] = check
	}
	if c := found["agent armed"]; c.Status != project.Warning || !strings.Contains(c.Message, "it barely fits local/m") || !strings.Contains(c.Message, "its tools 10") {
		t.Errorf("%+v", c)
	}
	if c := found["mcp gone"]; c.Status != project.Warning || !strings.Contains(c.Message, "cannot be reached") || !strings.Contains(c.Fix, "mcp.gone") {
		t.Errorf("%+v", c)
	}
	if found["agent plain"].Name != "" || found["mcp wordy"].Name != "" || found["mcp unused"].Name != "" {
		t.Errorf("%+v", found)
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !os.IsNotExist(err) {
		t.Errorf("something is left behind: %v", err)
	}
}

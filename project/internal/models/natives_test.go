package models_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// A request arrives at a real server in the protocol that the provider is known for,
// or that the configuration asks for.
func TestEveryProviderIsSpokenToInItsOwnProtocol(t *testing.T) {
	var got *http.Request
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/api/show" {
			body, _ := io.ReadAll(r.Body)
			got, sent = r, string(body)
		}
		http.Error(w, `{"error":{"message":"enough"}}`, http.StatusTeapot)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, test := range []struct{ name, ref, yaml, env, path, header, value, has string }{
		{"Anthropic", "anthropic/claude-x", "", "ANTHROPIC_API_KEY=k1 ANTHROPIC_BASE_URL=URL", "/v1/messages", "X-Api-Key", "k1", `"max_tokens"`},
		{"Anthropic with a token", "anthropic/claude-x", "", "ANTHROPIC_AUTH_TOKEN=k1 ANTHROPIC_BASE_URL=URL", "/v1/messages", "Authorization", "Bearer k1", `"max_tokens"`},
		{"Anthropic as chat", "anthropic/claude-x", "providers: {anthropic: {api: chat}}", "ANTHROPIC_API_KEY=k1 ANTHROPIC_BASE_URL=URL", "/v1/chat/completions", "X-Api-Key", "", `"stream_options"`},
		{"one of the user's own", "mine/m", "providers: {mine: {base_url: URL, api: messages, key_env: K}}", "K=k2", "/v1/messages", "X-Api-Key", "k2", `"max_tokens"`},
		{"Ollama", "ollama/m", "", "OLLAMA_HOST=HOST", "/api/chat", "", "", `"stream":true`},
		{"Ollama with a window", "ollama/m", "providers: {ollama: {models: {m: {window: 12345}}}}", "OLLAMA_HOST=HOST", "/api/chat", "", "", `"num_ctx":12345`},
		{"Ollama as chat", "ollama/m", "providers: {ollama: {base_url: URL/v1}}", "", "/v1/chat/completions", "", "", `"stream_options"`},
		{"Gemini", "gemini/gemini-x", "", "GEMINI_API_KEY=k3 GOOGLE_GEMINI_BASE_URL=URL", "/v1beta/models/gemini-x:streamGenerateContent", "X-Goog-Api-Key", "k3", `"contents"`},
		{"Gemini as chat", "gemini/gemini-x", "providers: {gemini: {api: chat}}", "GEMINI_API_KEY=k3 GOOGLE_GEMINI_BASE_URL=URL", "/v1beta/openai/chat/completions", "Authorization", "Bearer k3", `"stream_options"`},
		{"OpenAI's Responses", "openai/gpt-5", "providers: {openai: {api: responses}}", "OPENAI_API_KEY=k4 OPENAI_BASE_URL=URL/v1", "/v1/responses", "Authorization", "Bearer k4", `"store":false`},
		{"OpenAI", "openai/gpt-4.1-mini", "", "OPENAI_BASE_URL=URL/v1", "/v1/chat/completions", "", "", `"stream_options"`},
	} {
		fill := strings.NewReplacer("URL", server.URL, "HOST", host)
		env := strings.ReplaceAll(strings.ReplaceAll(test.env, "=URL", "="+server.URL), "=HOST", "="+host)
		c := chooser(t, "", fill.Replace(test.yaml), env)
		opened, err := c.Open(models.Choice{Ref: test.ref, From: "--model"})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got, sent = nil, ""
		for range opened.Model.Generate(t.Context(), &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "hello"}}}) {
		}
		switch {
		case got == nil:
			t.Errorf("%s: nothing was sent", test.name)
		case got.URL.Path != test.path || !strings.Contains(sent, test.has) || test.header != "" && got.Header.Get(test.header) != test.value:
			t.Errorf("%s: %s %v %s", test.name, got.URL.Path, got.Header, sent)
		}
	}
}

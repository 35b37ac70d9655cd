package models_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestListsLeaveOutWhatNoAgentCanUse(t *testing.T) {
	list, err := chooser(t, "", "", "OPENAI_API_KEY=k").Of(t.Context(), "openai")
	if err != nil || len(list) < 20 {
		t.Fatalf("%d models, %v", len(list), err)
	}
	if first := list[0].Ref; first != "openai/gpt-4.1-mini" {
		t.Errorf("%s is listed first, and not the usual one", first)
	}
	for _, l := range list {
		if strings.HasSuffix(l.Ref, "/ada") || strings.Contains(l.Ref, "davinci") || strings.Contains(l.Ref, "ft:") {
			t.Errorf("%s is listed", l.Ref)
		}
	}
	if list, err := chooser(t, "", "", "COHERE_API_KEY=k").Of(t.Context(), "cohere"); err != nil || len(list) < 3 {
		t.Errorf("of a provider of whose models little is known there are %d, %v", len(list), err)
	}
}

func TestAModelForEmbeddingsIsNoneToTalkTo(t *testing.T) {
	server := map[string]string{
		"/api/tags": `{"models":[{"name":"nomic-embed-text:latest"},{"name":"qwen3:8b"}]}`,
		"/api/ps":   `{"models":[]}`,
	}
	host := strings.TrimPrefix(servingModels(t, server, map[string]string{
		"nomic-embed-text": `{"capabilities":["embedding"]}`,
		"qwen3:8b":         `{"capabilities":["completion","tools"],"parameters":"num_ctx 16384","model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`,
	}), "http://")
	opened, err := open(t, "ollama", "", "OLLAMA_HOST="+host)
	if err != nil || opened.Ref != "ollama/qwen3:8b" {
		t.Errorf("%q is taken, %v", opened.Ref, err)
	}
	server["/api/tags"] = `{"models":[{"name":"nomic-embed-text:latest"}]}`
	if _, err := open(t, "ollama", "", "OLLAMA_HOST="+host); err == nil || !strings.Contains(err.Error(), "no models that can hold a conversation") {
		t.Errorf("with a model for embeddings alone: %v", err)
	}
}

// servingModels answers by path, and what is asked of a model by its name.
func servingModels(t *testing.T, answers, shown map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.URL.Path]
		if r.URL.Path == "/api/show" {
			var asked struct{ Model string }
			_ = json.NewDecoder(r.Body).Decode(&asked)
			text = shown[asked.Model]
		}
		if text == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

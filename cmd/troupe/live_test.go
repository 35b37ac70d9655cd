package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// echoServer is a model that answers with the role its system prompt gives it.
func echoServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := "nobody"
		for _, role := range []string{"Keeper of lists", "Keeper of secrets"} {
			if strings.Contains(string(body), role) {
				answer = role
			}
		}
		text, _ := json.Marshal(answer)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":`+string(text)+`},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

// An edited bundle is there for the next conversation of a running server, and the one
// that is going on keeps what it began with, even if the new one cannot start at all.
func TestAnEditedAgentIsThereForTheNextConversation(t *testing.T) {
	dir := bmadProject(t)
	config := "model: local/m\nproviders: {local: {base_url: \"" + echoServer(t).URL + "/v1\"}}\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	edit := func(content string) {
		if err := os.WriteFile(filepath.Join(dir, "_bmad/own/agents/one.md"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	agent := `<agent id="x" name="Una" title="First"><persona><role>Keeper of ROLE</role></persona><menu><item cmd="A" action="a">[A] a</item></menu></agent>`
	edit(strings.Replace(agent, "ROLE", "lists", 1))
	base, token, stop := serveIn(t, dir)
	say := func(session string) (string, string) {
		t.Helper()
		body, _ := json.Marshal(map[string]string{"agentId": "one", "message": "Who are you?", "conversationId": session})
		if session == "" {
			body = []byte(`{"agentId":"one","message":"Who are you?"}`)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/api/chat", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		stream, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for line := range strings.Lines(string(stream)) {
			var e struct{ Type, Content, ConversationID, Message string }
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e) != nil {
				continue
			}
			switch e.Type {
			case "conversationId":
				session = e.ConversationID
			case "token":
				said.WriteString(e.Content)
			case "error":
				t.Errorf("error: %s", e.Message)
			}
		}
		return session, said.String()
	}
	first, answer := say("")
	if answer != "Keeper of lists" {
		t.Fatalf("it says %q", answer)
	}
	edit(strings.Replace(agent, "ROLE", "secrets", 1))
	if _, answer := say(""); answer != "Keeper of secrets" {
		t.Errorf("the next conversation has %q", answer)
	}
	edit(strings.Replace(agent, "<persona>", "<critical-actions><i>Load COMPLETE file {project-root}/_bmad/own/gone.md</i></critical-actions><persona>", 1))
	if _, answer := say(first); answer != "Keeper of lists" {
		t.Errorf("the running conversation has %q", answer)
	}
	var agents []struct{ ID, Broken string }
	request(t, "GET", base+"/api/agents", token, "", &agents)
	for _, a := range agents {
		if (a.ID == "one") != (a.Broken != "") {
			t.Errorf("agent %s is broken: %q", a.ID, a.Broken)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

package project_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/project"
)

// An agent whose tools nobody has says so wherever it is listed, and to whoever wants to
// talk to it; lint and doctor say the same.
func TestAnAgentWithAToolOfNobodysIsListedAsBroken(t *testing.T) {
	const reason = "agents.clerk.tools in troupe.yaml: there is no tool calculatr; did you mean calculator?"
	dir := write(t, "agents:\n  clerk:\n    instructions: You answer.\n    tools: [write_file, calculatr]\n  well: {instructions: x, tools: [calculator]}\n")
	lookup := func(string) (string, bool) { return "", false }
	p := open(t, dir, project.Options{Model: "rehearsal", AllowUnknownTools: true})
	for _, agent := range p.Agents() {
		if (agent.ID == "clerk") != strings.HasPrefix(agent.Broken, reason) || agent.ID == "well" && agent.Broken != "" {
			t.Errorf("%s is broken: %q", agent.ID, agent.Broken)
		}
	}
	report, err := project.Lint(dir, lookup)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) != 1 || report.Errors() != 1 || report.Findings[0].Line != 4 || !strings.HasPrefix(report.Findings[0].Message, reason) {
		t.Errorf("lint finds %+v", report.Findings)
	}
	found := ""
	for _, check := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: lookup}) {
		if check.Status == project.Broken {
			found += check.Message
		}
	}
	if !strings.HasPrefix(found, reason) {
		t.Errorf("doctor finds %q", found)
	}

	server, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path, body string) (int, string) {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+server.Token())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if status, text := send("GET", "/api/agents", ""); status != http.StatusOK || !strings.Contains(text, `"broken":"agents.clerk.tools`) {
		t.Errorf("the API lists %d %s", status, text)
	}
	status, text := send("POST", "/api/sessions", `{"agent":"clerk"}`)
	if status == http.StatusCreated {
		_, id, _ := strings.Cut(text, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		status, text = send("POST", "/api/sessions/"+id+"/messages", `{"text":"hello"}`)
	}
	chatStatus, chat := send("POST", "/v1/chat/completions", `{"model":"clerk","messages":[{"role":"user","content":"hello"}]}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, `"code":"agent_broken"`) || !strings.Contains(text, "clerk cannot start: "+reason) {
		t.Errorf("who writes to it is told %d %s", status, text)
	}
	if chatStatus != http.StatusUnprocessableEntity || !strings.Contains(chat, "clerk cannot start: "+reason) {
		t.Errorf("a client of OpenAI's API is told %d %s", chatStatus, chat)
	}
}

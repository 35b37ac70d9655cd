package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serveIn starts the server in a project and returns its address and token.
func serveIn(t *testing.T, dir string, env ...string) (base, token string, stop func() error) {
	t.Helper()
	return serveTelling(t, dir, nil, env...)
}

// serveTelling is serveIn for those who want to hear what the server says of itself.
func serveTelling(t *testing.T, dir string, told io.Writer, env ...string) (base, token string, stop func() error) {
	t.Helper()
	base, token, server := serveProcess(t, dir, told, env...)
	return base, token, func() error {
		if err := server.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return server.Wait()
	}
}

// serveProcess is serveTelling for those who want to send signals of their own.
func serveProcess(t *testing.T, dir string, told io.Writer, env ...string) (base, token string, server *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	server = exec.CommandContext(ctx, "troupe", "serve", "--addr", "127.0.0.1:0")
	server.Dir, server.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=" + hurry}, env...)
	server.Stderr = told
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base, token, _ = strings.Cut(strings.TrimSpace(line), "#token=")
	return strings.TrimSuffix(base, "/"), token, server
}

// request asks the server for something and decodes the answer.
func request(t *testing.T, method, url, token, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s %s: %d: %v\n%.300s", method, url, response.StatusCode, err, data)
	}
	return response.StatusCode
}

func TestAgentsAndFlowsAreServed(t *testing.T) {
	dir := write(t, oneClerk+"flows: {twice: {description: Asks twice., sequence: [clerk, clerk]}}\n")
	base, token, stop := serveIn(t, dir)
	var agents []struct{ ID, Format string }
	if code := request(t, "GET", base+"/api/agents", token, "", &agents); code != 200 || len(agents) != 1 || agents[0].ID != "clerk" || agents[0].Format != "config" {
		t.Errorf("%d: %+v", code, agents)
	}
	var flows []struct{ Name, Tree string }
	if request(t, "GET", base+"/api/flows", token, "", &flows); len(flows) != 1 || !strings.HasPrefix(flows[0].Tree, "twice (sequence)\n├─ clerk") {
		t.Errorf("%+v", flows)
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	body := `{"model":"clerk","messages":[{"role":"user","content":"Calculate 6*7"}]}`
	if code := request(t, "POST", base+"/v1/chat/completions", token, body, &answer); code != 200 || !strings.Contains(answer.Choices[0].Message.Content, "42") {
		t.Errorf("%d: %+v", code, answer)
	}
	var hits []struct{ Event struct{ Kind string } }
	if code := request(t, "GET", base+"/api/logs?tool=calculator", token, "", &hits); code != 200 || len(hits) != 2 || hits[0].Event.Kind != "tool_returned" {
		t.Errorf("%d: %+v", code, hits)
	}
	if code := request(t, "GET", base+"/api/agents", "wrong", "", nil); code != 401 {
		t.Errorf("a wrong token gets %d", code)
	}
	if err := stop(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
}

// With users there is no link for everybody, and what they need is said.
func TestServingUsersSaysWhatTheyNeed(t *testing.T) {
	dir := write(t, oneClerk+"server: {users: {ann: ANN, bob: BOB}}\n")
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"ANN=" + strings.Repeat("a", 32)}, "server.users.bob in troupe.yaml: the environment variable BOB, which holds the user's token, is not set"},
		{[]string{"ANN=" + strings.Repeat("a", 32), "BOB=short"}, "the token of user \"bob\" has 5 characters, and 32 are the least"},
	} {
		p := start(t, dir, c.env, nil, "serve", "--addr", "127.0.0.1:0")
		if code := p.code(); code != exitFailed || !strings.Contains(p.err.String(), c.want) {
			t.Errorf("exit code %d: %s", code, &p.err)
		}
	}
}

// Users of the configuration have tokens of their own, and sessions of their own.
func TestUsersHaveTheirOwnSessions(t *testing.T) {
	ann, bob := strings.Repeat("a", 32), strings.Repeat("b", 32)
	dir := write(t, oneClerk+"server: {users: {ann: ANN, bob: BOB}}\n")
	base, token, stop := serveIn(t, dir, "ANN="+ann, "BOB="+bob)
	if token != "" {
		t.Errorf("there is a token for everybody: %s", token)
	}
	var answer map[string]any
	body := `{"model":"clerk","messages":[{"role":"user","content":"hello"}]}`
	if code := request(t, "POST", base+"/v1/chat/completions", ann, body, &answer); code != 200 {
		t.Fatalf("%d: %v", code, answer)
	}
	count := func(token string) int {
		var found []any
		request(t, "GET", base+"/api/sessions", token, "", &found)
		return len(found)
	}
	if a, b := count(ann), count(bob); a != 1 || b != 0 {
		t.Errorf("ann sees %d, bob %d", a, b)
	}
	if err := stop(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
}

// A title that somebody gave a session on the page is its title in the terminal, too.
func TestASessionIsListedByTheTitleThatItWasGiven(t *testing.T) {
	dir := write(t, "model: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n")
	base, token, stop := serveIn(t, dir)
	shows(t, troupeIn(t, dir, "run", "clerk", "Ten laptops, please."), "")
	var list []struct{ ID string }
	if code := request(t, "GET", base+"/api/sessions", token, "", &list); code != http.StatusOK || len(list) != 1 {
		t.Fatal(code, list)
	}
	shows(t, troupeIn(t, dir, "sessions", "show", "last"), "title     Ten laptops, please.\n")
	if code := request(t, "PATCH", base+"/api/sessions/"+list[0].ID, token, `{"title":"Laptops for Lyon"}`, nil); code != http.StatusOK {
		t.Fatal(code)
	}
	shows(t, troupeIn(t, dir, "sessions", "list"), "Laptops for Lyon")
	shows(t, troupeIn(t, dir, "sessions", "show", "last"), "title     Laptops for Lyon\n")
	if err := stop(); err != nil {
		t.Error(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "data", "agent-outputs", list[0].ID, "manifest.json"))
	if err != nil || !strings.Contains(string(manifest), `"userSummary": "Laptops for Lyon"`) {
		t.Errorf("%s %v", manifest, err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/internal/peers"
	"github.com/troupe-dev/troupe/troupetest"
)

// arguments are those of a request.
type arguments = map[string]any

// A mcpPlan is what the TypeScript client is to do: see tools/npm/clients/mcp.mjs.
type mcpPlan struct {
	Server arguments   `json:"server"`
	Elicit []arguments `json:"elicit,omitempty"`
	Steps  []mcpStep   `json:"steps"`
}

type mcpStep struct {
	Do       string    `json:"do"`
	With     arguments `json:"with,omitempty"`
	CancelOn string    `json:"cancelOn,omitempty"`
}

// What the client has seen.
type mcpSeen struct {
	Instructions string
	Results      []struct {
		Error   string
		IsError bool
		Content []struct{ Type, Text, URI string }
		Reply   struct {
			Session, Status, Answer string
			Question                *struct {
				Text     string
				Approval bool
			}
			Files    []string
			Sessions []struct{ Session, Agent, Status string }
		} `json:"structuredContent"`
		Tools, Prompts, Resources []struct{ Name, URI string }
		ResourceTemplates         []struct{ URITemplate string }
		Contents                  []struct{ URI, MIMEType, Text string }
		Messages                  []struct{ Content struct{ Text string } }
	}
	Progress [][]string
	Elicited []struct {
		Message         string
		RequestedSchema any
	}
}

// runClient has a client of others carry out a plan.
func runClient(t *testing.T, script string, plan, seen any) {
	t.Helper()
	peers.Npm(t, "mcp-inspector") // skips where the packages are not installed
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	client := exec.CommandContext(t.Context(), "node", filepath.Join(corpus.ModuleRoot(t), "tools", "npm", "clients", script), string(data))
	var complaints strings.Builder
	client.Stderr = &complaints
	out, err := client.Output()
	if err == nil {
		err = json.Unmarshal(out, seen)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, complaints.String())
	}
}

func useMCP(t *testing.T, plan mcpPlan) (seen mcpSeen) {
	t.Helper()
	runClient(t, "mcp.mjs", plan, &seen)
	return seen
}

// onStdio has the client start troupe itself.
func onStdio(t *testing.T, dir string) arguments {
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	return arguments{"command": troupe, "args": []string{"mcp", "serve"}, "cwd": dir, "env": map[string]string{"CANARY": "k", "GORACE": hurry}}
}

// clerkAt is a project whose agent may write files once a person agrees.
func clerkAt(t *testing.T, url string) string {
	return write(t, "model: local/m\nproviders: {local: {base_url: \""+url+"/v1\", key_env: CANARY}}\nlimits: {model_tries: 1}\n"+
		"agents: {clerk: {description: Writes things down., instructions: You write., tools: [write_file]}}\n"+
		"approve: [{tool: write_file, do: ask}]\nflows: {twice: {description: Asks twice., sequence: [clerk, clerk]}}\n")
}

// appendTo adds to the configuration of a project.
func appendTo(t *testing.T, dir, text string) {
	t.Helper()
	config, err := os.OpenFile(filepath.Join(dir, "troupe.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer config.Close()
	fmt.Fprint(config, text)
}

func writes(name, content string) troupetest.Exchange {
	data, _ := json.Marshal(arguments{"file_path": name, "content": content})
	return troupetest.ServeCalls(troupe.ToolCall{ID: "c1", Name: "write_file", Arguments: string(data)})
}

func call(tool string, with arguments) mcpStep {
	return mcpStep{Do: "callTool", With: arguments{"name": tool, "arguments": with}}
}

// The official TypeScript client asks an agent; what the agent asks is put to the person
// at the client, and what the agent saves is a resource.
func TestAnMCPClientAsksAnAgentThatAsksBack(t *testing.T) {
	models := troupetest.NewServer(t, writes("{session-folder}/otter.md", "# Otters"), troupetest.ServeText("It is written."))
	dir := clerkAt(t, models.URL)
	seen := useMCP(t, mcpPlan{
		Server: onStdio(t, dir), Elicit: []arguments{{"action": "accept", "content": arguments{"decision": "approve"}}},
		Steps: []mcpStep{
			{Do: "listTools"}, {Do: "listPrompts"}, {Do: "listResources"}, {Do: "listResourceTemplates"},
			call("ask_agent", arguments{"agent": "clerk", "message": "Write about otters."}),
			{Do: "readResource", With: arguments{"uri": "troupe://sessions/$session/files/otter.md"}},
			call("list_sessions", nil),
			{Do: "getPrompt", With: arguments{"name": "clerk", "arguments": arguments{"message": "And?"}}},
			call("ask_agent", arguments{"agent": "nobody", "message": "x"}),
			call("ask_agent", arguments{"agent": "clerk", "message": "And?", "session": "no-such"}),
		},
	})
	var tools []string
	for _, tool := range seen.Results[0].Tools {
		tools = append(tools, tool.Name)
	}
	if got := strings.Join(tools, " "); got != "answer ask_agent deliver list_sessions run_flow search_knowledge" {
		t.Errorf("tools: %s", got)
	}
	if !strings.Contains(seen.Instructions, "clerk: clerk. Writes things down.") || !strings.Contains(seen.Instructions, "twice: Asks twice.") {
		t.Errorf("instructions: %s", seen.Instructions)
	}
	asked := seen.Results[4]
	if asked.Reply.Status != "completed" || asked.Reply.Answer != "It is written." || len(asked.Reply.Files) != 1 {
		t.Errorf("asked: %+v", asked)
	}
	if len(seen.Elicited) != 1 || !strings.Contains(seen.Elicited[0].Message, "May I call write_file") {
		t.Errorf("elicited: %+v", seen.Elicited)
	}
	if progress := strings.Join(seen.Progress[4], "\n"); !strings.Contains(progress, "clerk: write_file {session-folder}/otter.md") {
		t.Errorf("progress: %s", progress)
	}
	if file := seen.Results[5].Contents; len(file) != 1 || file[0].Text != "# Otters" || file[0].MIMEType != "text/markdown" {
		t.Errorf("file: %+v", seen.Results[5])
	}
	if list := seen.Results[6].Reply.Sessions; len(list) != 1 || list[0].Agent != "clerk" || list[0].Status != "completed" {
		t.Errorf("sessions: %+v", list)
	}
	if prompt := seen.Results[7].Messages; len(prompt) != 1 || !strings.Contains(prompt[0].Content.Text, `agent "clerk"`) {
		t.Errorf("prompt: %+v", prompt)
	}
	for i, want := range map[int]string{8: "nobody", 9: "no such session"} {
		if r := seen.Results[i]; !r.IsError && r.Error == "" || !strings.Contains(fmt.Sprint(r.Error, r.Content), want) {
			t.Errorf("step %d: %+v", i, r)
		}
	}
}

// A client that cannot ask its user gets the question, and passes the answer on.
func TestAnMCPClientWithoutElicitationAnswersByATool(t *testing.T) {
	models := troupetest.NewServer(t, writes("{session-folder}/otter.md", "# Otters"), troupetest.ServeText("Then not."))
	dir := clerkAt(t, models.URL)
	seen := useMCP(t, mcpPlan{Server: onStdio(t, dir), Steps: []mcpStep{
		call("ask_agent", arguments{"agent": "clerk", "message": "Write about otters."}),
		call("answer", arguments{"session": "$session", "decision": "deny", "text": "Write about seals."}),
		call("answer", arguments{"session": "$session", "decision": "approve"}),
	}})
	if r := seen.Results[0].Reply; r.Status != "waiting" || r.Question == nil || !r.Question.Approval {
		t.Errorf("%+v", seen.Results[0])
	}
	if r := seen.Results[1].Reply; r.Status != "completed" || r.Answer != "Then not." {
		t.Errorf("%+v", seen.Results[1])
	}
	if r := seen.Results[2]; !r.IsError || !strings.Contains(r.Content[0].Text, "does not wait for an answer") {
		t.Errorf("%+v", r)
	}
	if got := models.Requests(); !strings.Contains(string(got[1].Body), "Write about seals.") {
		t.Errorf("the model is not told why: %s", got[1].Body)
	}
}

// Cancelling a call cancels the run.
func TestAnMCPClientCancelsARun(t *testing.T) {
	url, _ := stallingServer(t)
	dir := clerkAt(t, url)
	seen := useMCP(t, mcpPlan{Server: onStdio(t, dir), Steps: []mcpStep{
		{Do: "callTool", With: arguments{"name": "ask_agent", "arguments": arguments{"agent": "clerk", "message": "Go."}}, CancelOn: "clerk has the message"},
	}})
	if !strings.Contains(seen.Results[0].Error, "enough") {
		t.Errorf("%+v", seen.Results[0])
	}
	p := start(t, dir, []string{"CANARY=k"}, nil, "--json", "sessions", "list")
	if p.code(); !strings.Contains(p.out.String(), `"cancelled"`) {
		t.Errorf("%s%s", &p.out, &p.err)
	}
}

// The same over HTTP, beside the page, for those who have a token.
func TestMCPIsServedOverHTTP(t *testing.T) {
	models := troupetest.NewServer(t, writes("{session-folder}/otter.md", "# Otters"), troupetest.ServeText("It is written."))
	base, token, stop := serveIn(t, clerkAt(t, models.URL), "CANARY=k")
	seen := useMCP(t, mcpPlan{
		Server: arguments{"url": base + "/mcp", "token": token}, Elicit: []arguments{{"action": "accept", "content": arguments{"decision": "approve"}}},
		Steps: []mcpStep{
			call("ask_agent", arguments{"agent": "clerk", "message": "Write about otters."}),
			{Do: "readResource", With: arguments{"uri": "troupe://sessions/$session"}},
		},
	})
	if r := seen.Results[0].Reply; r.Status != "completed" || len(seen.Elicited) != 1 || len(seen.Progress[0]) == 0 {
		t.Errorf("%+v %+v", seen.Results[0], seen.Progress)
	}
	if r := seen.Results[1].Contents; len(r) != 1 || !strings.Contains(r[0].Text, "It is written.") {
		t.Errorf("%+v", seen.Results[1])
	}
	for _, wrong := range []string{"", "wrong-token-of-sixteen"} {
		if code := request(t, "POST", base+"/mcp", wrong, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil); code != 401 {
			t.Errorf("token %q: %d", wrong, code)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Two users of one server do not see each other's sessions.
func TestUsersOfMCPSeeTheirOwnSessions(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "server: {users: {ada: ADA, bo: BO}}\n")
	base, _, stop := serveIn(t, dir, "CANARY=k", "ADA=token-of-ada-0123456789abcdef0123456789", "BO=token-of-bo-0123456789abcdef0123456789")
	as := func(token string, steps ...mcpStep) mcpSeen {
		return useMCP(t, mcpPlan{Server: arguments{"url": base + "/mcp", "token": token}, Steps: steps})
	}
	session := as("token-of-ada-0123456789abcdef0123456789", call("ask_agent", arguments{"agent": "clerk", "message": "Hello."})).Results[0].Reply.Session
	seen := as("token-of-bo-0123456789abcdef0123456789", call("list_sessions", nil),
		mcpStep{Do: "readResource", With: arguments{"uri": "troupe://sessions/" + session}},
		call("ask_agent", arguments{"agent": "clerk", "message": "Hello.", "session": session}))
	if len(seen.Results[0].Reply.Sessions) != 0 || seen.Results[1].Error == "" || !seen.Results[2].IsError {
		t.Errorf("bo sees ada's session: %+v", seen.Results)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Documents that another server keeps are found there.
func TestAnMCPClientSearchesTheKnowledgeServer(t *testing.T) {
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	library := write(t, oneClerk)
	if err := os.WriteFile(filepath.Join(library, "leave.md"), []byte("# Leave\n\nParental leave is sixteen weeks.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := start(t, library, nil, nil, "kb", "upload", "leave.md"); p.code() != 0 {
		t.Fatal(&p.err)
	}
	dir := write(t, oneClerk+fmt.Sprintf("mcp: {library: {command: %q, args: [-C, %q, kb, serve]}}\nknowledge: {server: library}\n", troupe, library))
	seen := useMCP(t, mcpPlan{Server: onStdio(t, dir), Steps: []mcpStep{call("search_knowledge", arguments{"query": "parental leave"})}})
	if r := seen.Results[0]; r.IsError || !strings.Contains(fmt.Sprint(r.Content), "sixteen weeks") {
		t.Errorf("%+v", r)
	}
}

// The inspector of the MCP project uses the server, too.
func TestTheInspectorUsesMCPServe(t *testing.T) {
	command := peers.Npm(t, "mcp-inspector")
	troupe, err := exec.LookPath("troupe")
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, oneClerk)
	args := append(command[1:], "--cli", troupe, "-C", dir, "mcp", "serve", "--method", "tools/call", "--tool-name", "ask_agent", "--tool-arg", "agent=clerk", "--tool-arg", "message=Calculate 6*7")
	inspector := exec.CommandContext(t.Context(), command[0], args...)
	inspector.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := inspector.Output()
	if err != nil || !strings.Contains(string(out), "42") {
		t.Errorf("%v\n%s", err, out)
	}
}

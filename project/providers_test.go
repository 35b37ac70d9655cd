package project_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/project"
)

// A server that speaks OpenAI's API is added by its address, with its key, and answers at
// once; what else is in troupe.yaml stays.
func TestAServerIsAddedByItsAddress(t *testing.T) {
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer key-of-the-office":
			http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/v1/models"):
			fmt.Fprint(w, `{"object":"list","data":[{"id":"big","object":"model"}]}`)
		case strings.HasSuffix(r.URL.Path, "/v1/chat/completions"):
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"model\":\"big\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"From the office.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer office.Close()
	dir := write(t, "# ours\nagents:\n  clerk: {instructions: You answer., tools: []} # the only one\n")
	p := open(t, dir, project.Options{})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, address, key string) (int, string) {
		body, _ := json.Marshal(map[string]string{"base_url": address, "key": key})
		return request(s, "PUT", "/api/providers/"+name, string(body))
	}
	host := strings.TrimPrefix(office.URL, "http://")
	for _, wrong := range [][3]string{{"Office!", host, ""}, {"office", "ftp://x", ""}, {"office", "http://me:secret@x", ""}, {"openai", host, ""}, {"office", host, "two words"}} {
		if status, text := put(wrong[0], wrong[1], wrong[2]); status != http.StatusUnprocessableEntity && status != http.StatusNotFound {
			t.Errorf("%v: %d %s", wrong, status, text)
		}
	}
	if status, text := put("office", host, "key-of-another"); status != http.StatusOK || !strings.Contains(text, `"state":"key_refused"`) {
		t.Errorf("a wrong key: %d %s", status, text)
	}
	if status, text := put("office", host, "key-of-the-office"); status != http.StatusOK || !strings.Contains(text, `"state":"answers"`) || strings.Contains(text, "key-of-the-office") {
		t.Errorf("%d %s", status, text)
	}
	yaml, _ := os.ReadFile(filepath.Join(dir, project.Name))
	for _, want := range []string{"# ours\n", "# the only one\n", "base_url: " + office.URL + "/v1\n", "key_env: OFFICE_API_KEY\n"} {
		if !strings.Contains(string(yaml), want) {
			t.Errorf("%q is not in\n%s", want, yaml)
		}
	}
	if env, _ := os.ReadFile(filepath.Join(dir, ".env")); !strings.Contains(string(env), "OFFICE_API_KEY=key-of-the-office") || strings.Contains(string(yaml), "key-of-") {
		t.Errorf(".env is %q", env)
	}
	if status, text := request(s, "PATCH", "/api/settings", `{"values":{"model":"office/big"}}`); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, text := request(s, "POST", "/v1/chat/completions", `{"model":"clerk","messages":[{"role":"user","content":"hello"}]}`); status != http.StatusOK || !strings.Contains(text, "From the office.") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := put("vllm", host+"/v1", ""); status != http.StatusOK || !strings.Contains(text, `"base_url":"`+office.URL+`/v1"`) {
		t.Errorf("another address for a known one: %d %s", status, text)
	}
}

// That a key was refused is said until it is tested well or replaced, whoever does so and
// wherever.
func TestARefusedKeyIsSaidToBe(t *testing.T) {
	accepted := "key-of-the-office"
	office := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"big","object":"model"}]}`)
	}))
	defer office.Close()
	dir := write(t, "providers:\n  office: {base_url: \""+office.URL+"/v1\", key_env: OFFICE_API_KEY}\nagents:\n  clerk: {instructions: You answer., tools: []}\n")
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("OFFICE_API_KEY=key-of-another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, project.Options{})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	says := func(when, want string) {
		t.Helper()
		_, text := request(s, "GET", "/api/settings", "")
		var list struct {
			Providers []struct{ Name, State, Detail string }
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Providers {
			if p.Name == "office" && (p.State != want || (p.Detail != "") != (want != "")) {
				t.Errorf("%s: it is %q, %q", when, p.State, p.Detail)
			}
		}
		if strings.Contains(text, "key-of-") {
			t.Errorf("%s: the key is in %s", when, text)
		}
	}
	test := func() {
		t.Helper()
		if status, text := request(s, "POST", "/api/providers/office/test", ""); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	says("before it was tried", "")
	test()
	says("after it was refused", "key_refused")
	if s, err = p.Server(t.Context()); err != nil { // as where the configuration has changed
		t.Fatal(err)
	}
	says("to another server", "key_refused")
	if noted := read(t, dir, "data/page/refused.json"); strings.Contains(noted, "key-of-") {
		t.Errorf("the key is on record: %s", noted)
	}
	if status, text := request(s, "PUT", "/api/providers/office/key", `{"key":"key-of-the-office"}`); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	says("after another one was set", "")
	accepted = "key-that-is-new"
	test()
	says("after it was withdrawn", "key_refused")
	accepted = "key-of-the-office"
	test()
	says("after it was tested well", "")
	accepted = "key-that-is-new"
	test()
	if status, text := request(s, "DELETE", "/api/providers/office", ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	if noted := read(t, dir, "data/page/refused.json"); strings.Contains(noted, "office") {
		t.Errorf("a provider that is gone is on record: %s", noted)
	}
}

// Whether something is a key, the provider knows: gateways have short ones. Only what cannot be
// one is refused, in words that say why.
func TestAShortKeyIsTaken(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-1234" {
			http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"big","object":"model"}]}`)
	}))
	defer gateway.Close()
	dir, s := served(t, "providers:\n  gateway: {base_url: \""+gateway.URL+"/v1\", key_env: GATEWAY_API_KEY}\nagents:\n  clerk: {instructions: You answer., tools: []}\n")
	put := func(key string) (int, string) {
		body, _ := json.Marshal(map[string]string{"key": key})
		return request(s, "PUT", "/api/providers/gateway/key", string(body))
	}
	for key, why := range map[string]string{"": "no key was given", " \n": "no key was given", "sk 1234": "no spaces, line breaks or quotes", "sk-1234\nsk-5678": "no spaces, line breaks or quotes", `"sk-1234"`: "no spaces, line breaks or quotes"} {
		if status, text := put(key); status != http.StatusUnprocessableEntity || !strings.Contains(text, why) {
			t.Errorf("%q: %d %s", key, status, text)
		}
	}
	if status, text := put("sk-1234\n"); status != http.StatusNoContent || read(t, dir, ".env") != "GATEWAY_API_KEY=sk-1234\n" {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := request(s, "POST", "/api/providers/gateway/test", ""); status != http.StatusOK || !strings.Contains(text, `"state":"answers"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := put("sk-good"); status != http.StatusUnprocessableEntity || !strings.Contains(text, "Gateway does not accept this key; the one that is set stays") {
		t.Errorf("%d %s", status, text)
	}
}

// A provider goes with its key, from both files, and nothing else does. What a setting names,
// and what the environment sets up, stays.
func TestAProviderIsRemovedWithItsKey(t *testing.T) {
	const before = `# ours
model: home/small

providers:
  # in the cellar
  office:
    base_url: http://127.0.0.1:1/v1
    key_env: OFFICE_API_KEY

  # at home
  home: {base_url: "http://127.0.0.1:2/v1"} # mine
  cloud:
    base_url: http://127.0.0.1:3/v1
    key_env: CLOUD_KEY
  shared: {base_url: "http://127.0.0.1:4/v1", key_env: SHARED_KEY}

# who works here
agents:
  clerk: {instructions: You answer., tools: [], model: [home/small, cloud/big]}
mcp:
  issues: {url: "http://127.0.0.1:5/mcp", headers: {Authorization: "Bearer ${SHARED_KEY}"}}
`
	dir := write(t, before)
	const env = "# keys\nOFFICE_API_KEY=of-the-office\nCLOUD_KEY=of-the-cloud\nOTHER=1\nSHARED_KEY=of-both\nMISTRAL_API_KEY=of-mistral\n"
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(env), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, project.Options{LookupEnv: func(name string) (string, bool) {
		value, ok := map[string]string{"OPENAI_API_KEY": "of-the-environment"}[name]
		return value, ok
	}})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{
		"home": "in use: the model of clerk, the usual model.", "cloud": "in use: the model of clerk. Choose others", "openai": "OPENAI_API_KEY"} {
		if status, text := request(s, "DELETE", "/api/providers/"+name, ""); status != http.StatusUnprocessableEntity || !strings.Contains(text, why) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for name, why := range map[string]string{"groq": "the provider Groq is not there any more", "nobody": "the provider nobody is not there any more"} {
		if status, text := request(s, "DELETE", "/api/providers/"+name, ""); status != http.StatusConflict || !strings.Contains(text, why) || !strings.Contains(text, `"code":"stale"`) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if yaml, env2 := read(t, dir, project.Name), read(t, dir, ".env"); yaml != before || env2 != env {
		t.Errorf("what was refused has changed the files:\n%s\n%s", yaml, env2)
	}
	if status, text := request(s, "PUT", "/api/providers/office/key", `{"key":"of-the-office-too"}`); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	for _, name := range []string{"office", "shared", "mistral"} {
		if status, text := request(s, "DELETE", "/api/providers/"+name, ""); status != http.StatusNoContent {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if status, text := request(s, "DELETE", "/api/providers/"+name, ""); status != http.StatusConflict {
			t.Errorf("%s, once more: %d %s", name, status, text)
		}
	}
	want := strings.NewReplacer("  office:\n    base_url: http://127.0.0.1:1/v1\n    key_env: OFFICE_API_KEY\n", "", "  shared: {base_url: \"http://127.0.0.1:4/v1\", key_env: SHARED_KEY}\n", "").Replace(before)
	if diff := cmp.Diff(want, read(t, dir, project.Name)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("# keys\nCLOUD_KEY=of-the-cloud\nOTHER=1\nSHARED_KEY=of-both\n", read(t, dir, ".env")); diff != "" {
		t.Error(diff)
	}
	_, text := request(s, "GET", "/api/settings", "")
	var view struct {
		Providers []struct {
			Name  string
			SetUp bool   `json:"set_up"`
			KeyBy string `json:"key_by"`
		}
	}
	if err := json.Unmarshal([]byte(text), &view); err != nil {
		t.Fatal(err)
	}
	var setUp []string
	for _, p := range view.Providers {
		if p.SetUp {
			setUp = append(setUp, p.Name)
		}
	}
	if diff := cmp.Diff([]string{"cloud", "home", "openai"}, setUp); diff != "" {
		t.Error(diff)
	}
	if noted := read(t, dir, "data/page/keys.json"); strings.Contains(noted, "office") {
		t.Errorf("who set the key is still on record: %s", noted)
	}
	open(t, dir, project.Options{}) // which can be read
}

// A provider that stands nowhere but in .env can be removed though it answers where nobody
// has chosen: another does then, or nobody.
func TestTheProviderThatIsFoundByItsKeyIsRemoved(t *testing.T) {
	dir := write(t, "agents: {clerk: {instructions: You answer., tools: []}}\n")
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("GEMINI_API_KEY=one-of-two\nGOOGLE_API_KEY=two-of-two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, dir, project.Options{}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, text := request(s, "GET", "/api/settings", ""); !strings.Contains(text, `"usual":"gemini`) {
		t.Fatalf("%s", text)
	}
	if status, text := request(s, "DELETE", "/api/providers/gemini", ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, text)
	}
	if env := read(t, dir, ".env"); env != "" {
		t.Errorf(".env is %q", env)
	}
	if _, text := request(s, "GET", "/api/settings", ""); !strings.Contains(text, `"usual":"rehearsal`) {
		t.Errorf("%s", text)
	}
}

// A tool server goes out of troupe.yaml, unless an agent's tools or the knowledge are its own.
func TestAToolServerIsRemoved(t *testing.T) {
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(func() {
		remote.CloseClientConnections()
		remote.Close()
	})
	server := func(name string) string {
		return "  # about " + name + "\n  " + name + ": {url: \"" + remote.URL + "\"} # here\n"
	}
	dir := write(t, "# ours\nagents:\n  clerk: {instructions: You answer., tools: [issues__*]}\n  all: {instructions: You answer., tools: [\"*__*\"]}\nknowledge: {server: books}\nmcp:\n"+server("issues")+server("books")+server("spare"))
	s, err := open(t, dir, project.Options{}).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{"issues": "422 the tools of clerk", "books": "422 knowledge.server", "nobody": "409 the tool server nobody is not there any more"} {
		wanted, words, _ := strings.Cut(why, " ")
		if status, text := request(s, "DELETE", "/api/mcp/"+name, ""); fmt.Sprint(status) != wanted || !strings.Contains(text, words) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := request(s, "DELETE", "/api/mcp/spare", ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, text)
	}
	if yaml := read(t, dir, project.Name); !strings.HasPrefix(yaml, "# ours\n") || !strings.HasSuffix(yaml, server("issues")+server("books")+"  # about spare\n") {
		t.Errorf("troupe.yaml is\n%s", yaml)
	}
	if _, text := request(s, "GET", "/api/mcp", ""); strings.Contains(text, "spare") || !strings.Contains(text, `"used_by":["agents.clerk.tools"]`) {
		t.Errorf("%s", text)
	}
	if status, text := request(s, "POST", "/v1/chat/completions", `{"model":"all","messages":[{"role":"user","content":"hello"}]}`); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

// read is the text of a file of a project.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

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
	for _, wrong := range [][3]string{{"Office!", host, ""}, {"office", "ftp://x", ""}, {"office", "http://me:secret@x", ""}, {"openai", host, ""}, {"office", host, "short"}} {
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

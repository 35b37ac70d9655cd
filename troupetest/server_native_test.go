package troupetest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/troupetest"
)

// natives are conversations of the APIs that providers have of their own: one that is
// proper, with %s in place of the result of a call, and that result.
var natives = map[string]struct{ path, body, result string }{
	"messages": {"/v1/messages", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"f","input":{}}]}%s]}`,
		`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"},{"type":"text","text":"more"}]}`},
	"gemini": {"/v1beta/models/m:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}%s]}`,
		`,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"ok"}}}]}`},
	"responses": {"/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":"hi"},{"type":"reasoning","id":"r"},{"type":"message","role":"assistant","content":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}%s]}`,
		`,{"type":"function_call_output","call_id":"a","output":"ok"}`},
	"ollama": {"/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}%s]}`,
		`,{"role":"tool","content":"ok","tool_name":"f"}`},
}

// The server is as strict about the conversations of native APIs as about chats.
func TestServerChecksNativeConversations(t *testing.T) {
	for name, native := range natives {
		ask := func(s *troupetest.Server, body string) int {
			resp, err := s.Client().Post(strings.TrimSuffix(s.URL, "/v1")+native.path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode
		}
		if status := ask(troupetest.NewServer(t, troupetest.ServeText("ok")), fmt.Sprintf(native.body, native.result)); status != http.StatusOK {
			t.Errorf("%s: a proper conversation gets %d", name, status)
		}
		for wrong, body := range map[string]string{
			"there is none for": fmt.Sprintf(native.body, ""),
			"once":              fmt.Sprintf(native.body, native.result+native.result),
			"required":          `{"model":"m"}`,
			"JSON":              `{"model":`,
		} {
			r := &record{TB: t}
			status := ask(troupetest.NewServer(r, troupetest.ServeText("never").Forever()), body)
			r.end()
			if status != http.StatusBadRequest || len(r.failures) != 1 || !strings.Contains(r.failures[0], wrong) {
				t.Errorf("%s: %d, %q, want %q", name, status, r.failures, wrong)
			}
		}
	}
}

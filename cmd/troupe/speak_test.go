package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// protocols are answers of servers, each in its own protocol, that think "hm" and say
// "It rains."; and refusals.
var protocols = map[string]struct{ media, answer, refusal string }{
	"messages": {"text/event-stream", dataEvents(
		`{"type":"message_start","message":{"model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It rains."}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`),
		`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`},
	"gemini": {"text/event-stream", dataEvents(
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]}}],"modelVersion":"m"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"It rains."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}}`),
		`{"error":{"code":401,"message":"API key not valid. Please pass a valid API key.","status":"UNAUTHENTICATED"}}`},
	"responses": {"text/event-stream", dataEvents(
		`{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"hm"}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m_1","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":1,"delta":"It rains."}`,
		`{"type":"response.completed","response":{"object":"response","model":"m","status":"completed","usage":{"input_tokens":7,"output_tokens":3}}}`),
		`{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`},
	"ollama": {"application/x-ndjson", `{"model":"m","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}` + "\n" +
		`{"model":"m","message":{"role":"assistant","content":"It rains."},"done":false}` + "\n" +
		`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n",
		`{"error":"model 'm' not found"}`},
}

func dataEvents(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// speak starts a server that answers once in a protocol and refuses from then on, and
// puts its URL into $SERVER and its host into $HOST: speak messages
func speak(t *testing.T, ts *testscript.TestScript, args []string) {
	spoken, ok := protocols[args[0]]
	if !ok {
		ts.Fatalf("nobody speaks %s", args[0])
	}
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/show") || !strings.Contains(string(body), "hello"):
			http.NotFound(w, r) // what a server may be asked about itself
		case asked.Add(1) == 1:
			w.Header().Set("Content-Type", spoken.media)
			io.WriteString(w, spoken.answer)
		case args[0] == "ollama":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, spoken.refusal)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, spoken.refusal)
		}
	}))
	t.Cleanup(s.Close)
	ts.Setenv("SERVER", s.URL)
	ts.Setenv("HOST", strings.TrimPrefix(s.URL, "http://"))
}

// writeHost writes a line with the server's host into a file: writehost .env NAME
func writeHost(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), fmt.Appendf(nil, "%s=%s\n", args[1], ts.Getenv("HOST")), 0o600))
}

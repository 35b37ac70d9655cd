package mcp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/mcp"
)

const secret = "canary-7e1f"

// serve runs handler on the loopback and returns how to reach it.
func serve(t *testing.T, handler http.Handler) mcp.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return mcp.Config{
		Name: "remote", URL: server.URL + "/mcp/" + secret + "?key=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret},
		HTTPClient: client, Pins: filepath.Join(t.TempDir(), "pins.json"),
	}
}

// greeter is a server with one tool, which forgets its sessions with the test.
func greeter(t *testing.T) http.Handler {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil, nil
	})
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

// hasSecrets reports whether a request is one that only the server may see.
func hasSecrets(r *http.Request) bool {
	return r.URL.Path == "/mcp/"+secret && r.URL.Query().Get("key") == secret && r.Header.Get("Authorization") == "Bearer "+secret
}

func TestEveryRequestCarriesQueryAndHeaders(t *testing.T) {
	var bare atomic.Int64
	next := greeter(t)
	s := open(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasSecrets(r) {
			bare.Add(1)
		}
		next.ServeHTTP(w, r)
	})))
	if text, err := use(t, s, "remote__greet", nil); err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	s.Close()
	if n := bare.Load(); n != 0 {
		t.Errorf("%d requests came without", n)
	}
}

func TestSecretsOfAServerGoNowhereElse(t *testing.T) {
	var leaked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.String(), secret) || strings.Contains(strings.Join(r.Header.Values("Authorization"), ""), secret) {
			leaked.Add(1)
		}
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer elsewhere.Close()
	_, err := mcp.Connect(t.Context(), serve(t, http.RedirectHandler(elsewhere.URL+"/mcp", http.StatusTemporaryRedirect)))
	if err == nil || leaked.Load() != 0 {
		t.Errorf("%d requests leaked, %v", leaked.Load(), err)
	}
	c := serve(t, http.NotFoundHandler())
	c.URL = "http://127.0.0.1:1/" + secret + "?key=" + secret
	if _, err := mcp.Connect(t.Context(), c); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the error is %v", err)
	}
}

func TestAnAnswerOverHTTPThatIsTooLongIsNotRead(t *testing.T) {
	for _, answer := range []struct {
		kind   string
		status int
	}{{"application/json", 200}, {"text/event-stream", 200}, {"text/event-stream", 400}} {
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", answer.kind)
			w.WriteHeader(answer.status)
			block := []byte(strings.Repeat(" ", 1<<20))
			for i := range 100 {
				if _, err := w.Write(block); err != nil {
					return
				}
				if i > 50 {
					t.Errorf("%v: 50 MB were read", answer)
					return
				}
			}
		}))
		if _, err := mcp.Connect(t.Context(), c); err == nil {
			t.Errorf("%v: there is no error", answer)
		}
	}
}

// A server of the older protocol that was started anew refuses the session it does
// not know, as the everything server does, and no stream of it need break.
func TestAServerThatForgotTheSessionIsGreetedAgain(t *testing.T) {
	var last, forgotten atomic.Pointer[string]
	next := greeter(t)
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get("Mcp-Session-Id")
		old := forgotten.Load()
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Header.Get("Mcp-Protocol-Version") >= "2026":
			w.WriteHeader(http.StatusBadRequest)
		case old != nil && session == *old:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`))
		default:
			if session != "" {
				last.Store(&session)
			}
			next.ServeHTTP(w, r)
		}
	}))
	var log *record
	c.Logger, log = newRecord()
	greet := find(t, open(t, c), "remote__greet")
	forgotten.Store(last.Load())
	_, err := call(t, greet, nil)
	wantClass(t, err, "failed", "No valid session ID")
	log.wait(t, "mcp server is back")
	if text, err := call(t, greet, nil); err != nil || text != "hello" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAServerOverHTTPThatIsGoneFailsFast(t *testing.T) {
	var down atomic.Bool
	next := greeter(t)
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	}))
	var log *record
	c.Logger, log = newRecord()
	greet := find(t, open(t, c), "remote__greet")
	down.Store(true)
	_, err := call(t, greet, nil)
	wantClass(t, err, "interrupted", "the MCP server remote did not answer")
	if line := log.wait(t, "mcp server is gone"); strings.Contains(line, secret) {
		t.Error("the log has the secret: ", line)
	}
	_, err = call(t, greet, nil)
	wantClass(t, err, "failed", "is not running")
	down.Store(false)
	log.wait(t, "mcp server is back")
}

func TestCloseDoesNotWaitForACallOverHTTP(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	next := greeter(t)
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(body), "tools/call") {
			close(entered)
			<-release
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}))
	defer close(release)
	s := open(t, c)
	greet := find(t, s, "remote__greet")
	done := make(chan error)
	go func() {
		_, err := greet.Call(context.WithoutCancel(t.Context()), &troupe.Invocation{Arguments: []byte("{}")})
		done <- err
	}()
	<-entered
	go s.Close()
	select {
	case err := <-done:
		wantClass(t, err, "interrupted", "whether the call took effect is unknown")
	case <-time.After(time.Minute):
		t.Error("the call was not cancelled")
	}
}

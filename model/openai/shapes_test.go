package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
)

// A shape is an odd answer and how it is to be read.
type shape struct {
	Request struct {
		User  string
		Tools []string
	}
	Config   struct{ Idle_ms int }
	Response struct {
		Status  int
		Headers map[string]string
		Body    string
		Base64  string `json:"body_base64"`
		Steps   []struct {
			Send    string
			Times   int
			SleepMS int `json:"sleep_ms"`
			Reset   bool
		}
	}
	Expect struct {
		Text, Thought, Refusal, Finish string
		Repeat                         *struct {
			Of    string
			Times int
		} `json:"text_repeat"`
		Calls []struct{ Name, Arguments string }
		Usage *troupe.Usage
		Error *struct {
			Contains  string
			Temporary bool
		}
	}
}

// ServeHTTP sends the shape.
func (s *shape) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for name, value := range s.Response.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(s.Response.Status)
	body := []byte(s.Response.Body)
	if s.Response.Base64 != "" {
		body, _ = base64.StdEncoding.DecodeString(s.Response.Base64)
	}
	w.Write(body)
	for _, step := range s.Response.Steps {
		if step.Reset {
			panic(http.ErrAbortHandler)
		}
		for range max(step.Times, 1) {
			w.Write([]byte(step.Send))
			w.(http.Flusher).Flush()
			time.Sleep(time.Duration(step.SleepMS) * time.Millisecond)
		}
	}
}

func TestOddShapesAreReadAsTheySay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "stream-shapes"), "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d shapes, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s shape
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(&s)
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			m, err := New(Config{BaseURL: server.URL, Model: "m", HTTPClient: client, IdleTimeout: time.Duration(s.Config.Idle_ms) * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			req := &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: s.Request.User}}, Tools: offering(t, s.Request.Tools...)}
			s.check(t, listen(t.Context(), m, req))
		})
	}
}

// offering is a set of tools that take any object.
func offering(t *testing.T, names ...string) *troupe.ToolSet {
	t.Helper()
	var tools []troupe.Tool
	for _, name := range names {
		tools = append(tools, troupe.NewTool(name, "does "+name, anyTool))
	}
	set, err := troupe.NewToolSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (s *shape) check(t *testing.T, got heard) {
	t.Helper()
	want := s.Expect
	if want.Error != nil {
		e, ok := errors.AsType[*troupe.ModelError](got.Err)
		if !ok || e.Temporary != want.Error.Temporary || !strings.Contains(got.Err.Error(), want.Error.Contains) || got.Calls != nil || got.End != nil {
			t.Errorf("got %+v, want an error that says %q, temporary %v", got, want.Error.Contains, want.Error.Temporary)
		}
		return
	}
	if want.Repeat != nil {
		want.Text = strings.Repeat(want.Repeat.Of, want.Repeat.Times)
	}
	if got.Err != nil || got.End == nil {
		t.Fatalf("error %v, end %v", got.Err, got.End)
	}
	if got.Text != want.Text || got.Thought != want.Thought || got.Refusal != want.Refusal || string(got.End.Finish) != want.Finish {
		t.Errorf("got text %.80q, thought %.80q, refusal %q, finish %s; want %.80q, %q, %q, %s",
			got.Text, got.Thought, got.Refusal, got.End.Finish, want.Text, want.Thought, want.Refusal, want.Finish)
	}
	if want.Usage != nil && got.End.Usage != *want.Usage {
		t.Errorf("usage %+v, want %+v", got.End.Usage, *want.Usage)
	}
	if len(got.Calls) != len(want.Calls) {
		t.Fatalf("calls %+v, want %+v", got.Calls, want.Calls)
	}
	ids := map[string]bool{"": true}
	for i, call := range got.Calls {
		if call.Name != want.Calls[i].Name || !sameJSON(call.Arguments, want.Calls[i].Arguments) || ids[call.ID] {
			t.Errorf("call %d is %+v, want %+v", i, call, want.Calls[i])
		}
		ids[call.ID] = true
	}
}

func anyTool(context.Context, map[string]any) (string, error) { return "", nil }

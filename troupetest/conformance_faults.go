package troupetest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestFaults checks that a client of any API that a [Server] speaks reads answers as they
// are meant, and failures as what they are: refusals with their reason, answers that break
// off wherever it may be, errors in the midst of an answer. The function connect returns a
// model that speaks to a server.
func TestFaults(t *testing.T, connect func(t *testing.T, s *Server) troupe.Model) {
	ask := func(t *testing.T, e Exchange) answer {
		t.Helper()
		return hear(t.Context(), t, connect(t, NewServer(t, e)), shapeRequest(t))
	}
	calls := []troupe.ToolCall{{ID: "a", Name: "lookup", Arguments: `{"city":"Oslo","days":3}`}, {ID: "b", Name: "lookup", Arguments: `{"city":"Rome"}`}}
	everything := ServeCalls(calls...).Text("Let me look.").Thought("Where was it?")
	for name, whole := range map[string]Exchange{
		"text":             ServeText("It is said in a few words."),
		"thought and text": ServeText("It is so.").Thought("Is it so? It is."),
		"calls":            ServeCalls(calls...),
		"all of it":        everything,
		"keep-alives":      everything.KeepAlives(2),
		"a cut text":       ServeText("It is said in a").Finish(troupe.FinishLength),
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, whole)
			got.check(t, &whole)
			if end := got.chunks[len(got.chunks)-1].End; end.Usage.Input != 10 || end.Usage.Output != 5 {
				t.Errorf("counted %+v, sent 10 and 5", end.Usage)
			}
		})
	}
	for name, broken := range map[string]Exchange{
		"the connection breaks": everything.CutAfterChunks(4), "it breaks in an event": everything.CutAfterBytes(300), "it ends early": everything.EndAfterChunks(4),
		"it says nothing": everything.EndAfterChunks(0),
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, broken)
			e := got.failure(t)
			if !e.Temporary || !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Errorf("an answer that breaks off is %#v", e)
			}
		})
	}
	for name, refused := range map[string]struct {
		Exchange
		reason    string
		temporary bool
	}{
		"a rate limit":          {ServeStatus(http.StatusTooManyRequests, `{"error":{"message":"slow down"}}`).Header("Retry-After", "7"), "rate", true},
		"a wrong key":           {ServeStatus(http.StatusUnauthorized, `{"error":{"message":"no such key"}}`), "key", false},
		"trouble of its own":    {ServeStatus(http.StatusBadGateway, "<html>bad gateway</html>"), "overloaded", true},
		"a page, not an answer": {ServeRaw("text/html", "<html>Sign in</html>"), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, refused.Exchange)
			e := got.failure(t)
			if e.Temporary != refused.temporary || refused.reason != "" && e.Reason != refused.reason {
				t.Errorf("it is %#v, want %s", e, refused.reason)
			}
			if refused.reason == "rate" && e.RetryAfter != 7*time.Second {
				t.Errorf("when to try again is %s, not 7s", e.RetryAfter)
			}
		})
	}
	t.Run("an error in the midst of it", func(t *testing.T) {
		got := ask(t, everything.FailWith(`{"type":"overloaded_error","message":"Overloaded","code":529}`))
		if e := got.failure(t); !strings.Contains(e.Message, "Overloaded") || !e.Temporary {
			t.Errorf("it is %#v", e)
		}
	})
	t.Run("silence ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := connect(t, NewServer(t, ServeText("It is said in more than a few words.").StallAfterChunks(4)))
		promptly(t, "the end of a context", func() {
			for chunk, err := range m.Generate(ctx, shapeRequest(t)) {
				if err != nil && !errors.Is(err, context.Canceled) || chunk.End != nil {
					t.Errorf("it ended with %v, %v", chunk.End, err)
				}
				cancel()
			}
		})
	})
}

// failure is the one error of an answer, in which nothing was called.
func (a *answer) failure(t *testing.T) *troupe.ModelError {
	t.Helper()
	for _, chunk := range a.chunks {
		if chunk.Call != nil || chunk.End != nil {
			t.Errorf("it yields %+v", chunk)
		}
	}
	if len(a.errs) != 1 {
		t.Fatalf("%d errors after %+v", len(a.errs), a.chunks)
	}
	e, ok := errors.AsType[*troupe.ModelError](a.errs[0])
	if !ok {
		t.Fatalf("the error is %#v, not a *troupe.ModelError", a.errs[0])
	}
	return e
}

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A deaf writer takes everything and keeps nothing.
type deaf struct{ http.ResponseWriter }

func (deaf) Write(p []byte) (int, error)      { return len(p), nil }
func (deaf) SetWriteDeadline(time.Time) error { return nil }
func (deaf) FlushError() error                { return nil }

// What it takes to send one event to its first reader. Others are sent the same bytes.
func BenchmarkSendingAnEventToOneReader(b *testing.B) {
	replied := &troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: strings.Repeat("It is five. ", 50)}, Finish: troupe.FinishStop}
	for name, body := range map[string]troupe.Body{"reply": replied, "delta": &troupe.TextDelta{Text: "It is", Attempt: 1}} {
		b.Run(name, func(b *testing.B) {
			w := deaf{httptest.NewRecorder()}
			out := &events{raw: w, control: http.NewResponseController(w)}
			event := troupe.Event{Seq: 7, Time: time.Now(), Session: newID(), Run: "a1b2", Step: "3", Agent: "clerk", Body: body}
			b.ReportAllocs()
			for b.Loop() {
				if err := out.sendEvent(&event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Turns over a real connection, with a model that answers at once: a message posted
// and its events followed to the end, or a completion asked for.
func BenchmarkTurnsOverHTTP(b *testing.B) {
	inMemory := func(c *Config) {
		c.Store, c.Folders = troupe.NewMemoryStore(), nil
		c.Engine, _ = troupe.New(troupe.Config{Store: c.Store})
	}
	b.Run("completion", func(b *testing.B) {
		w := open(b, clerk(b, echo()), inMemory)
		body := object{"model": "clerk", "messages": turns("hello")}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				w.want(http.StatusOK, nil, "POST", "/v1/chat/completions", body)
			}
		})
	})
	b.Run("message and events", func(b *testing.B) {
		w := open(b, clerk(b, echo()), inMemory)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				w.talk(w.session(), "hello")
			}
		})
	})
}

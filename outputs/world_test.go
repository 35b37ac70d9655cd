package outputs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// id returns the id of the nth session of a test.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// A journal is a log that a test can look into.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) count(message string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), message)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func keep(t testing.TB, store troupe.Store, dir string, options Options) *Folders {
	t.Helper()
	f, err := Keep(store, dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// load reads a session's manifest as anybody would.
func load(t testing.TB, f *Folders, session string) Manifest {
	t.Helper()
	var m Manifest
	if err := json.Unmarshal(manifestOf(t, f, session), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func manifestOf(t testing.TB, f *Folders, session string) []byte {
	t.Helper()
	content, err := os.ReadFile(fileIn(t, f, session, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func fileIn(t testing.TB, f *Folders, session, name string) string {
	t.Helper()
	dir, err := f.Path(session)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

func put(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// noon is when the sessions of tests begin.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// told makes the events of a session from their bodies, one a second.
func told(session string, from int64, bodies ...troupe.Body) []troupe.Event {
	var events []troupe.Event
	for i, body := range bodies {
		seq := from + int64(i)
		events = append(events, troupe.Event{
			Seq: seq, Time: noon.Add(time.Duration(seq) * time.Second), Session: session,
			Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: body,
		})
	}
	return events
}

// own takes sessions for as long as the test.
func own(t testing.TB, store troupe.Store, sessions ...string) {
	t.Helper()
	for _, session := range sessions {
		if _, err := store.Acquire(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
}

// askFor has a session's manifest brought up to date.
func askFor(t testing.TB, f *Folders, session string) {
	t.Helper()
	if err := f.refresh(t.Context(), session); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, store troupe.Store, session string, from int64, bodies ...troupe.Body) {
	t.Helper()
	if err := store.Append(t.Context(), session, told(session, from, bodies...)...); err != nil {
		t.Fatal(err)
	}
}

// begun are the first events of a session, and ended its last.
func begun(text string) []troupe.Body {
	return []troupe.Body{&troupe.RunStarted{}, &troupe.UserSaid{Text: text}}
}

func ended() troupe.Body { return &troupe.RunFinished{Output: troupe.Handoff{Summary: "done"}} }

// A modelFunc answers with a text, with calls, or not at all.
type modelFunc func(ctx context.Context) (text string, calls []troupe.ToolCall, err error)

func (f modelFunc) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		text, calls, err := f(ctx)
		if err != nil {
			yield(troupe.Chunk{}, err)
			return
		}
		if !yield(troupe.Chunk{Text: text}, nil) {
			return
		}
		finish := troupe.FinishStop
		for i := range calls {
			finish = troupe.FinishCalls
			if !yield(troupe.Chunk{Call: &calls[i]}, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: finish}}, nil)
	}
}

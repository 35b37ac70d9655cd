package troupe_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/transcript"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/web"
)

const canarySession = "00000000-0000-4000-8000-000000000001"

// canary is an event of a kind, whose every text names the kind.
func canary(body troupe.Body, seq int64) troupe.Event {
	say(reflect.ValueOf(body).Elem(), "canary"+strings.ReplaceAll(string(body.Kind()), "_", ""), 0)
	return troupe.Event{Seq: seq, Time: time.Unix(seq, 0).UTC(), Session: canarySession, Run: "r", Step: fmt.Sprint(seq), Agent: "clerk", Body: body}
}

// say sets every text in v.
func say(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		if depth < 3 {
			v.Set(reflect.New(v.Type().Elem()))
			say(v.Elem(), text, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				say(v.Field(i), text, depth)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"` + text + `"`))
		}
	}
}

// events are what every consumer of events is tried on: one of each kind.
func everyCanary() []troupe.Event {
	var events []troupe.Event
	for _, body := range troupe.Bodies() {
		events = append(events, canary(body, int64(len(events)+1)))
	}
	return events
}

// A consumer sees events. It may be blind to some kinds for a reason.
type consumer struct {
	sees  func(t *testing.T, e troupe.Event) bool
	blind map[string]string
}

var shownOnly = map[string]string{"text_delta": "it is shown, not stored", "thought_delta": "it is shown, not stored"}

// Whoever adds a kind of event decides what every consumer does with it.
func TestEveryKindIsKnownToEveryConsumer(t *testing.T) {
	page := pageText(t)
	docs, err := os.ReadFile("docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	found := searchable(t)
	consumers := map[string]consumer{
		"the log": {func(t *testing.T, e troupe.Event) bool {
			var out bytes.Buffer
			observe.Log(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})).Note(&e)
			return strings.Contains(out.String(), "canary")
		}, merged(shownOnly, map[string]string{
			"branches_stopped": "there is nothing to say of it", "run_resumed": "there is nothing to say of it",
		})},
		"metrics": {func(t *testing.T, e troupe.Event) bool {
			before, after := observe.NewMetrics(), observe.NewMetrics()
			start := canary(&troupe.RunStarted{}, 1)
			before.Note(&start)
			after.Note(&start)
			after.Note(&e)
			return exposed(t, before) != exposed(t, after)
		}, merged(shownOnly, map[string]string{
			"context_loaded": "context use is counted by reply",
			"user_said":      "runs are counted", "tool_called": "calls are counted when they return", "noted": "it is the program's own",
			"session_renamed": "nothing happens", "session_forked": "the events before it are not counted again", "run_resumed": "the run was counted when it began",
			"branches_stopped": "the branches are counted",
		})},
		"transcripts": {func(t *testing.T, e troupe.Event) bool { return written(t, e) != written(t) },
			merged(shownOnly, nil)},
		"golden format": {func(t *testing.T, e troupe.Event) bool {
			return strings.Contains(troupetest.Format([]troupe.Event{e}), string(e.Kind()))
		}, shownOnly},
		"search": {func(t *testing.T, e troupe.Event) bool {
			return found["canary"+strings.ReplaceAll(string(e.Kind()), "_", "")]
		}, merged(shownOnly, map[string]string{
			"run_started": "what the user said is found", "context_loaded": "prompts are left out", "run_finished": "the reply is found",
			"run_resumed": "it has no text", "branches_stopped": "it has no text", "session_forked": "it has no text",
		})},
		"the page": {func(t *testing.T, e troupe.Event) bool {
			kind := regexp.QuoteMeta(string(e.Kind())) // as a name in the code, not as a word that people read
			return regexp.MustCompile(`["'` + "`" + `]` + kind + `["'` + "`" + `]|\b` + kind + `\s*[:(]`).MatchString(page)
		}, map[string]string{
			"context_loaded": "what a model was told is asked from the API, call by call", "noted": "it is the program's own",
			"branches_stopped": "the branches show how they ended",
		}},
		"the docs": {func(t *testing.T, e troupe.Event) bool {
			return strings.Contains(string(docs), "`"+string(e.Kind())+"`")
		}, nil},
	}
	for name, c := range consumers {
		t.Run(name, func(t *testing.T) {
			for _, e := range everyCanary() {
				reason, isBlind := c.blind[string(e.Kind())]
				if sees := c.sees(t, e); sees == isBlind {
					t.Errorf("%s: seen %v; said to be ignored because: %q", e.Kind(), sees, reason)
				}
			}
		})
	}
}

func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func exposed(t *testing.T, m *observe.Metrics) string {
	var out strings.Builder
	if err := m.WritePrometheus(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// written is the transcript of events that follow the beginning of a run.
func written(t *testing.T, events ...troupe.Event) string {
	var out strings.Builder
	all := append([]troupe.Event{{Seq: 1, Session: canarySession, Run: "r", Step: "0", Agent: "other", Body: &troupe.RunStarted{}}}, events...)
	seq := iter.Seq2[troupe.Event, error](func(yield func(troupe.Event, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err := transcript.Write(&out, seq, transcript.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// searchable returns the canaries that a search in a real store finds.
func searchable(t *testing.T) map[string]bool {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "troupe.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	stored := slices.DeleteFunc(everyCanary(), func(e troupe.Event) bool {
		return e.Kind() == "text_delta" || e.Kind() == "thought_delta"
	})
	for i := range stored {
		stored[i].Seq = int64(i + 1)
	}
	if err := store.Append(t.Context(), canarySession, stored...); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range stored {
		word := "canary" + strings.ReplaceAll(string(e.Kind()), "_", "")
		for _, err := range store.Search(t.Context(), sqlite.Query{Text: word}) {
			if err != nil {
				t.Fatal(err)
			}
			found[word] = true
		}
	}
	return found
}

func pageText(t *testing.T) string {
	var all strings.Builder
	err := fs.WalkDir(web.Page(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".js") || strings.Contains(path, "lib/") {
			return err
		}
		data, err := fs.ReadFile(web.Page(), path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

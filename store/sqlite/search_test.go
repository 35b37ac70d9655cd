package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A searcher is a Store or a Reader.
type searcher interface {
	Search(context.Context, Query) iter.Seq2[Hit, error]
}

// found returns the events that a query chooses, as session/seq.
func found(tb testing.TB, s searcher, q Query) (names []string) {
	tb.Helper()
	for hit, err := range s.Search(tb.Context(), q) {
		if err != nil {
			tb.Fatalf("%+v: %v", q, err)
		}
		if hit.Err != nil {
			tb.Fatal(hit.Err)
		}
		names = append(names, fmt.Sprintf("%s/%d", strings.TrimLeft(hit.Event.Session, "0-48"), hit.Event.Seq))
	}
	return names
}

// talk stores three sessions to search in, a minute apart.
func talk(t *testing.T) *Store {
	t.Helper()
	s := openAt(t, file(t))
	for n, bodies := range [][]troupe.Body{
		{
			said("Please summarise the Übersicht of naïve résumés."),
			&troupe.ModelReplied{Message: &troupe.Message{Text: "I shall look.", Thought: "Which file?"}},
			&troupe.ToolCalled{Tool: "read_file", Arguments: `{"path":"notes/résumé.md","lines":"first\nsecond"}`},
			&troupe.ToolReturned{Tool: "read_file", Content: `{"text":"line one\nline two\tcaf\u00e9 42"}`},
		},
		{
			said(`He said "do it now" and left; it's 100% done (really?).`),
			&troupe.ToolCalled{Tool: "fetch", Arguments: `{"url":"https://example.com/a-b_c"}`},
			&troupe.ToolReturned{Tool: "fetch", Class: "timeout", Error: "no answer in 10s"},
			&troupe.RunFailed{Error: "the model is out of reach"},
		},
		{
			said("今日は雪が降る。東京で会いましょう 🦜"),
			&troupe.Warned{Code: "model_retry", Message: "asked again"},
			&troupe.ContextLoaded{Content: "You are a clerk who summarises."},
			&troupe.RunFinished{Output: troupe.Handoff{Summary: "summarise"}},
		},
	} {
		events := eventsOf(id(n+1), 1, bodies...)
		for i := range events {
			events[i].Time = events[i].Time.Add(time.Duration(n) * time.Minute)
			events[i].Agent = []string{"alex", "kim", "kim"}[n]
			events[i].Run = fmt.Sprint("run", n+1)
		}
		mustAppend(t, s, events...)
	}
	return s
}

func TestSearchFilters(t *testing.T) {
	s := talk(t)
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{}, "3/4 3/3 3/2 3/1 2/4 2/3 2/2 2/1 1/4 1/3 1/2 1/1"},
		{Query{Limit: 3}, "3/4 3/3 3/2"},
		{Query{Session: id(2)}, "2/4 2/3 2/2 2/1"},
		{Query{Session: id(2), Limit: 1}, "2/4"},
		{Query{Session: id(9)}, ""},
		{Query{Run: "run1", Limit: 1}, "1/4"},
		{Query{Agent: "kim", Kinds: []string{"user_said"}}, "3/1 2/1"},
		{Query{Agent: "ki"}, ""},
		{Query{Tool: "fetch"}, "2/3 2/2"},
		{Query{Tool: "fetch", Kinds: []string{"tool_called"}}, "2/2"},
		{Query{Errors: true}, "2/4 2/3"},
		{Query{Errors: true, Agent: "alex"}, ""},
		{Query{Kinds: []string{"user_said", "warned"}}, "3/2 3/1 2/1 1/1"},
		{Query{Kinds: []string{"warned", "run_cancelled"}, OrErrors: true}, "3/2 2/4 2/3"},
		{Query{Kinds: []string{"warned"}, OrErrors: true, Agent: "kim", Tool: "fetch"}, "2/3"},
		{Query{Kinds: []string{"user_said", "tool_returned"}, Errors: true}, "2/3"},
		{Query{OrErrors: true, Limit: 2}, "3/4 3/3"},
		{Query{Class: "timeout"}, "2/3"},
		{Query{Class: "failed"}, "2/4"},
		{Query{Since: noon.Add(2 * time.Minute)}, "3/4 3/3 3/2 3/1"},
		{Query{Since: noon.Add(2*time.Minute + 2)}, "3/4 3/3 3/2"},
		{Query{Until: noon.Add(2)}, "1/1"},
		{Query{Since: noon.Add(time.Minute), Until: noon.Add(time.Minute + 3)}, "2/2 2/1"},
		{Query{Since: noon.Add(time.Hour)}, ""},
		{Query{Since: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 1}, "3/4"},
		{Query{After: noon.Add(time.Minute).UnixNano() + 3, Agent: "kim", Limit: 9}, "3/4 3/3 3/2 3/1 2/4"},
		{Query{After: noon.UnixNano(), Before: noon.UnixNano() + 3}, "1/2 1/1"},
		{Query{After: noon.UnixNano() + 1, Since: noon, Text: "read_file"}, "1/4 1/3"},
		{Query{After: noon.UnixNano() + 3, Since: noon, Text: "read_file"}, "1/4"},
		{Query{Text: "line", Since: noon, Agent: "alex"}, "1/4"},
		{Query{Text: "line", Session: id(2)}, ""},
		{Query{Text: "summarise", Until: noon.Add(time.Minute)}, "1/1"},
	} {
		if got := strings.Join(found(t, s, c.query), " "); got != c.want {
			t.Errorf("%+v found %s; want %s", c.query, got, c.want)
		}
	}
}

// texts are what can be searched for in talk, and what is found.
var texts = map[string]string{
	"summarise":            "1/1", // not in a prompt, nor in what repeats an answer
	"SUMMARISE please":     "1/1",
	"ubersicht":            "1/1",
	"Übersicht naive":      "1/1",
	"résumé":               "1/3",
	"resume":               "1/3",
	"resum*":               "1/3 1/1",
	"read_file":            "1/4 1/3",
	"read_file second":     "1/3",
	"café":                 "1/4",
	"42":                   "1/4",
	`"line two"`:           "1/4",
	`"two line"`:           "",
	"two line":             "1/4",
	"Which":                "1/2",
	`said "do it now"`:     "2/1",
	`"it do"`:              "",
	"100% done":            "2/1",
	"it's":                 "2/1",
	"(really?)":            "2/1",
	"https://example.com/": "2/2",
	"a-b_c":                "2/2",
	"10s":                  "2/3",
	"reach":                "2/4",
	"again":                "3/2",
	"雪":                    "3/1",
	"雪が降る":                 "3/1",
	"降雪":                   "",
	"東京":                   "3/1",
	"!!!":                  "",
	"reach !!!":            "2/4",
	" ":                    "",
	"nothing of that kind": "",
}

func TestSearchFindsText(t *testing.T) {
	s := talk(t)
	for text, want := range texts {
		if got := strings.Join(found(t, s, Query{Text: text}), " "); got != want {
			t.Errorf("%q found %s; want %s", text, got, want)
		}
	}
}

// hostile are texts that would be syntax, were they not quoted.
var hostile = []string{
	`"`, `""`, `"""`, `a"b`, `"a`, `*`, `**`, `a*b*`, `"a"*`, `^a`, `a OR`, `AND`, `NOT a`, `OR OR OR`, `NEAR(a b, 5)`, `text:a`, `{text}:a`, `-a`, `a + b`,
	`(`, `)`, `((a)`, `a;b`, `'; DROP TABLE events; --`, "\x00", "a\x00b", "\"a\x00", "\xff\xfe", `\`, "a\nb\tc", "🦜", "e\u0301", "\u200b", "\u202e", "%_", "雪\"雪", "?1", ":a", "@a", "$a",
}

func TestSearchTakesAnyText(t *testing.T) {
	s := talk(t)
	for _, text := range append(hostile, strings.Repeat("a ", maxTerms), strings.Repeat("a", maxQuery), `"`+strings.Repeat("a ", maxQuery/2-2)) {
		found(t, s, Query{Text: text})
	}
	for _, text := range []string{strings.Repeat("a ", maxTerms+1), strings.Repeat("a", maxQuery+1)} {
		for _, err := range s.Search(t.Context(), Query{Text: text}) {
			if err == nil || !strings.HasSuffix(err.Error(), "can be searched for") {
				t.Errorf("%.10q...: got %v", text, err)
			}
		}
	}
}

func FuzzAnyTextMeansTheSameWithAndWithoutTheIndex(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	var readers []*Reader
	for _, indexed := range []int{0, 2} {
		path := file(f)
		s := openAt(f, path)
		mustAppend(f, s, eventsOf(id(1), 1, said("a b and 雪"), said("AND it's an Ünïcödé text (e)"))...)
		keepIndexed(f, s, indexed)
		readers = append(readers, readAt(f, path))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var results []string
		for _, r := range readers {
			var result string
			for hit, err := range r.Search(t.Context(), Query{Text: text}) {
				if err != nil && !strings.HasSuffix(err.Error(), "can be searched for") {
					t.Errorf("%q: %v", text, err)
				}
				result += fmt.Sprint(hit.Number, err, " ")
			}
			results = append(results, result)
		}
		if results[0] != results[1] {
			t.Errorf("%q is found at %s without the index, at %s with it", text, results[0], results[1])
		}
	})
}

func TestAllHitsComeInPages(t *testing.T) {
	s := openAt(t, file(t))
	var want []string
	const sessions, each = 6, 60
	for n := range sessions {
		for i := range each / 10 {
			var bodies []troupe.Body
			for range 10 {
				bodies = append(bodies, said("needle"))
			}
			mustAppend(t, s, eventsOf(id(n), int64(10*i+1), bodies...)...)
		}
	}
	for _, query := range []Query{{}, {Text: "needle"}, {Session: id(3)}, {Text: "needle", Session: id(3)}} {
		all := found(t, s, query)
		if want := sessions * each; query.Session == "" && len(all) != want || query.Session != "" && len(all) != each {
			t.Errorf("%+v found %d of %d", query, len(all), want)
		}
		want = want[:0]
		q := query
		for q.Limit = 50; ; {
			n := 0
			for hit, err := range s.Search(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				q.Before = hit.Number
				n++
			}
			if n == 0 {
				break
			}
			want = append(want, fmt.Sprint(n))
		}
		if pages := (len(all) + 49) / 50; len(want) != pages {
			t.Errorf("%+v came in pages of %v", query, want)
		}
	}
	for range s.Search(t.Context(), Query{}) {
		break
	}
}

func TestASearchFindsWhatWasJustStored(t *testing.T) {
	s := openAt(t, file(t))
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for seq := int64(1); seq <= 10; seq++ {
				word := fmt.Sprintf("word%dx%d", n, seq)
				if err := s.Append(t.Context(), id(n), eventsOf(id(n), seq, said(word))...); err != nil {
					t.Error(err)
				}
				if got := found(t, s, Query{Text: word}); len(got) != 1 {
					t.Errorf("%s is found %d times", word, len(got))
				}
			}
		})
	}
	wg.Wait()
}

func TestTheIndexIsWrittenInTheBackground(t *testing.T) {
	path := file(t)
	s := openAt(t, path)
	release := hold(t, s) // so that closing comes before indexing
	var wg sync.WaitGroup
	wg.Go(func() {
		mustAppend(t, s, eventsOf(id(1), 1, slices.Repeat([]troupe.Body{said("needle")}, 3*indexEvents)...)...)
	})
	release()
	wg.Wait()
	mustClose(t, s)
	s = openAt(t, path)
	// Nobody searches: whoever opens the store has it indexed.
	for upto, newest := int64(0), int64(1); upto < newest; {
		if err := s.readers.QueryRow("SELECT upto, (SELECT max(key) FROM events) FROM indexed").Scan(&upto, &newest); err != nil {
			t.Fatal(err)
		}
	}
	if got := found(t, s, Query{Text: "needle"}); len(got) != 3*indexEvents {
		t.Errorf("%d are found", len(got))
	}
}

func TestWhatIsDeletedIsNotFound(t *testing.T) {
	s := talk(t)
	if got := found(t, s, Query{Text: "line"}); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	n := 0
	for hit, err := range s.Search(t.Context(), Query{}) {
		if err != nil || hit.Event.Session == id(1) {
			t.Errorf("got %+v, %v", hit, err)
		}
		if n++; n == 1 {
			if err := s.Delete(t.Context(), id(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := found(t, s, Query{Text: "line"}); len(got) != 0 || n != 8 {
		t.Errorf("found %v, and %d without text", got, n)
	}
	mustAppend(t, s, eventsOf(id(1), 1, said("line again"))...)
	if got := found(t, s, Query{Text: "line"}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func TestWhatComesAfterADeletedSessionIsFound(t *testing.T) {
	path := file(t)
	s := openAt(t, path)
	for n := range 3 {
		mustAppend(t, s, eventsOf(id(n), 1, said("first"), said("second"))...)
		if got := found(t, s, Query{Text: "second"}); len(got) != 1 {
			t.Errorf("round %d: found %v", n, got)
		}
		if err := s.Delete(t.Context(), id(n)); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			mustClose(t, s)
			s = openAt(t, path)
		}
	}
}

func TestADamagedIndexIsRebuilt(t *testing.T) {
	s := talk(t)
	found(t, s, Query{Text: "line"})
	do(t, s, "DELETE FROM texts_data")
	mustAppend(t, s, eventsOf(id(7), 1, said("needle"))...)
	if got := found(t, s, Query{Text: "needle"}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	do(t, s, "DELETE FROM texts_data")
	if got := found(t, s, Query{Text: "needle"}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
	do(t, s, "DELETE FROM texts_data")
	if err := s.Delete(t.Context(), id(7)); err != nil {
		t.Errorf("a session cannot be deleted: %v", err)
	}
	mustAppend(t, s, eventsOf(id(7), 1, said("needle"))...)
	if got := found(t, s, Query{Session: id(7)}); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

// Who only reads the file cannot mend its index, and finds what is there all the same.
func TestAReaderFindsTextWhereTheIndexIsDamaged(t *testing.T) {
	s := talk(t)
	found(t, s, Query{Text: "line"})
	mustClose(t, s)
	alter(t, s.path, "UPDATE texts_data SET block = x'00' WHERE id > 10")
	r := readAt(t, s.path)
	for text, want := range texts {
		if got := strings.Join(found(t, r, Query{Text: text}), " "); got != want {
			t.Errorf("%q found %s; want %s", text, got, want)
		}
	}
}

// Pages of the index that hold garbage are no reason to set the store aside.
func TestAStoreWithADamagedIndexIsOpened(t *testing.T) {
	for name, spoil := range map[string]func(data []byte, root int64){
		"garbage in a page": func(data []byte, root int64) { copy(data[(root-1)*4096:], bytes.Repeat([]byte{0xa5}, 4096)) },
		"a page of zeros":   func(data []byte, root int64) { clear(data[(root-1)*4096 : root*4096]) },
		"garbage in a cell": func(data []byte, root int64) { copy(data[root*4096-64:], bytes.Repeat([]byte{0xff}, 64)) },
	} {
		s := talk(t)
		path := s.path
		found(t, s, Query{Text: "line"})
		before := len(sessionsOf(t, s))
		var root int64
		if err := s.readers.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'texts_data'").Scan(&root); err != nil {
			t.Fatal(err)
		}
		mustClose(t, s)
		data := get(t, path)
		spoil(data, root)
		put(t, path, data)
		c, err := stakeClaim(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.suspect(), c.release()); err != nil { // so that it is checked
			t.Fatal(err)
		}
		s, err = Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n, after := len(found(t, s, Query{Text: "line"})), len(sessionsOf(t, s)); n == 0 || after != before {
			t.Errorf("%s: %d hits, %d sessions of %d", name, n, after, before)
		}
		mustClose(t, s)
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	s := talk(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range s.Search(ctx, Query{}) {
		n++
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || n > 2 {
		t.Errorf("it ended with %v after %d hits", last, n)
	}
}

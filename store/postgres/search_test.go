package postgres

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/store"
)

// found returns the events that a query chooses, as session/seq.
func found(tb testing.TB, s store.Log, q store.Query) (names []string) {
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
	s := openNew(t)
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
		query store.Query
		want  string
	}{
		{store.Query{}, "3/4 3/3 3/2 3/1 2/4 2/3 2/2 2/1 1/4 1/3 1/2 1/1"},
		{store.Query{Limit: 3}, "3/4 3/3 3/2"},
		{store.Query{Session: id(2)}, "2/4 2/3 2/2 2/1"},
		{store.Query{Session: id(2), Limit: 1}, "2/4"},
		{store.Query{Session: id(9)}, ""},
		{store.Query{Run: "run1", Limit: 1}, "1/4"},
		{store.Query{Agent: "kim", Kinds: []string{"user_said"}}, "3/1 2/1"},
		{store.Query{Agent: "ki"}, ""},
		{store.Query{Tool: "fetch"}, "2/3 2/2"},
		{store.Query{Tool: "fetch", Kinds: []string{"tool_called"}}, "2/2"},
		{store.Query{Errors: true}, "2/4 2/3"},
		{store.Query{Errors: true, Agent: "alex"}, ""},
		{store.Query{Kinds: []string{"user_said", "warned"}}, "3/2 3/1 2/1 1/1"},
		{store.Query{Kinds: []string{"warned", "run_cancelled"}, OrErrors: true}, "3/2 2/4 2/3"},
		{store.Query{Kinds: []string{"warned"}, OrErrors: true, Agent: "kim", Tool: "fetch"}, "2/3"},
		{store.Query{Kinds: []string{"user_said", "tool_returned"}, Errors: true}, "2/3"},
		{store.Query{OrErrors: true, Limit: 2}, "3/4 3/3"},
		{store.Query{Class: "timeout"}, "2/3"},
		{store.Query{Class: "failed"}, "2/4"},
		{store.Query{Since: noon.Add(2 * time.Minute)}, "3/4 3/3 3/2 3/1"},
		{store.Query{Since: noon.Add(2*time.Minute + 2)}, "3/4 3/3 3/2"},
		{store.Query{Until: noon.Add(2)}, "1/1"},
		{store.Query{Since: noon.Add(time.Minute), Until: noon.Add(time.Minute + 3)}, "2/2 2/1"},
		{store.Query{Since: noon.Add(time.Hour)}, ""},
		{store.Query{Since: time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), Limit: 1}, "3/4"},
		{store.Query{Text: "line", Since: noon, Agent: "alex"}, "1/4"},
		{store.Query{Text: "line", Session: id(2)}, ""},
		{store.Query{Text: "summarise", Until: noon.Add(time.Minute)}, "1/1"},
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
		if got := strings.Join(found(t, s, store.Query{Text: text}), " "); got != want {
			t.Errorf("%q found %s; want %s", text, got, want)
		}
	}
}

// hostile are texts that would be syntax, were they not quoted.
var hostile = []string{
	`"`, `""`, `"""`, `a"b`, `"a`, `*`, `**`, `a*b*`, `"a"*`, `^a`, `a OR`, `AND`, `NOT a`, `OR OR OR`, `NEAR(a b, 5)`, `text:a`, `{text}:a`, `-a`, `a + b`,
	`(`, `)`, `((a)`, `a;b`, `'; DROP TABLE events; --`, "\x00", "a\x00b", "\"a\x00", "\xff\xfe", `\`, "a\nb\tc", "🦜", "e\u0301", "\u200b", "\u202e", "%_", "雪\"雪", "?1", ":a", "@a", "$a",
}

// Whatever a person types, what is in the index is found by it as what is not.
func TestAnyTextMeansTheSameWithAndWithoutTheIndex(t *testing.T) {
	s := talk(t)
	reader := openAt(t, s.config.ConnString()+"&schema="+s.schema, Options{ReadOnly: true})
	queries := append(hostile, strings.Repeat("a ", maxTerms), strings.Repeat("a", maxQuery), "the", "a*", "\"do it\"")
	for text := range texts {
		queries = append(queries, text)
	}
	var indexed []string
	for _, text := range queries {
		indexed = append(indexed, fmt.Sprint(found(t, s, store.Query{Text: text})))
	}
	if n := shared.Server(t).SQL(t, "postgres", "SELECT count(*) FROM "+s.schema+".texts"); n == "0" {
		t.Fatal("nothing is in the index")
	}
	shared.Server(t).SQL(t, "postgres", fmt.Sprintf("TRUNCATE %[1]s.texts; UPDATE %[1]s.indexed SET upto = 0", s.schema))
	for i, text := range queries {
		if got := fmt.Sprint(found(t, reader, store.Query{Text: text})); got != indexed[i] {
			t.Errorf("%q is found at %s without the index, at %s with it", text, got, indexed[i])
		}
	}
	for _, text := range []string{strings.Repeat("a ", maxTerms+1), strings.Repeat("a", maxQuery+1)} {
		for _, err := range s.Search(t.Context(), store.Query{Text: text}) {
			if err == nil || !strings.HasSuffix(err.Error(), "can be searched for") {
				t.Errorf("%.10q...: got %v", text, err)
			}
		}
	}
}

func TestHitsGoOnFromWhereTheyEnded(t *testing.T) {
	s := openNew(t)
	const size = 3 * hitPage
	for n := range 3 {
		var bodies []troupe.Body
		for i := range hitPage {
			bodies = append(bodies, said(fmt.Sprint("word ", i)))
		}
		mustAppend(t, s, eventsOf(id(n), 1, bodies...)...)
	}
	for _, text := range []string{"", "word"} {
		seen, before := 0, int64(math.MaxInt64)
		for {
			last := before
			for hit, err := range s.Search(t.Context(), store.Query{Text: text, Before: before, Limit: 50}) {
				if err != nil || hit.Number >= last {
					t.Fatalf("hit %d comes after %d, %v", hit.Number, last, err)
				}
				last = hit.Number
				seen++
			}
			if last == before {
				break
			}
			before = last
		}
		if seen != size {
			t.Errorf("%q: %d hits; want %d", text, seen, size)
		}
	}
}

func TestVeryLongAndOddTextsAreIndexed(t *testing.T) {
	s := openNew(t)
	odd := []troupe.Body{
		said(strings.Repeat("wort ", 20000) + "ende"), said(strings.Repeat("x", 100_000)), said("a\x00b 'quoted' back\\slash"), said(strings.Repeat("ab cd ", 9000)),
	}
	mustAppend(t, s, eventsOf(id(1), 1, odd...)...)
	for text, want := range map[string]string{"wort": "1/1", "'quoted'": "1/3", "back\\slash": "1/3", `"cd ab"`: "1/4", "x*": "1/2"} {
		if got := strings.Join(found(t, s, store.Query{Text: text}), " "); got != want {
			t.Errorf("%q found %s; want %s", text, got, want)
		}
	}
}

package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// sentence is what the events of a benchmark say: half a kilobyte.
var sentence = strings.Repeat("The quick brown fox jumps over the lazy dog and runs away. ", 9)

// BenchmarkAppend has many sessions write an event at a time.
func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 64} {
		b.Run(fmt.Sprint("sessions=", sessions), func(b *testing.B) {
			s := openAt(b, file(b))
			took := make([][]time.Duration, sessions)
			var wg sync.WaitGroup
			b.ResetTimer()
			for n := range sessions {
				wg.Go(func() {
					for i := n; i < b.N; i += sessions {
						began := time.Now()
						e := eventsOf(id(n), int64(i/sessions+1), said(sentence))
						if err := s.Append(b.Context(), id(n), e...); err != nil {
							b.Error(err)
						}
						took[n] = append(took[n], time.Since(began))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			all := slices.Concat(took...)
			slices.Sort(all)
			stats := s.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(stats.Appends)/float64(stats.Commits), "appends/commit")
			b.ReportMetric(all[len(all)/2].Seconds()*1e3, "p50-ms")
			b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, "p99-ms")
			b.ReportMetric(all[len(all)-1].Seconds()*1e3, "max-ms")
		})
	}
}

// fill stores sessions of a few events each, many at a time.
func fill(b *testing.B, s *Store, sessions, events int, bodies func(i int) troupe.Body) {
	b.Helper()
	var wg sync.WaitGroup
	for lane := range 64 {
		wg.Go(func() {
			for n := lane; n < sessions; n += 64 {
				log := make([]troupe.Event, events)
				for i := range log {
					log[i] = eventsOf(id(n), int64(i+1), bodies(n*events+i))[0]
					log[i].Time = log[i].Time.Add(time.Duration(n) * time.Minute)
				}
				if err := s.Append(b.Context(), id(n), log...); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkOpen opens a store of 10,000 sessions and lists the latest 50.
func BenchmarkOpen(b *testing.B) {
	path := file(b)
	s := openAt(b, path)
	fill(b, s, 10_000, 10, func(int) troupe.Body { return said(sentence) })
	mustClose(b, s)
	for b.Loop() {
		s := openAt(b, path)
		n := 0
		for _, err := range s.Sessions(b.Context(), troupe.SessionFilter{Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 50 {
			b.Fatalf("%d sessions are listed", n)
		}
		b.StopTimer()
		mustClose(b, s)
		b.StartTimer()
	}
}

// BenchmarkAppendAfter appends to the first and to the ten thousandth session.
func BenchmarkAppendAfter(b *testing.B) {
	for _, sessions := range []int{0, 10_000} {
		b.Run(fmt.Sprint("sessions=", sessions), func(b *testing.B) {
			s := openAt(b, file(b))
			fill(b, s, sessions, 10, func(int) troupe.Body { return said(sentence) })
			if err := s.catchUp(b.Context()); err != nil {
				b.Fatal(err)
			}
			session := id(sessions)
			seq := int64(0)
			for b.Loop() {
				seq++
				if err := s.Append(b.Context(), session, eventsOf(session, seq, said(sentence))...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenAfterAKill opens a store of 10,000 sessions that has to be checked.
func BenchmarkOpenAfterAKill(b *testing.B) {
	path := file(b)
	s := openAt(b, path)
	fill(b, s, 10_000, 10, func(int) troupe.Body { return said(sentence) })
	mustClose(b, s)
	for b.Loop() {
		b.StopTimer()
		claim, err := stakeClaim(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(claim.suspect(), claim.release()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		mustClose(b, openAt(b, path))
	}
}

// BenchmarkSearch looks for things in 1,000,000 events, as the owner and then as a
// guest.
func BenchmarkSearch(b *testing.B) {
	if testing.Short() {
		b.Skip("it stores 1,000,000 events first")
	}
	path := file(b)
	s := openAt(b, path)
	const sessions, each = 10_000, 100
	began := time.Now()
	fill(b, s, sessions, each, func(i int) troupe.Body {
		switch {
		case i == sessions*each/2:
			return &troupe.ToolReturned{Tool: "rare", Class: "panicked", Content: "a needle in a haystack"}
		case i%50 == 0:
			return &troupe.ToolReturned{Tool: "fetch", Class: "timeout", Error: "no answer"}
		case i%3 == 0:
			return &troupe.ToolCalled{Tool: "fetch", Arguments: troupe.Arguments(fmt.Sprintf(`{"url":"https://example.com/%d"}`, i))}
		}
		return said(fmt.Sprint("message number ", i))
	})
	b.Logf("stored in %v", time.Since(began).Round(time.Second))
	began = time.Now()
	if err := s.catchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("indexed in another %v", time.Since(began).Round(time.Second))
	start := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	late := start.Add((sessions - 10) * time.Minute)
	warned := []string{"warned", "run_cancelled"}
	cases := []struct {
		name  string
		query Query
		hits  int
	}{
		{"latest", Query{}, 50},
		{"errors", Query{Errors: true}, 50},
		{"agent", Query{Agent: "alex"}, 50},
		{"absent agent", Query{Agent: "nobody"}, 0},
		{"tool", Query{Tool: "fetch"}, 50},
		{"rare tool", Query{Tool: "rare"}, 1},
		{"rare class", Query{Class: "panicked"}, 1},
		{"kinds or errors", Query{Kinds: warned, OrErrors: true}, 50},
		{"kinds or errors of an absent agent", Query{Kinds: warned, OrErrors: true, Agent: "nobody"}, 0},
		{"absent kinds", Query{Kinds: warned}, 0},
		{"since", Query{Since: late}, 50},
		{"until", Query{Until: start.Add(time.Minute)}, 50},
		{"all at once since late", Query{Agent: "alex", Tool: "fetch", Kinds: warned, OrErrors: true, Text: "answer", Since: late}, 20},
		{"all at once", Query{Agent: "alex", Tool: "rare", Kinds: warned, OrErrors: true, Text: "haystack", Since: start}, 1},
		{"session", Query{Session: id(sessions / 2), Kinds: []string{"tool_returned"}}, 2},
		{"rare word", Query{Text: "needle"}, 1},
		{"common word", Query{Text: "message"}, 50},
		{"common word of a session", Query{Text: "message", Session: id(17)}, 50},
		{"common word of an absent agent", Query{Text: "message", Agent: "nobody"}, 0},
	}
	measure := func(who string, s searcher) {
		for _, c := range cases {
			c.query.Limit = 50
			b.Run(who+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					if got := found(b, s, c.query); len(got) != c.hits {
						b.Fatalf("found %v", got)
					}
				}
			})
		}
	}
	measure("owner", s)
	mustClose(b, s)
	measure("guest", readAt(b, path))
}

// Package transcript writes a session's events as a readable markdown transcript.
//
// What people, models, tools and files said stays in its place, whatever it says.
// Messages and answers stand in block quotes, which keep headings, lists and
// unclosed code to themselves; HTML and footnotes, which a quote does not hold,
// show as text. Arguments and results stand in code fences longer than any inside,
// and names in code spans. What is in none of these was written by this package.
package transcript

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// Options say how a transcript is written. The zero Options are fine.
type Options struct {
	// Session is what the heading says, as a store lists it. What is not set comes
	// from the first events, but for the status: that is then at the end only.
	Session troupe.SessionInfo
	// MaxBytes is how much is shown of a tool's arguments, of a result and of an
	// error: 4 KiB by default.
	MaxBytes int
}

// Write writes the events of one session, in their order, as markdown to w: each
// before it asks for the next, and totals at the end. It keeps the names of runs
// and files and the latest words of runs under way, not the session. If events end
// with an error, it returns that error and the transcript ends there.
func Write(w io.Writer, events iter.Seq2[troupe.Event, error], options Options) error {
	if options.MaxBytes <= 0 {
		options.MaxBytes = 4 << 10
	}
	t := transcript{Options: options, runs: map[string]*run{}, calls: map[string]int{}, files: map[string]*troupe.ArtifactSaved{}}
	for e, err := range events {
		if err == nil {
			t.note(&e)
			_, err = t.page.WriteTo(w)
		}
		if err != nil {
			return fmt.Errorf("write transcript: %w", err)
		}
	}
	t.end()
	if _, err := t.page.WriteTo(w); err != nil {
		return fmt.Errorf("write transcript: %w", err)
	}
	return nil
}

// A transcript is what is known of a session while it is written.
type transcript struct {
	Options
	page bytes.Buffer // what is to be written next
	// section is the heading that what comes belongs under, and shown the one that
	// the page is under.
	section, shown string

	info   troupe.SessionInfo
	runs   map[string]*run
	agents []string
	calls  map[string]int                   // the numbers of calls under way
	files  map[string]*troupe.ArtifactSaved // by path
	total  troupe.Spent
}

// A run is what is known of a run.
type run struct {
	names   []string // those of the runs around it, and its own
	task    string
	said    string // its latest words, which its result often repeats
	cut     string // those of a reply that broke off at the output limit, with what came before
	started time.Time
	elapsed time.Duration // 0 where another run is around it
}

// runOf returns the run that an event happened in.
func (t *transcript) runOf(e *troupe.Event) *run {
	r := t.runs[e.Run]
	if r == nil {
		r = &run{names: append(slices.Clone(t.around(e).names), e.Agent), started: e.Time}
		t.runs[e.Run] = r
	}
	if !slices.Contains(t.agents, e.Agent) {
		t.agents = append(t.agents, e.Agent)
	}
	if e.Parent == "" {
		r.elapsed = e.Time.Sub(r.started)
	}
	return r
}

// around returns the run that an event's run is nested in, an empty one where there
// is none.
func (t *transcript) around(e *troupe.Event) *run {
	if r := t.runs[e.Parent]; r != nil && e.Parent != "" {
		return r
	}
	return &run{}
}

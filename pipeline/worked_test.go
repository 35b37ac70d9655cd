package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// The time of a phase is that in which it was worked on: what it waited for a person is
// said apart, and while no process was there it did neither.
func TestTheTimeOfAPhaseIsThatOfItsWork(t *testing.T) {
	asks := &troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}
	done := &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": "implementation", "status": "success", "json": "strict"}}}
	at := func(l *log, seconds int) { (*l)[len(*l)-1].Time = time.Unix(int64(seconds), 0) }
	for name, c := range map[string]struct {
		between func(l *log) // from second 10 on, the phase has run since second 0
		end     int
		want    string // worked and waited
	}{
		"nothing happens": {func(*log) {}, 40, "40s 0s"},
		"it asks": {func(l *log) {
			l.add("a:1", "a", "step 1", asks)
			at(l, 10)
			l.add("a", "root", "implementation", asks)
			at(l, 10)
			l.add("root", "", "deliver", asks)
			at(l, 10)
			l.add("a:1", "a", "step 1", &troupe.UserSaid{Text: "go on"})
			at(l, 7210)
		}, 7240, "40s 2h0m0s"},
		"it asks twice": {func(l *log) {
			for i := range 2 {
				l.add("a", "root", "implementation", asks)
				at(l, 10+i*110)
				l.add("a", "root", "implementation", &troupe.UserSaid{})
				at(l, 110+i*110)
			}
		}, 230, "30s 3m20s"},
		"its process dies": {func(l *log) {
			l.add("a:1", "a", "builder", &troupe.ToolCalled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunResumed{})
			at(l, 500)
		}, 510, "20s 0s"},
		"its process dies, and what is said next closes it": {func(l *log) {
			l.add("a:1", "a", "builder", &troupe.ToolCalled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunCancelled{Reason: "interrupted, and not resumed before the next message"})
			at(l, 500)
			l.add("root", "", "deliver", &troupe.RunResumed{})
			at(l, 500)
		}, 510, "20s 0s"},
		"it is stopped and goes on": {func(l *log) {
			l.add("a", "root", "implementation", &troupe.RunCancelled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunCancelled{})
			at(l, 10)
			l.add("root", "", "deliver", &troupe.RunResumed{})
			at(l, 500)
		}, 510, "20s 0s"},
	} {
		var l log
		l.add("a", "root", "implementation", &troupe.RunStarted{})
		at(&l, 0)
		c.between(&l)
		l.add("a", "root", "implementation", done)
		at(&l, c.end)
		l.add("root", "", "deliver", asks) // a question after the phase is none of its time
		at(&l, c.end)
		l.add("root", "", "deliver", &troupe.UserSaid{})
		at(&l, c.end+1000)
		s := Summarize(l)
		p := s.Phases[0]
		if s.Between != 0 {
			t.Errorf("%s: %s of it is in no phase", name, s.Between.Duration())
		}
		if got := fmt.Sprint(p.Duration.Duration(), " ", p.Waited.Duration()); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// What a phase and a delivery have taken never gets less: another round adds to it, and so
// does going on after the end.
func TestTotalsNeverGoDown(t *testing.T) {
	var l log
	at := 0
	add := func(seconds int, run, parent, agent string, body troupe.Body) {
		at += seconds
		l.add(run, parent, agent, body)
		l[len(l)-1].Time = time.Unix(int64(1000+at), 0)
	}
	done := func(status string) *troupe.RunFinished {
		return &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": "planning", "status": status, "json": "strict"}}}
	}
	asks := &troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}
	reply := &troupe.ModelReplied{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: 1}
	round := func(run, root, status string, seconds int) {
		add(0, run, root, "planning", &troupe.RunStarted{})
		add(seconds, run+":1", run, "planner", reply)
		add(0, run, root, "planning", done(status))
	}
	add(0, "a", "", "deliver", &troupe.RunStarted{})
	round("a:1", "a", "failed", 7)
	add(0, "a", "", "deliver", asks)
	add(100, "a", "", "deliver", &troupe.UserSaid{Text: "again"})
	round("a:2", "a", "success", 2)
	add(1, "a", "", "deliver", &troupe.RunFinished{})
	add(500, "b", "", "deliver", &troupe.RunStarted{}) // nobody worked on it, and it waited for nobody
	round("b:1", "b", "success", 3)
	add(0, "b", "", "deliver", &troupe.RunFinished{})

	var before Summary
	for n := range l {
		now := Summarize(l[:n+1])
		if now.Duration < before.Duration || now.Waited < before.Waited || now.Tokens < before.Tokens || now.Cost < before.Cost {
			t.Errorf("after event %d: %+v, was %+v", n+1, now, before)
		}
		before = now
	}
	p := before.Phases[0]
	got := fmt.Sprint(before.Duration.Duration(), " ", before.Waited.Duration(), " ", before.Tokens, " ", before.Cost, "; ", p.Duration.Duration(), " ", p.Runs, " ", p.Tokens)
	if want := "13s 1m40s 45 3; 12s 3 45"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is worked is a phase's or between the phases, and an open question counts until now.
func TestTimesAddUp(t *testing.T) {
	var l log
	at := 0
	add := func(seconds int, run, parent, agent string, body troupe.Body) {
		at += seconds
		l.add(run, parent, agent, body)
		l[len(l)-1].Time = time.Unix(int64(1000+at), 0)
	}
	done := func(phase string) *troupe.RunFinished {
		return &troupe.RunFinished{Output: troupe.Handoff{Custom: map[string]any{"phase": phase, "status": "success", "json": "strict"}}}
	}
	asks := &troupe.RunFinished{Stop: "input_requested", Output: troupe.Handoff{Summary: "Well?"}}
	add(0, "a", "", "deliver", &troupe.RunStarted{})
	add(3, "a:1", "a", "requirements", &troupe.RunStarted{}) // preparing
	add(7, "a:1", "a", "requirements", done("requirements"))
	add(2, "a", "", "deliver", &troupe.ToolCalled{Tool: toolCheck})
	add(0, "a", "", "deliver", asks)
	add(60, "", "", "", &troupe.SessionRenamed{Title: "Other"}) // somebody looks in
	add(40, "a", "", "deliver", &troupe.UserSaid{Text: "go on"})
	add(0, "a:2", "a", "planning", &troupe.RunStarted{})
	add(5, "a:2", "a", "planning", &troupe.ModelReplied{})
	add(90, "", "", "", &troupe.SessionForked{}) // it goes on elsewhere, later
	add(30, "a", "", "deliver", &troupe.RunResumed{})
	add(4, "a:2", "a", "planning", done("planning"))
	add(1, "a", "", "deliver", asks)
	s := Summarize(l)
	got := fmt.Sprint(s.Duration.Duration(), " ", s.Between.Duration(), " ", s.Phases[0].Duration.Duration(), " ", s.Phases[1].Duration.Duration(), "; ", s.Waited.Duration(), " ", s.WaitedUntil(time.Unix(int64(1000+at+20), 0)))
	if want := "22s 6s 7s 9s; 1m40s 2m0s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package worktest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// Check compares the ledger and the repository with what is on record: of the sessions, the
// nth is of the nth kind. Nothing may be missing, and nothing there twice.
func (p Place) Check(tb testing.TB, store troupe.Store, sessions []string) {
	tb.Helper()
	entered := map[string]int{}
	for _, call := range p.Entries(tb) {
		if entered[call]++; entered[call] > 1 {
			tb.Errorf("%s was done twice", call)
		}
	}
	for n, session := range sessions {
		events := eventsOf(tb, store, session)
		last := troupe.Event{}
		returned := 0
		for _, e := range events {
			if e.Seq != last.Seq+1 {
				tb.Errorf("session %s: event %d comes after %d", session, e.Seq, last.Seq)
			}
			last = e
			if b, ok := e.Body.(*troupe.ToolReturned); ok && b.Tool == "enter" {
				returned++
				if call, ok := strings.CutPrefix(strings.Trim(b.Content, `"`), "entered "); ok && entered[call] != 1 {
					tb.Errorf("session %s: %s is on record, and in the ledger %d times", session, call, entered[call])
				}
			}
		}
		end, ok := last.Body.(*troupe.RunFinished)
		if !ok || end.Stop == "input_requested" || returned != EntriesOf(Kind(n)) {
			tb.Errorf("session %s, a %s: it ends with %s, after %d calls", session, Kind(n), last.Kind(), returned)
		} else if Kind(n) == Delivery {
			p.checkDelivery(tb, session, events)
		}
	}
}

func eventsOf(tb testing.TB, store troupe.Store, session string) (events []troupe.Event) {
	tb.Helper()
	for e, err := range store.Events(tb.Context(), session, 0) {
		if err != nil {
			tb.Fatalf("session %s: %v", session, err)
		}
		events = append(events, e)
	}
	return events
}

// checkDelivery looks for documents that were saved twice and commits that were made twice.
func (p Place) checkDelivery(tb testing.TB, session string, events []troupe.Event) {
	tb.Helper()
	if sum := pipeline.Summarize(events); !sum.Success || len(sum.Phases) != len(pipeline.Six()) {
		data, _ := json.Marshal(sum)
		tb.Errorf("session %s: it came to %s", session, data)
	}
	site, err := pipeline.ReadSite(filepath.Join(string(p), "data", session))
	if err != nil {
		tb.Fatal(err)
	}
	c := exec.CommandContext(tb.Context(), "git", "log", "--format=%s", "main.."+site.Branch)
	c.Dir = p.repository()
	out, err := c.Output()
	if err != nil {
		tb.Fatalf("session %s: branch %s: %v", session, site.Branch, err)
	}
	commits := strings.Split(strings.TrimSpace(string(out)), "\n")
	made := slices.Compact(slices.Sorted(slices.Values(commits)))
	if len(made) != len(commits) || len(commits) < 2 {
		tb.Errorf("session %s: the commits are %q", session, commits)
	}
}

// Takeovers measures how long it takes until others go on with what a process had.
type Takeovers struct {
	losses []loss
}

// A loss is when a process lost the sessions that it had.
type loss struct {
	at       time.Time
	sessions []string
}

// held returns the sessions that processes have, by their ids.
func held(tb testing.TB, store troupe.Store) map[int][]string {
	tb.Helper()
	sessions := map[int][]string{}
	for info, err := range store.Sessions(tb.Context(), troupe.SessionFilter{Status: "running"}) {
		if err != nil {
			tb.Fatal(err)
		}
		sessions[info.Owner.PID] = append(sessions[info.Owner.PID], info.ID)
	}
	return sessions
}

// Busiest returns which of the workers has the most to lose.
func Busiest(tb testing.TB, store troupe.Store, workers []*exec.Cmd) (busiest int) {
	tb.Helper()
	sessions := held(tb, store)
	for i, w := range workers {
		if len(sessions[w.Process.Pid]) > len(sessions[workers[busiest].Process.Pid]) {
			busiest = i
		}
	}
	return busiest
}

// Note does something that takes the sessions of a process away.
func (t *Takeovers) Note(tb testing.TB, store troupe.Store, pid int, do func()) {
	tb.Helper()
	l := loss{sessions: held(tb, store)[pid]}
	do()
	l.at = time.Now()
	t.losses = append(t.losses, l)
}

// Report says how long it took, by what is on record.
func (t *Takeovers) Report(tb testing.TB, store troupe.Store) string {
	tb.Helper()
	var took []time.Duration
	for _, l := range t.losses {
		for _, session := range l.sessions {
			if d, ok := l.takeover(eventsOf(tb, store, session)); ok {
				took = append(took, d)
			}
		}
	}
	if len(took) == 0 {
		return "nothing was taken over"
	}
	slices.Sort(took)
	at := func(share float64) time.Duration {
		return took[min(int(share*float64(len(took))), len(took)-1)].Round(time.Millisecond)
	}
	return fmt.Sprintf("%d runs taken over after: median %s, p99 %s, longest %s", len(took), at(0.5), at(0.99), at(1))
}

// takeover is how long after the loss a run went on that was under way then.
func (l *loss) takeover(events []troupe.Event) (time.Duration, bool) {
	isOpen := false
	for _, e := range events {
		if e.Time.After(l.at) {
			return e.Time.Sub(l.at), isOpen
		}
		isOpen = true
		if _, ended := e.Body.(*troupe.RunFinished); ended && e.Parent == "" {
			isOpen = false
		}
	}
	return 0, false
}

// Why says how a session has ended and what its last events tell about it.
func Why(tb testing.TB, store troupe.Store, session, status string) string {
	tb.Helper()
	events := eventsOf(tb, store, session)
	var text strings.Builder
	fmt.Fprintf(&text, "session %s: %s", session, status)
	for _, e := range events[max(0, len(events)-6):] {
		body, _ := json.Marshal(e.Body)
		fmt.Fprintf(&text, "\n  %d %s %s %s", e.Seq, e.Step, e.Kind(), body)
	}
	return text.String()
}

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// crashSessions is how many sessions a process that is killed writes to.
const crashSessions = 8

// TestWriteInAChild goes on with sessions for ever, and says so of each append that
// was acknowledged.
func TestWriteInAChild(t *testing.T) {
	path := inChild(t)
	fmt.Println("opening")
	s := openAt(t, path)
	do(t, s, "PRAGMA wal_autocheckpoint = 50") // so that many die in a checkpoint
	var wg sync.WaitGroup
	for n := range crashSessions {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), uint64(os.Getpid())))
			lease, err := s.Acquire(context.Background(), id(n))
			if err != nil {
				fmt.Println("trouble", err)
				return
			}
			for seq := lengthOf(t, s, id(n)) + 1; ; {
				var bodies []troupe.Body
				for range 1 + random.IntN(4) {
					bodies = append(bodies, said(strings.Repeat("word ", random.IntN(60))))
				}
				if err := s.Append(context.Background(), id(n), under(lease, eventsOf(id(n), seq, bodies...))...); err != nil {
					fmt.Println("trouble", err)
					return
				}
				seq += int64(len(bodies))
				fmt.Println("acknowledged", n, seq-1)
			}
		})
	}
	wg.Wait()
}

// killed runs a process that writes, kills it after a number of acknowledgements,
// and returns the last of each session.
func killed(t *testing.T, path string, after int) map[int]int64 {
	t.Helper()
	cmd, output := child(t, "TestWriteInAChild", path, nil)
	acknowledged := map[int]int64{}
	lines := bufio.NewScanner(output)
	for n := 0; lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 3 && fields[0] == "acknowledged":
			session, _ := strconv.Atoi(fields[1])
			seq, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				continue // the line was cut short
			}
			acknowledged[session] = seq
			n++
		case len(fields) > 0 && fields[0] == "trouble":
			t.Error(lines.Text())
		case len(fields) == 0 || fields[0] != "opening":
			continue
		}
		if n == after {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	return acknowledged
}

func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	rounds := 30
	if n, err := strconv.Atoi(os.Getenv("TROUPE_KILLS")); err == nil {
		rounds = n
	} else if testing.Short() {
		rounds = 3
	}
	var path string
	var acknowledged map[int]int64
	for round := range rounds {
		if round%10 == 0 {
			path, acknowledged = file(t), map[int]int64{}
		}
		after := rand.IntN(1 << rand.IntN(9)) // often early, sometimes late
		for n, seq := range killed(t, path, after) {
			acknowledged[n] = seq
		}
		s := openAt(t, path)
		for n := range crashSessions {
			// What was written and not yet acknowledged may be there: one append at most.
			if got := lengthOf(t, s, id(n)); got < acknowledged[n] || got > acknowledged[n]+4 {
				t.Errorf("round %d, killed after %d: session %d has %d events, %d were acknowledged", round, after, n, got, acknowledged[n])
			} else {
				acknowledged[n] = got
			}
		}
		mustClose(t, s)
		if t.Failed() {
			return
		}
	}
}

// TestOpenInAChild opens a store, says so and waits to be killed.
func TestOpenInAChild(t *testing.T) {
	s := openAt(t, inChild(t))
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	fmt.Println("open")
	io.ReadAll(os.Stdin)
}

func TestAStoreHasSeveralProcessesAtATime(t *testing.T) {
	path := file(t)
	cmd, output := child(t, "TestOpenInAChild", path, nil)
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != "open" {
	}
	s := openAt(t, path)
	mustAppend(t, s, eventsOf(id(1), 2, said("hi"))...)
	mustAppend(t, s, eventsOf(id(2), 1, said("hi"))...)
	another := openAt(t, path) // twice in one process is fine too
	mustAppend(t, another, eventsOf(id(1), 3, said("hi"))...)
	mustAppend(t, s, eventsOf(id(1), 4, said("hi"))...)
	cmd.Process.Kill()
	cmd.Wait()
	mustClose(t, another)
	mustAppend(t, s, eventsOf(id(1), 5, said("hi"))...)
	mustClose(t, s)
	s = openAt(t, path)
	if one, two := lengthOf(t, s, id(1)), lengthOf(t, s, id(2)); one != 5 || two != 1 {
		t.Errorf("%d and %d events are there", one, two)
	}
}

// clerk is an agent that adds numbers. Its tool calls hook before it answers.
func clerk(t *testing.T, hook func(), turns ...troupetest.Turn) *troupe.Agent {
	t.Helper()
	type pair struct{ A, B int }
	add := troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, in pair) (int, error) {
		hook()
		return in.A + in.B, nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "clerk", Instructions: "You are a clerk.", Model: troupetest.NewScript(t, turns...), Tools: []troupe.Tool{add},
	})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func engineOn(t *testing.T, s *Store) *troupe.Engine {
	t.Helper()
	engine, err := troupe.New(troupe.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// TestRunInAChild calls a tool twice, and is killed in the second call.
func TestRunInAChild(t *testing.T) {
	engine := engineOn(t, openAt(t, inChild(t)))
	calls := 0
	agent := clerk(t, func() {
		if calls++; calls == 2 {
			fmt.Println("calling")
			io.ReadAll(os.Stdin)
		}
	}, troupetest.Call("add", `{"A":2,"B":3}`), troupetest.Call("add", `{"A":5,"B":5}`))
	for _, err := range engine.Run(t.Context(), agent, troupe.Input{Session: id(1), Text: "Add things."}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestARunIsResumedByAnotherProcess(t *testing.T) {
	path := file(t)
	cmd, output := child(t, "TestRunInAChild", path, nil)
	lines := bufio.NewScanner(output)
	for lines.Scan() && lines.Text() != "calling" {
	}
	cmd.Process.Kill()
	cmd.Wait()

	s := openAt(t, path)
	for info, err := range s.Sessions(t.Context(), troupe.SessionFilter{}) {
		if err != nil || info.ID != id(1) || info.Status != "interrupted" || info.Title != "Add things." {
			t.Errorf("the killed process left %+v, %v", info, err)
		}
	}
	agent := clerk(t, func() { t.Error("a tool was called again") },
		troupetest.Say("The sum is 5; of the other I do not know.").Expect(
			troupetest.LastUser("Add things."), troupetest.ToolResult("add", "unknown")))
	var answer string
	for e, err := range engineOn(t, s).Resume(t.Context(), agent, id(1)) {
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := e.Body.(*troupe.RunFinished); ok {
			answer = end.Output.Summary
		}
	}
	if !strings.HasPrefix(answer, "The sum is 5") {
		t.Errorf("the run ended with %q", answer)
	}
	mustClose(t, s)
	for info, err := range openAt(t, path).Sessions(t.Context(), troupe.SessionFilter{Status: "completed"}) {
		if err != nil || info.ID != id(1) {
			t.Errorf("completed is %+v, %v", info, err)
		}
	}
}

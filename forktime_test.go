package troupe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/model/problem"
)

// think is how long the models of these tests take for an answer.
const think = 5 * time.Second

// thinking is an agent that takes its time and says its name.
func thinking(t testing.TB, name string) *troupe.Agent {
	return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(*troupe.Request) turn {
		time.Sleep(think)
		return turn{text: name}
	})})
}

// asking is thinking for an agent that asks the user before it answers.
func asking(t testing.TB, name string) *troupe.Agent {
	ask := troupe.NewTool("ask", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "Which?"}
	})
	return agentWith(t, troupe.AgentConfig{ID: name, Tools: []troupe.Tool{ask}, Model: modelFunc(func(req *troupe.Request) turn {
		time.Sleep(think)
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "ask", "{}")}}
		}
		return turn{text: name}
	})})
}

// slowFlows are flows that work for less than half a minute.
func slowFlows(t testing.TB) map[string]troupe.Step {
	deal := func(name string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Model: modelFunc(func(*troupe.Request) turn {
			time.Sleep(think)
			return turn{calls: []troupe.ToolCall{call("t", "transfer_to_bills", `{"summary":"wants money back"}`)}}
		})})
	}
	return map[string]troupe.Step{
		"sequence":   flow.Sequence("relay", thinking(t, "ann"), thinking(t, "bob"), thinking(t, "cid")),
		"parallel":   flow.Parallel("both", thinking(t, "ann"), thinking(t, "bob")),
		"team":       flow.Team("desk", deal("front"), thinking(t, "bills")),
		"group chat": flow.GroupChat("panel", thinking(t, "ann"), thinking(t, "bob")),
		"nested":     flow.Sequence("outer", thinking(t, "ann"), flow.Sequence("inner", thinking(t, "bob"), thinking(t, "cid")), thinking(t, "dora")),
	}
}

var aMinute = troupe.Limits{Time: time.Minute} // a quarter of it is for the last answer

// goOn resumes a session that comes to an answer, after some time, and says how long its run was
// at work in all.
func goOn(t *testing.T, engine *troupe.Engine, step troupe.Step, session, answer string) time.Duration {
	t.Helper()
	time.Sleep(24 * time.Hour)
	_, end, err := gather(engine.Resume(t.Context(), step, session))
	if err != nil {
		t.Errorf("the fork failed: %v", err)
		return 0
	}
	if end.Stop != "answered" || end.Output.Summary != answer {
		t.Errorf("the fork ended with %q: %q, not %q", end.Stop, end.Output.Summary, answer)
	}
	return end.Spent.Elapsed.Duration()
}

// What was worked before a fork is time of its run, and what passed until then is not.
func TestOnlyWhatWasWorkedBeforeAForkIsTimeOfItsRun(t *testing.T) {
	for name, step := range slowFlows(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newEngine(t, troupe.Config{})
				events, end, err := play(t, engine, step, troupe.Input{Text: "go", Limits: aMinute})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(24 * time.Hour)
				log, took, again := stored(events), end.Spent.Elapsed.Duration(), time.Duration(0)
				if name == "parallel" {
					again = think // one of the branches is kept, and the other done after it
				}
				for _, start := range nestedIn(log) {
					id, err := engine.ForkStep(t.Context(), log[0].Session, start.Run, nil, troupe.Input{})
					if err != nil {
						t.Fatal(err)
					}
					if got := goOn(t, engine, step, id, end.Output.Summary); got != took+again {
						t.Errorf("with %s done again it was at work for %s, not %s", start.Agent, got, took+again)
					}
				}
				for cut := 1; cut < len(log); cut++ {
					id, err := engine.Fork(t.Context(), log[0].Session, int64(cut), troupe.Input{})
					if err != nil {
						t.Fatal(err)
					}
					if got := goOn(t, engine, step, id, end.Output.Summary); got < took || got > took+again {
						t.Errorf("forked after event %d it was at work for %s, not %s", cut, got, took)
					}
				}
			})
		})
	}
}

// A run that failed, or was stopped, is forked long afterwards, and so is that fork.
func TestAForkOfARunThatDidNotFinishHasTheTimeThatIsLeft(t *testing.T) {
	for _, name := range []string{"failed", "stopped"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newEngine(t, troupe.Config{})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				isHere := false
				cid := troupe.NewStep("cid", func(_ context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
					if time.Sleep(think); isHere {
						return in, nil
					}
					if name == "stopped" {
						stop()
					}
					return in, errAway
				})
				relay := flow.Sequence("relay", thinking(t, "ann"), thinking(t, "bob"), cid)
				events, _, err := gather(engine.Run(ctx, relay, troupe.Input{Text: "go", Limits: aMinute}))
				if err == nil {
					t.Fatal("it finished")
				}
				isHere = true
				log := stored(events)
				for _, start := range nestedIn(log) {
					time.Sleep(24 * time.Hour)
					id, err := engine.ForkStep(t.Context(), log[0].Session, start.Run, nil, troupe.Input{})
					if err != nil {
						t.Fatal(err)
					}
					if got := goOn(t, engine, relay, id, "bob"); got != 3*think {
						t.Errorf("with %s done again it was at work for %s", start.Agent, got)
					}
				}
				id, session := "", log[0].Session
				for range 3 {
					time.Sleep(24 * time.Hour)
					if id, err = engine.Fork(t.Context(), session, int64(len(collectOf(t, engine, session))), troupe.Input{}); err != nil {
						t.Fatal(err)
					}
					session = id
				}
				if got := goOn(t, engine, relay, id, "bob"); got != 4*think {
					t.Errorf("a fork of a fork of a fork was at work for %s", got)
				}
			})
		})
	}
}

// A run that waited for the user long before a step is forked at that step.
func TestWhatARunWaitedIsNoTimeOfItsForks(t *testing.T) {
	for name, step := range map[string]troupe.Step{
		"sequence": flow.Sequence("outer", thinking(t, "ann"), flow.Sequence("inner", asking(t, "asker"), thinking(t, "bob")), thinking(t, "cid")),
		"parallel": flow.Sequence("relay", flow.Parallel("both", asking(t, "asker"), thinking(t, "bob")), thinking(t, "cid")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newEngine(t, troupe.Config{})
				events, asked, err := play(t, engine, step, troupe.Input{Text: "go", Limits: aMinute})
				if err != nil || asked.Stop != "input_requested" {
					t.Fatalf("%+v: %v", asked, err)
				}
				time.Sleep(24 * time.Hour)
				id, err := engine.Fork(t.Context(), events[0].Session, int64(len(stored(events))), troupe.Input{})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(24 * time.Hour)
				if _, _, err := play(t, engine, step, troupe.Input{Session: id, Text: "This one."}); err != nil {
					t.Fatal(err)
				}
				log := collectOf(t, engine, id)
				for agent, want := range map[string]time.Duration{"bob": 5 * think, "cid": 5 * think} {
					if name == "parallel" {
						want -= think // the one beside it took none of its own
					}
					id, err := engine.ForkStep(t.Context(), id, runOf(t, log, agent, 0), nil, troupe.Input{})
					if err != nil {
						t.Fatal(err)
					}
					if got := goOn(t, engine, step, id, "cid"); got > want {
						t.Errorf("with %s done again it was at work for %s, not %s", agent, got, want)
					}
				}
			})
		})
	}
}

// Two branches have waited, one after the other. The one that was answered first asks again in the
// fork, the other one is kept.
func TestWhatABranchBesideAForkWaitedIsNoTimeOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, both := newEngine(t, troupe.Config{}), flow.Parallel("both", asking(t, "asker"), asking(t, "bob"))
		events, end, err := play(t, engine, both, troupe.Input{Text: "go", Limits: aMinute})
		if err != nil {
			t.Fatal(err)
		}
		session := events[0].Session
		for end.Stop == "input_requested" {
			time.Sleep(24 * time.Hour)
			if _, end, err = play(t, engine, both, troupe.Input{Session: session, Text: "This one."}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(24 * time.Hour)
		id, err := engine.ForkStep(t.Context(), session, runOf(t, collectOf(t, engine, session), "asker", 0), nil, troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		if _, end, err = gather(engine.Resume(t.Context(), both, id)); err != nil || end.Stop != "input_requested" {
			t.Fatalf("it came to %+v: %v", end, err)
		}
		time.Sleep(24 * time.Hour)
		_, end, err = play(t, engine, both, troupe.Input{Session: id, Text: "That one."})
		if err != nil || end.Stop != "answered" || end.Spent.Elapsed.Duration() != 4*think {
			t.Errorf("it came to %+v: %v", end, err)
		}
	})
}

// A pass that ended in the middle of a later step says so after hours of it.
func TestWorkThatAForkDoesNotKeepIsNoTimeOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, troupe.Config{})
		ctx, stop := context.WithCancelCause(t.Context())
		long := time.Hour
		cid := troupe.NewStep("cid", func(ctx context.Context, _ *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
			if time.Sleep(long); long > think {
				stop(troupe.ErrClosed) // as a process does that is told to end
				return in, ctx.Err()
			}
			return in, nil
		})
		relay := flow.Sequence("relay", thinking(t, "ann"), thinking(t, "bob"), cid)
		events, _, err := gather(engine.Run(ctx, relay, troupe.Input{Text: "go", Limits: troupe.Limits{Time: 2 * time.Hour}}))
		if log := stored(events); err == nil || log[len(log)-1].Kind() != "warned" {
			t.Fatalf("it was not interrupted: %v", err)
		}
		session := events[0].Session
		long = think
		goOn(t, engine, relay, session, "bob")
		for agent, want := range map[string]time.Duration{"ann": 3 * think, "bob": 3 * think, "cid": 3 * think} {
			id, err := engine.ForkStep(t.Context(), session, runOf(t, collectOf(t, engine, session), agent, 0), nil, troupe.Input{})
			if err != nil {
				t.Fatal(err)
			}
			if got := goOn(t, engine, relay, id, "bob"); got != want {
				t.Errorf("with %s done again it was at work for %s, not %s", agent, got, want)
			}
		}
	})
}

// A run whose time is up before it can do anything says so in words of the catalogue, and so does
// its fork, which has no more of it.
func TestARunThatFailsForItsTimeSaysSo(t *testing.T) {
	bob := thinking(t, "bob")
	late := troupe.NewStep("late", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		time.Sleep(aMinute.Time)
		return run.Do(ctx, bob, in)
	}, bob)
	mute := agentWith(t, troupe.AgentConfig{ID: "mute", Model: hang{}, Limits: aMinute})
	for name, c := range map[string]struct {
		step   troupe.Step
		limits troupe.Limits
	}{"of the run": {late, aMinute}, "of an agent": {mute, troupe.Limits{}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := newEngine(t, troupe.Config{})
				events, _, err := play(t, engine, c.step, troupe.Input{Text: "go", Limits: c.limits})
				session := events[0].Session
				for range 2 {
					if what := problem.Of(err); what.Code != "time" || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v is told as %+v", err, what)
					}
					log := collectOf(t, engine, session)
					if failed, ok := log[len(log)-1].Body.(*troupe.RunFailed); !ok || failed.Reason != "time" {
						t.Errorf("on record is %+v", log[len(log)-1].Body)
					}
					if session, err = engine.Fork(t.Context(), session, int64(len(log)), troupe.Input{}); err != nil {
						t.Fatal(err)
					}
					_, _, err = gather(engine.Resume(t.Context(), c.step, session))
				}
			})
		})
	}
}

var errAway = errors.New("away")

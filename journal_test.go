package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/troupe-dev/troupe"
)

// A world counts what is done in it: each model call by the conversation it was
// asked with, each tool call by its arguments.
type world struct {
	mu    sync.Mutex
	done  map[string]int
	order []string
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := fmt.Sprintf(format, args...)
	w.done[what]++
	w.order = append(w.order, what)
}

func (w *world) total() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.done)
}

// A play is a step and what the world looks like around it.
type scene struct {
	name  string
	step  func(t testing.TB, w *world) troupe.Step
	input troupe.Input
}

func results(req *troupe.Request) int {
	n := 0
	for _, m := range req.Messages {
		if m.Role == troupe.RoleTool {
			n++
		}
	}
	return n
}

// counted is a model that notes every request before it answers.
func counted(w *world, who string, answer func(*troupe.Request) turn) modelFunc {
	return func(req *troupe.Request) turn {
		w.note("%s is asked with %d messages", who, len(req.Messages))
		return answer(req)
	}
}

func countedTool(w *world, name string, safe bool) troupe.Tool {
	var options []troupe.ToolOption
	if safe {
		options = append(options, troupe.RepeatSafe())
	}
	return troupe.NewTool(name, "Works.", func(_ context.Context, in pair) (sum, error) {
		w.note("%s(%d,%d)", name, in.A, in.B)
		return sum{in.A + in.B}, nil
	}, options...)
}

func scenes() []scene {
	single := func(safe bool) func(testing.TB, *world) troupe.Step {
		return func(t testing.TB, w *world) troupe.Step {
			return newAgent(t, counted(w, "clerk", func(req *troupe.Request) turn {
				checkPairing(t, req.Messages)
				switch n := results(req); {
				case n < 2:
					return turn{calls: []troupe.ToolCall{call("c", "work", fmt.Sprintf(`{"a":%d,"b":1}`, n))}}
				case n < 5:
					return turn{text: "three at once", calls: []troupe.ToolCall{
						call("x", "work", `{"a":10,"b":1}`), call("y", "nothing", `{}`), call("z", "work", `{"a":12,"b":1}`)}}
				}
				return turn{text: "done", usage: troupe.Usage{Input: 10, Output: 2}}
			}), countedTool(w, "work", safe))
		}
	}
	nested := func(t testing.TB, w *world) troupe.Step {
		expert := agentWith(t, troupe.AgentConfig{ID: "expert", Instructions: "You know.", Tools: []troupe.Tool{countedTool(w, "look", true)},
			Model: counted(w, "expert", func(req *troupe.Request) turn {
				if results(req) == 0 {
					return turn{calls: []troupe.ToolCall{call("e", "look", `{"a":1,"b":2}`)}}
				}
				return turn{text: "it is 3"}
			})})
		return newAgent(t, counted(w, "clerk", func(req *troupe.Request) turn {
			if results(req) == 0 {
				return turn{calls: []troupe.ToolCall{call("1", "expert", `{"task":"first"}`), call("2", "expert", `{"task":"second"}`)}}
			}
			return turn{text: "the expert says so"}
		}), troupe.AsTool(expert, "Knows things."))
	}
	limited := func(t testing.TB, w *world) troupe.Step {
		n := 0
		return newAgent(t, counted(w, "clerk", func(req *troupe.Request) turn {
			n++
			if req.Tools == nil {
				return turn{text: "what I have"}
			}
			return turn{calls: []troupe.ToolCall{call("c", "work", fmt.Sprintf(`{"a":%d,"b":1}`, results(req)))}}
		}), countedTool(w, "work", true))
	}
	compacting := func(t testing.TB, w *world) troupe.Step {
		long := strings.Repeat("lorem ipsum ", 40)
		return agentWith(t, troupe.AgentConfig{ID: "clerk", Instructions: "Be brief.", Window: 600, Tools: []troupe.Tool{countedTool(w, "work", true)},
			Model: counted(w, "clerk", func(req *troupe.Request) turn {
				if strings.Contains(req.Messages[0].Text, "sum up") {
					return turn{text: "a summary"}
				}
				checkPairing(t, req.Messages)
				if n := strings.Count(fmt.Sprint(w.total()), "work("); n < 6 {
					return turn{text: long, calls: []troupe.ToolCall{call("c", "work", fmt.Sprintf(`{"a":%d,"b":1}`, n))}}
				}
				return turn{text: "done"}
			})})
	}
	return append([]scene{
		{"one agent, tools safe to repeat", single(true), troupe.Input{Text: "go"}},
		{"one agent, tools not safe to repeat", single(false), troupe.Input{Text: "go"}},
		{"agents as tools, two at once", nested, troupe.Input{Text: "go"}},
		{"a limit and a last turn", limited, troupe.Input{Text: "go", Limits: troupe.Limits{Turns: 3}}},
		{"compaction", compacting, troupe.Input{Text: "go"}},
	}, flowScenes()...)
}

// The log is the journal: cut a run's log at every event, run again, and nothing
// that is in the log is done again.
func TestRunningAgainOverALogRepeatsNothingThatIsInIt(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			w := &world{done: map[string]int{}}
			store := troupe.NewMemoryStore()
			engine := newEngine(t, troupe.Config{Store: store})
			first, end, err := play(t, engine, s.step(t, w), s.input)
			if err != nil {
				t.Fatal(err)
			}
			log := stored(first)
			once := w.total()
			for cut := 1; cut < len(log); cut++ {
				again := &world{done: map[string]int{}}
				resumeFrom(t, s, again, log, cut, end, once)
			}
		})
	}
}

// resumeFrom runs again over the first events of a log and checks what is done.
func resumeFrom(t *testing.T, s scene, w *world, log []troupe.Event, cut int, end *troupe.RunFinished, once map[string]int) {
	t.Helper()
	store := troupe.NewMemoryStore()
	if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
		t.Fatal(err)
	}
	// What the log says was done counts as done in this world.
	step := s.step(t, w)
	replay(w, log[:cut])
	before := w.total()
	resumed, again, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, log[0].Session))
	if err != nil {
		t.Fatalf("cut after %d, %s: %v", cut, log[cut-1].Kind(), err)
	}
	if again.Output.Summary != end.Output.Summary || again.Stop != end.Stop {
		t.Errorf("cut after %d: it came to %q (%s), not %q (%s)", cut, again.Output.Summary, again.Stop, end.Output.Summary, end.Stop)
	}
	if got, want := spentIn(again), spentIn(end); got != want {
		t.Errorf("cut after %d (%s): it spent %+v, not %+v", cut, log[cut-1].Kind(), got, want)
	}
	if diff := cmp.Diff(end.Output, again.Output, cmpopts.IgnoreFields(troupe.HandoffMeta{}, "Time")); diff != "" {
		t.Errorf("cut after %d: it handed back something else: %s", cut, diff)
	}
	saw := newScreen()
	for i := range resumed {
		saw.see(&resumed[i])
	}
	if len(saw.wrong) > 0 {
		t.Errorf("cut after %d: shown wrongly: %v", cut, saw.wrong)
	}
	open := pending(log[:cut])
	for what, n := range w.total() {
		// A call that was begun and has no outcome may be carried out once more if
		// that is safe, and is told as interrupted if not.
		if n > once[what] && !(open > 0 && n == once[what]+1) && !strings.Contains(what, "is asked") {
			t.Errorf("cut after %d (%s): %s: %d times, %d in all the first time, %d on record", cut, log[cut-1].Kind(), what, n, once[what], before[what])
		}
	}
	if replies := countOf[*troupe.ModelReplied](log[:cut]) + asks(w, before); replies != countOf[*troupe.ModelReplied](log) {
		t.Errorf("cut after %d: %d model calls in all, want %d", cut, replies, countOf[*troupe.ModelReplied](log))
	}
	full := collect(t, store, log[0].Session)
	if got := countOf[*troupe.ToolReturned](full); got != countOf[*troupe.ToolReturned](log) {
		t.Errorf("cut after %d: %d outcomes on record, want %d", cut, got, countOf[*troupe.ToolReturned](log))
	}
	for i := range full {
		if full[i].Seq != int64(i+1) {
			t.Fatalf("cut after %d: event %d has number %d", cut, i, full[i].Seq)
		}
	}
	if diff := cmp.Diff(log[:cut], full[:cut], cmpopts.IgnoreUnexported(troupe.Message{}, troupe.Output{}), cmpopts.EquateComparable()); diff != "" {
		t.Errorf("cut after %d: what was stored changed: %s", cut, diff)
	}
}

// spentIn is what a run used with all that was nested in it, time aside.
func spentIn(end *troupe.RunFinished) troupe.Spent {
	spent := end.Spent.Add(end.SpentBelow)
	spent.Elapsed = 0
	return spent
}

// replay makes the world what the log says it is.
func replay(w *world, log []troupe.Event) {
	called := map[string]*troupe.ToolCalled{}
	for _, e := range log {
		switch b := e.Body.(type) {
		case *troupe.ToolCalled:
			called[e.Run+e.Step] = b
		case *troupe.ToolReturned:
			if c := called[e.Run+e.Step]; b.Class == "" && strings.HasPrefix(string(c.Arguments), `{"a":`) {
				var x, y int
				fmt.Sscanf(string(c.Arguments), `{"a":%d,"b":%d}`, &x, &y)
				w.note("%s(%d,%d)", c.Tool, x, y)
			}
		}
	}
}

func asks(w *world, before map[string]int) int {
	n := 0
	for what, times := range w.total() {
		if strings.Contains(what, "is asked") {
			n += times - before[what]
		}
	}
	return n
}

// pending counts calls that were begun and have no outcome on record.
func pending(log []troupe.Event) int {
	open := map[string]bool{}
	for _, e := range log {
		switch e.Body.(type) {
		case *troupe.ToolCalled:
			open[e.Run+" "+e.Step] = true
		case *troupe.ToolReturned:
			delete(open, e.Run+" "+e.Step)
		}
	}
	return len(open)
}

func countOf[B troupe.Body](events []troupe.Event) int { return len(bodies[B](events)) }

func stored(events []troupe.Event) []troupe.Event {
	var list []troupe.Event
	for _, e := range events {
		if e.Seq > 0 {
			list = append(list, e)
		}
	}
	return list
}

func collect(t testing.TB, store troupe.Store, session string) []troupe.Event {
	t.Helper()
	var list []troupe.Event
	for e, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// A call whose outcome is unknown is repeated only if its tool says that is safe;
// else the model is told.
func TestAnInterruptedCallIsRepeatedOnlyIfThatIsSafe(t *testing.T) {
	for _, safe := range []bool{true, false} {
		t.Run(fmt.Sprint("safe ", safe), func(t *testing.T) {
			w := &world{done: map[string]int{}}
			var told string
			agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
				if last := req.Messages[len(req.Messages)-1]; last.Role == troupe.RoleTool {
					told = last.Text
					return turn{text: "ok"}
				}
				return turn{calls: []troupe.ToolCall{call("c", "work", `{"a":1,"b":2}`)}}
			}), countedTool(w, "work", safe))
			events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "go")
			log := stored(events)
			cut := 0
			for cut = range log {
				if log[cut].Kind() == "tool_returned" {
					break
				}
			}
			store := troupe.NewMemoryStore()
			if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
				t.Fatal(err)
			}
			if _, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), agent, log[0].Session)); err != nil {
				t.Fatal(err)
			}
			if n := w.total()["work(1,2)"]; safe && n != 2 || !safe && n != 1 {
				t.Errorf("carried out %d times", n)
			}
			if strings.Contains(told, "interrupted") == safe {
				t.Errorf("the model was told %s", told)
			}
		})
	}
}

func TestResumingSomethingElseIsRefused(t *testing.T) {
	w := &world{done: map[string]int{}}
	s := scenes()[0]
	events, _, err := play(t, newEngine(t, troupe.Config{}), s.step(t, w), s.input)
	if err != nil {
		t.Fatal(err)
	}
	log := stored(events)
	half := func() *troupe.Engine {
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), log[0].Session, log[:7]...); err != nil {
			t.Fatal(err)
		}
		return newEngine(t, troupe.Config{Store: store})
	}
	other := agentWith(t, troupe.AgentConfig{ID: "other", Model: inTurn(t)})
	if _, _, err := gather(half().Resume(t.Context(), other, log[0].Session)); !errors.Is(err, troupe.ErrChanged) {
		t.Errorf("another agent: %v", err)
	}
	// The same name, but it now asks the model for something else at a step that
	// has an outcome.
	if _, _, err := gather(half().Resume(t.Context(), emitter{}, log[0].Session)); !errors.Is(err, troupe.ErrChanged) || !strings.Contains(err.Error(), "agent clerk is now step clerk") {
		t.Errorf("another definition: %v", err)
	}
	engine := newEngine(t, troupe.Config{})
	events, _, _ = play(t, engine, newAgent(t, inTurn(t, turn{text: "hi"})), troupe.Input{Text: "hi"})
	if _, _, err := gather(engine.Resume(t.Context(), other, events[0].Session)); !errors.Is(err, troupe.ErrNothingToResume) {
		t.Errorf("a finished run: %v", err)
	}
	if _, _, err := gather(engine.Resume(t.Context(), other, "00000000-0000-4000-8000-000000000000")); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
}

type emitter struct{}

func (emitter) Name() string { return "clerk" }
func (emitter) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "clerk"}
}
func (emitter) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	return troupe.Handoff{}, run.Warn(ctx, "other", "")
}

// A failed run is resumed past its failure: the model is asked again, and what
// was done before is not done again.
func TestAFailedRunIsResumed(t *testing.T) {
	w := &world{done: map[string]int{}}
	down := true
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		switch {
		case results(req) == 0:
			return turn{calls: []troupe.ToolCall{call("c", "work", `{"a":1,"b":2}`)}}
		case down:
			return turn{err: &troupe.ModelError{Status: 400, Message: "down"}}
		}
		return turn{text: "3"}
	}), countedTool(w, "work", false))
	engine := newEngine(t, troupe.Config{})
	events, _, err := play(t, engine, agent, troupe.Input{Text: "1+2?"})
	if err == nil {
		t.Fatal("it did not fail")
	}
	for range 2 {
		if _, _, err = gather(engine.Resume(t.Context(), agent, events[0].Session)); err == nil {
			t.Fatal("it did not fail again")
		}
	}
	down = false
	_, end, err := gather(engine.Resume(t.Context(), agent, events[0].Session))
	if err != nil || end.Output.Summary != "3" || w.total()["work(1,2)"] != 1 {
		t.Errorf("got %+v, %v, %v", end, err, w.total())
	}
}

// A call by a step whose failure ended the run is made again when the run is resumed, and
// only then: one that the step went on after, or that may not be repeated, stays as it was.
func TestACallThatEndedARunIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		options   []troupe.ToolOption
		isHandled bool
		calls     int // of the tool in all
	}{
		"it may be repeated":        {[]troupe.ToolOption{troupe.RepeatSafe()}, false, 3},
		"it may not be repeated":    {nil, false, 1},
		"the step went on after it": {[]troupe.ToolOption{troupe.RepeatSafe()}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls, isDown, isLaterDown := 0, true, true
			fetch := troupe.NewTool("fetch", "Fetches it.", func(context.Context, struct{}) (string, error) {
				if calls++; isDown {
					return "", errors.New("the disk is full")
				}
				return "fetched", nil
			}, c.options...)
			later := troupe.NewTool("later", "Comes later.", func(context.Context, struct{}) (string, error) {
				if isLaterDown {
					return "", errors.New("not yet")
				}
				return "done", nil
			}, troupe.RepeatSafe())
			step := troupe.NewStep("own", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
				_, err := run.Call(ctx, fetch, struct{}{})
				if err != nil && !c.isHandled {
					return troupe.Handoff{}, err
				}
				if _, later := run.Call(ctx, later, struct{}{}); later != nil {
					return troupe.Handoff{}, later
				}
				in.Summary = fmt.Sprint(err)
				return in, nil
			})
			engine := newEngine(t, troupe.Config{})
			events, _, err := play(t, engine, step, troupe.Input{Text: "go"})
			if err == nil {
				t.Fatal("it did not fail")
			}
			again := func() (*troupe.RunFinished, error) {
				_, end, err := gather(engine.Resume(t.Context(), step, events[0].Session))
				return end, err
			}
			if _, err := again(); err == nil {
				t.Fatal("it did not fail again")
			}
			isDown = false
			if _, err := again(); err == nil {
				t.Fatal("what comes later did not fail")
			}
			isLaterDown = false
			end, err := again() // and over a call that was made several times
			if calls != c.calls {
				t.Errorf("it was called %d times, want %d", calls, c.calls)
			}
			if c.options == nil {
				if err == nil {
					t.Error("a call was repeated that may not be")
				}
				return
			}
			if want := map[bool]string{false: "<nil>", true: "the disk is full"}[c.isHandled]; err != nil || !strings.Contains(end.Output.Summary, want) {
				t.Errorf("%+v %v", end, err)
			}
		})
	}
}

// A parent that goes on after a child failed does so again, without running the
// child again.
func TestAFailureThatWasHandledIsAnOutcome(t *testing.T) {
	w := &world{done: map[string]int{}}
	child := agentWith(t, troupe.AgentConfig{ID: "child", Model: counted(w, "child", func(*troupe.Request) turn {
		return turn{err: &troupe.ModelError{Status: 400, Message: "no"}}
	})})
	step := tolerant{child, newAgent(t, counted(w, "clerk", func(*troupe.Request) turn { return turn{text: "fine"} }))}
	events, _, err := play(t, newEngine(t, troupe.Config{}), step, troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	log := stored(events)
	for cut := range log {
		if log[cut].Kind() != "model_replied" {
			continue
		}
		store := troupe.NewMemoryStore()
		if err := store.Append(t.Context(), log[0].Session, log[:cut]...); err != nil {
			t.Fatal(err)
		}
		before := w.total()["child is asked with 1 messages"]
		if _, _, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), step, log[0].Session)); err != nil {
			t.Fatal(err)
		}
		if w.total()["child is asked with 1 messages"] != before {
			t.Errorf("the child ran again")
		}
		return
	}
	t.Fatal("no reply on record")
}

// tolerant runs its first step, whatever comes of it, and then its second.
type tolerant struct{ first, second troupe.Step }

func (tolerant) Name() string { return "tolerant" }
func (tolerant) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "tolerant"}
}
func (s tolerant) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	if _, err := run.Do(ctx, s.first, in); err == nil {
		return troupe.Handoff{}, errors.New("it should have failed")
	}
	return run.Do(ctx, s.second, in)
}

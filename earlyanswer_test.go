package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

// heldCareful is the careful tool, which waits for the test once it may wipe 7: its step is at
// work until then.
func heldCareful(w *world, reached chan<- struct{}, goOn <-chan struct{}, options ...troupe.ToolOption) troupe.Tool {
	return troupe.NewToolWithCall("wipe", "Wipes.", func(_ context.Context, call *troupe.Invocation, in pair) (string, error) {
		if len(call.Answers) == 0 {
			return "", &troupe.InputNeeded{Question: fmt.Sprintf("Wipe %d?", in.A), CallAgain: true}
		}
		if in.A == 7 {
			reached <- struct{}{}
			<-goOn
		}
		w.note("wipe(%d)", in.A)
		return "wiped", nil
	}, options...)
}

// twoThatAsk are arrangements in which it is asked about 7 and 8 at the same time.
func twoThatAsk(t testing.TB, w *world, reached chan<- struct{}, goOn <-chan struct{}) map[string]troupe.Step {
	agent := func(n int) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: fmt.Sprint("wiper", n), Model: wiper(w, n), Tools: []troupe.Tool{heldCareful(w, reached, goOn)}})
	}
	boss := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("b7", "wiper7", `{"task":"wipe"}`), call("b8", "wiper8", `{"task":"wipe"}`)}}
		}
		return turn{text: "done"}
	}), troupe.AsTool(agent(7), "Wipes.", troupe.ReadOnly()), troupe.AsTool(agent(8), "Wipes.", troupe.ReadOnly()))
	return map[string]troupe.Step{
		"steps":             flow.Parallel("both", agent(7), agent(8)),
		"steps of a step":   flow.Sequence("all", flow.Parallel("both", agent(7), agent(8))),
		"agents as tools":   boss,
		"calls of one turn": agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 7, 8), Tools: []troupe.Tool{heldCareful(w, reached, goOn, troupe.ReadOnly())}}),
	}
}

// answersSeven begins one of the arrangements, and answers the question about 7: that run, and what
// both questions are called.
func answersSeven(t *testing.T, engine *troupe.Engine, step troupe.Step) (first *troupe.Handle, seven, eight string) {
	t.Helper()
	events, _ := mustAnswer(t, engine, step, "go")
	seven, eight = questionAbout(events, 7), questionAbout(events, 8)
	first, err := engine.Start(t.Context(), step, troupe.Input{Session: events[0].Session, Question: seven, Text: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	return first, seven, eight
}

// untilAnswered is the log of a session up to the answer to a call, which was acknowledged.
func untilAnswered(t *testing.T, store troupe.Store, session, call string) []troupe.Event {
	t.Helper()
	all := logOf(t, store, session)
	log := untilAnsweredIn(all, call)
	if log == nil {
		t.Fatalf("what was acknowledged is not on record: %s", render(all))
	}
	return log
}

// untilAnsweredIn is a log up to the answer to a call, nil if there is none.
func untilAnsweredIn(log []troupe.Event, call string) []troupe.Event {
	for i, e := range log {
		if said, ok := e.Body.(*troupe.UserSaid); ok && said.CallID == call {
			return log[:i+1]
		}
	}
	return nil
}

// While a step whose question is answered is at work, the question of another can be answered:
// that is on record at once, and is done once.
func TestAQuestionIsAnsweredWhileOthersAreAtWork(t *testing.T) {
	for name := range twoThatAsk(t, &world{}, nil, nil) {
		t.Run(name, func(t *testing.T) {
			w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
			step, store := twoThatAsk(t, w, reached, goOn)[name], troupe.NewMemoryStore()
			engine := newEngine(t, troupe.Config{Store: store})
			first, seven, eight := answersSeven(t, engine, step)
			session := first.Session
			<-reached
			second, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes", IdempotencyKey: "k"})
			if err != nil {
				t.Fatalf("the second answer: %v", err)
			}
			if second.Run != first.Run {
				t.Errorf("it is not the run that asked: %s, not %s", second.Run, first.Run)
			}
			log := untilAnswered(t, store, session, "c8")
			for _, question := range []string{seven, eight} {
				if _, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Question: question, Text: "yes"}); !errors.Is(err, troupe.ErrNoQuestion) {
					t.Errorf("%s was answered again: %v", question, err)
				}
				if err := engine.Answer(t.Context(), session, question, troupe.Answer{Approved: true}); !errors.Is(err, troupe.ErrNoQuestion) {
					t.Errorf("%s was answered again: %v", question, err)
				}
			}
			if _, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Text: "and now"}); !errors.Is(err, troupe.ErrBusy) {
				t.Errorf("what is no answer: %v", err)
			}
			if again, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes", IdempotencyKey: "k"}); err != nil || again.Run != first.Run {
				t.Errorf("the same request, sent again: %+v, %v", again, err)
			}
			testKilled(t, name, log)
			testKilledBetween(t, name, log[:len(log)-1], eight)
			close(goOn)
			for _, h := range []*troupe.Handle{first, second} {
				if out, err := h.Wait(t.Context()); err != nil || out.Stop != "answered" {
					t.Errorf("it ended with %q, %v", out.Stop, err)
				}
			}
			if w.total()["wipe(7)"] != 1 || w.total()["wipe(8)"] != 1 {
				t.Errorf("done: %v", w.total())
			}
			if _, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes", IdempotencyKey: "k"}); err != nil {
				t.Errorf("the same request, sent again later: %v", err)
			}
			if got := ends(logOf(t, store, session)); got != 2 {
				t.Errorf("the run has ended %d times on record, not when it asked and when it was done", got)
			}
		})
	}
}

// A question of a run that is another process's is answered from here, too: the answer is on record
// at once, and the run goes on where it is.
func TestAQuestionIsAnsweredFromElsewhere(t *testing.T) {
	for name := range twoThatAsk(t, &world{}, nil, nil) {
		t.Run(name, func(t *testing.T) {
			w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
			step, store := twoThatAsk(t, w, reached, goOn)[name], troupe.NewMemoryStore()
			owner, other := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
			first, seven, eight := answersSeven(t, owner, step)
			session := first.Session
			<-reached
			if _, err := other.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes", User: "mallory"}); !errors.Is(err, troupe.ErrNotFound) {
				t.Errorf("somebody else's answer: %v", err)
			}
			second, err := other.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes", IdempotencyKey: "k"})
			if err != nil || second.Run != first.Run {
				t.Fatalf("the answer from elsewhere: %+v, %v", second, err)
			}
			if log := untilAnswered(t, store, session, "c8"); log[len(log)-1].Body.(*troupe.UserSaid).IdempotencyKey != "k" {
				t.Errorf("it is on record without its key: %s", render(log[len(log)-1:]))
			}
			for _, question := range []string{seven, eight} {
				if err := other.Answer(t.Context(), session, question, troupe.Answer{Approved: true}); !errors.Is(err, troupe.ErrNoQuestion) {
					t.Errorf("%s was answered again: %v", question, err)
				}
			}
			long := troupe.Input{Session: session, Question: eight, Text: strings.Repeat("yes ", 2000)}
			if _, err := other.Start(t.Context(), step, long); !errors.Is(err, troupe.ErrNoQuestion) {
				t.Errorf("a long answer: %v", err)
			}
			close(goOn)
			for _, h := range []*troupe.Handle{first, second} {
				if out, err := h.Wait(t.Context()); err != nil || out.Stop != "answered" {
					t.Errorf("it ended with %q, %v", out.Stop, err)
				}
			}
			if w.total()["wipe(7)"] != 1 || w.total()["wipe(8)"] != 1 {
				t.Errorf("done: %v", w.total())
			}
		})
	}
}

// A decision from elsewhere reaches the run that is under way, and one that is too long to be passed
// on is refused with who has the session.
func TestAQuestionIsDecidedFromElsewhere(t *testing.T) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
	step, store := twoThatAsk(t, w, reached, goOn)["steps"], troupe.NewMemoryStore()
	owner, other := newEngine(t, troupe.Config{Store: store}), newEngine(t, troupe.Config{Store: store})
	first, _, eight := answersSeven(t, owner, step)
	session := first.Session
	<-reached
	_, err := other.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: strings.Repeat("yes ", 2000)})
	if _, named := errors.AsType[*troupe.Owner](err); !named {
		t.Errorf("an answer that is too long: %v", err)
	}
	if err := other.Answer(t.Context(), session, eight, troupe.Answer{Approved: true}); err != nil {
		t.Errorf("a decision: %v", err)
	}
	close(goOn)
	if out, err := first.Wait(t.Context()); err != nil || out.Stop != "answered" || w.total()["wipe(8)"] != 1 {
		t.Errorf("it ended with %q, %v, and did %v", out.Stop, err, w.total())
	}
}

// testKilled goes on with a run whose process died when it had acknowledged both answers.
func testKilled(t *testing.T, name string, log []troupe.Event) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}, 9), make(chan struct{})
	close(goOn)
	store := troupe.NewMemoryStore()
	if err := store.Append(t.Context(), log[0].Session, log...); err != nil {
		t.Fatal(err)
	}
	_, end, err := gather(newEngine(t, troupe.Config{Store: store}).Resume(t.Context(), twoThatAsk(t, w, reached, goOn)[name], log[0].Session))
	if err != nil || end.Stop != "answered" || w.total()["wipe(8)"] != 1 {
		t.Errorf("after its process died: %+v, %v, done %v", end, err, w.total())
	}
}

// testKilledBetween answers the second question of a run whose process died after the first
// answer: the run goes on, and nothing begins anew.
func testKilledBetween(t *testing.T, name string, log []troupe.Event, question string) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}, 9), make(chan struct{})
	close(goOn)
	store := troupe.NewMemoryStore()
	if err := store.Append(t.Context(), log[0].Session, log...); err != nil {
		t.Fatal(err)
	}
	engine, step := newEngine(t, troupe.Config{Store: store}), twoThatAsk(t, w, reached, goOn)[name]
	for id, input := range map[string]troupe.Input{"another question": {Question: question + "1", Text: "yes"}, "no question": {Answer: &troupe.Answer{Approved: true}}} {
		input.Session = log[0].Session
		if _, err := engine.Start(t.Context(), step, input); !errors.Is(err, troupe.ErrNoQuestion) {
			t.Errorf("after its process died, %s was answered: %v", id, err)
		}
	}
	run, err := engine.Start(t.Context(), step, troupe.Input{Session: log[0].Session, Question: question, Answer: &troupe.Answer{Approved: true}})
	if err != nil {
		t.Fatalf("after its process died: %v", err)
	}
	end, err := run.Wait(t.Context())
	if err != nil || run.Run != log[0].Run || end.Stop != "answered" || w.total()["wipe(8)"] != 1 {
		t.Errorf("answered after its process died: run %s is %s, %+v, %v, done %v", log[0].Run, run.Run, end, err, w.total())
	}
}

func logOf(t *testing.T, store troupe.Store, session string) (events []troupe.Event) {
	for e, err := range store.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		e.Epoch = 0
		events = append(events, e)
	}
	return events
}

func ends(events []troupe.Event) (n int) {
	for _, e := range events {
		if _, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			n++
		}
	}
	return n
}

// Answers that are given at the same moment are all taken, whichever comes first.
func TestAnswersAtTheSameMomentAreAllTaken(t *testing.T) {
	goOn := make(chan struct{})
	close(goOn)
	for name := range twoThatAsk(t, &world{}, nil, nil) {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				w := &world{done: map[string]int{}}
				step := twoThatAsk(t, w, make(chan struct{}, 9), goOn)[name]
				engine := newEngine(t, troupe.Config{})
				events, _ := mustAnswer(t, engine, step, "go")
				var answers sync.WaitGroup
				for _, n := range []int{7, 8} {
					answers.Go(func() {
						run, err := engine.Start(t.Context(), step, troupe.Input{Session: events[0].Session, Question: questionAbout(events, n), Text: "yes"})
						if err == nil {
							_, err = run.Wait(t.Context())
						}
						if err != nil {
							t.Errorf("the answer about %d: %v", n, err)
						}
					})
				}
				answers.Wait()
				if w.total()["wipe(7)"] != 1 || w.total()["wipe(8)"] != 1 {
					t.Fatalf("done: %v", w.total())
				}
				if out, err := engine.Outcome(t.Context(), events[0].Session); err != nil || out.Stop != "answered" {
					t.Fatalf("it ended with %q, %v", out.Stop, err)
				}
			}
		})
	}
}

// What one step asks can be answered while the others have not got that far: the run does not
// end to wait.
func TestAQuestionIsAnsweredInTheFirstPass(t *testing.T) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: modelFunc(func(*troupe.Request) turn {
		reached <- struct{}{}
		<-goOn
		return turn{text: "slowly"}
	})})
	asker := agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 8), Tools: []troupe.Tool{careful(w)}})
	step, store := flow.Parallel("both", asker, slow), troupe.NewMemoryStore()
	engine := newEngine(t, troupe.Config{Store: store})
	run, err := engine.Start(t.Context(), step, troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	asked := ""
	for e, err := range engine.Tail(t.Context(), run.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*troupe.InputRequested); ok {
			asked = b.ID
			break
		}
	}
	if err := engine.Answer(t.Context(), run.Session, asked, troupe.Answer{Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	out, err := run.Wait(t.Context())
	if err != nil || out.Stop != "answered" || w.total()["wipe(8)"] != 1 || ends(logOf(t, store, run.Session)) != 1 {
		t.Errorf("it ended %d times, at last with %+v, %v, done %v", ends(logOf(t, store, run.Session)), out, err, w.total())
	}
	if out.Spent.Turns != 3 {
		t.Errorf("it counts %d turns, not 3", out.Spent.Turns)
	}
}

// A question that the run has gone past does not wait for an answer.
func TestAQuestionThatTheRunHasGonePastIsNotAnswered(t *testing.T) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
	asker := agentWith(t, troupe.AgentConfig{ID: "wiper", Model: wiper(w, 8), Tools: []troupe.Tool{careful(w)}})
	quick := agentWith(t, troupe.AgentConfig{ID: "quick", Model: modelFunc(func(*troupe.Request) turn { return turn{text: "quickly"} })})
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: modelFunc(func(*troupe.Request) turn {
		reached <- struct{}{}
		<-goOn
		return turn{text: "slowly"}
	})})
	// One after the other, so that the question is asked before the quorum is there.
	either, err := flow.NewParallel(flow.ParallelConfig{Name: "either", Steps: []troupe.Step{asker, quick}, Quorum: 1, MaxParallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(t, troupe.Config{})
	run, err := engine.Start(t.Context(), flow.Sequence("all", either, slow), troupe.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	var asked []*troupe.InputRequested
	for e, err := range engine.Events(t.Context(), run.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, bodies[*troupe.InputRequested]([]troupe.Event{e})...)
	}
	if len(asked) != 1 {
		t.Fatalf("it asked %d times", len(asked))
	}
	if err := engine.Answer(t.Context(), run.Session, asked[0].ID, troupe.Answer{Text: "yes"}); !errors.Is(err, troupe.ErrNoQuestion) {
		t.Errorf("it was answered: %v", err)
	}
	close(goOn)
	if out, err := run.Wait(t.Context()); err != nil || out.Text != "slowly" || w.total()["wipe(8)"] != 0 {
		t.Errorf("it ended with %q, %v, done %v", out.Text, err, w.total())
	}
}

// A heldStep waits for the test before it does anything.
type heldStep struct {
	troupe.Step
	before func()
}

func (h *heldStep) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	h.before()
	return h.Step.Do(ctx, run, in)
}

// A lateStore tells what it has read when the test lets it.
type lateStore struct {
	troupe.Store
	read func()
}

func (s *lateStore) Events(ctx context.Context, session string, after int64) iter.Seq2[troupe.Event, error] {
	var log []troupe.Event
	for e, err := range s.Store.Events(ctx, session, after) {
		if err != nil {
			return func(yield func(troupe.Event, error) bool) { yield(troupe.Event{}, err) }
		}
		log = append(log, e)
	}
	s.read()
	return func(yield func(troupe.Event, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Where a run begins between an answer's look at the log and its look at the run, it is not
// taken for one that cannot take it.
func TestAQuestionIsAnsweredAsTheRunBegins(t *testing.T) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}, 1), make(chan struct{})
	close(goOn)
	step := &heldStep{twoThatAsk(t, w, reached, goOn)["steps"], func() {}}
	store := &lateStore{troupe.NewMemoryStore(), func() {}}
	engine := newEngine(t, troupe.Config{Store: store})
	events, _ := mustAnswer(t, engine, step, "go")
	session, seven, eight := events[0].Session, questionAbout(events, 7), questionAbout(events, 8)

	begun, read, inLoop, answered := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once, hold sync.Once
	step.before = func() {
		once.Do(func() {
			store.read = func() { // by whoever answers next
				hold.Do(func() { close(read); <-inLoop })
			}
			close(begun)
			<-read
		})
	}
	ended := make(chan string, 1)
	go func() {
		var enter sync.Once
		end := ""
		for e, err := range engine.Run(t.Context(), step, troupe.Input{Session: session, Question: seven, Text: "yes"}) {
			enter.Do(func() { close(inLoop); <-answered })
			if b, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
				end = b.Stop
			} else if err != nil {
				end = err.Error()
			}
		}
		ended <- end
	}()
	<-begun
	if _, err := engine.Start(t.Context(), step, troupe.Input{Session: session, Question: eight, Text: "yes"}); err != nil {
		t.Errorf("the second answer: %v", err)
	}
	close(answered)
	if end := <-ended; end != "answered" || w.total()["wipe(7)"] != 1 || w.total()["wipe(8)"] != 1 {
		t.Errorf("it ended with %q, done %v", end, w.total())
	}
}

// Who ranges over a run may answer what it asks, within the loop.
func TestAQuestionIsAnsweredWithinTheLoop(t *testing.T) {
	for name, step := range questioning(t, &world{done: map[string]int{}}, 8) {
		t.Run(name, func(t *testing.T) {
			engine := newEngine(t, troupe.Config{})
			var refused error
			end := ""
			for e, err := range engine.Run(t.Context(), step, troupe.Input{Text: "go"}) {
				if err != nil {
					t.Fatal(err)
				}
				switch b := e.Body.(type) {
				case *troupe.InputRequested:
					if err := engine.Answer(t.Context(), e.Session, b.ID, troupe.Answer{Text: "yes"}); err != nil {
						refused = err
					}
				case *troupe.RunFinished:
					if e.Parent == "" {
						end = b.Stop
					}
				}
			}
			if refused == nil && end != "answered" || refused != nil && (end != "input_requested" || !errors.Is(refused, troupe.ErrBusy)) {
				t.Errorf("it ended with %s, and the answer with %v", end, refused)
			}
		})
	}
}

// A question of a run whose process has died is decided by Answer, too, and the run goes on when
// it is resumed.
func TestAQuestionThatIsLeftIsAnswered(t *testing.T) {
	w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}), make(chan struct{})
	step, store := twoThatAsk(t, w, reached, goOn)["steps"], troupe.NewMemoryStore()
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{Store: store}), step, "go")
	session, seven, eight := events[0].Session, questionAbout(events, 7), questionAbout(events, 8)
	first, err := newEngine(t, troupe.Config{Store: store}).Start(t.Context(), step, troupe.Input{Session: session, Question: seven, Text: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	left := troupe.NewMemoryStore()
	if err := left.Append(t.Context(), session, logOf(t, store, session)...); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if _, err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	free := make(chan struct{})
	close(free)
	w = &world{done: map[string]int{}}
	engine := newEngine(t, troupe.Config{Store: left})
	if err := engine.Answer(t.Context(), session, eight, troupe.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Answer(t.Context(), session, eight, troupe.Answer{Approved: true}); !errors.Is(err, troupe.ErrNoQuestion) {
		t.Errorf("it was answered twice: %v", err)
	}
	_, end, err := gather(engine.Resume(t.Context(), twoThatAsk(t, w, make(chan struct{}, 9), free)["steps"], session))
	if err != nil || end.Stop != "answered" || w.total()["wipe(8)"] != 1 {
		t.Errorf("it went on to %+v, %v, done %v", end, err, w.total())
	}
}

// Two questions are decided one after the other, and the run is resumed then.
func TestTwoQuestionsAreDecidedBeforeTheRunGoesOn(t *testing.T) {
	for name := range twoThatAsk(t, &world{}, nil, nil) {
		t.Run(name, func(t *testing.T) {
			w, reached, goOn := &world{done: map[string]int{}}, make(chan struct{}, 1), make(chan struct{})
			close(goOn)
			step := twoThatAsk(t, w, reached, goOn)[name]
			engine := newEngine(t, troupe.Config{})
			events, _ := mustAnswer(t, engine, step, "go")
			session := events[0].Session
			for _, n := range []int{8, 7} {
				if err := engine.Answer(t.Context(), session, questionAbout(events, n), troupe.Answer{Approved: true}); err != nil {
					t.Fatalf("about %d: %v", n, err)
				}
			}
			for _, n := range []int{7, 8} {
				if err := engine.Answer(t.Context(), session, questionAbout(events, n), troupe.Answer{Denied: true}); !errors.Is(err, troupe.ErrNoQuestion) {
					t.Errorf("decided again about %d: %v", n, err)
				}
			}
			_, end, err := gather(engine.Resume(t.Context(), step, session))
			if err != nil || end.Stop != "answered" || w.total()["wipe(7)"] != 1 || w.total()["wipe(8)"] != 1 {
				t.Errorf("it ended with %+v, %v, done %v", end, err, w.total())
			}
		})
	}
}

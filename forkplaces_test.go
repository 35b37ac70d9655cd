package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/flow"
)

func TestWhatCannotBeDoneAgainByItself(t *testing.T) {
	w := &world{done: map[string]int{}}
	expert := echo(t, w, "expert")
	clerk := agentWith(t, troupe.AgentConfig{ID: "clerk", Tools: []troupe.Tool{troupe.AsTool(expert, "Knows.")}, Model: modelFunc(func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "expert", `{"task":"what?"}`)}}
		}
		return turn{text: "so"}
	})})
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, flow.Sequence("relay", clerk), "go")
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
		begin()
		<-ctx.Done()
		yield(troupe.Chunk{}, ctx.Err())
	})})
	quick := agentWith(t, troupe.AgentConfig{ID: "quick", Model: modelFunc(func(req *troupe.Request) turn {
		<-begun
		return turn{text: req.Messages[0].Text}
	})})
	race := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "race", Quorum: 1, Steps: []troupe.Step{quick, slow}}))
	raced, _ := mustAnswer(t, engine, race, "go")
	if nested := nestedIn(raced); len(nested) != 2 {
		t.Fatalf("%d runs", len(nested))
	}
	refuses := errors.New("not so")
	for name, c := range map[string]struct {
		session, run string
		edit         func(troupe.Handoff) (troupe.Handoff, error)
		is           error
		want         string
	}{
		"the whole run":         {log[0].Session, log[0].Run, nil, errors.ErrUnsupported, "whole run of relay"},
		"no such run":           {log[0].Session, log[0].Run + ":77", nil, errors.ErrUnsupported, "no such run"},
		"no run":                {log[0].Session, "", nil, errors.ErrUnsupported, "no such run"},
		"an agent of an agent":  {log[0].Session, runOf(t, log, "expert", 0), nil, errors.ErrUnsupported, "called by an agent as a tool"},
		"ended by the others":   {raced[0].Session, runOf(t, raced, "slow", 0), nil, errors.ErrUnsupported, "enough of the others were done"},
		"no such session":       {"00000000-0000-4000-8000-000000000000", "x", nil, troupe.ErrNotFound, ""},
		"the edit itself fails": {log[0].Session, runOf(t, log, "clerk", 0), func(troupe.Handoff) (troupe.Handoff, error) { return troupe.Handoff{}, refuses }, refuses, "not so"},
	} {
		if _, err := engine.ForkStep(t.Context(), c.session, c.run, c.edit, troupe.Input{}); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "clerk", 0), nil, troupe.Input{Session: "mine"}); err == nil || !strings.Contains(err.Error(), "UUID") {
		t.Errorf("an id that is none: %v", err)
	}
	id, err := engine.ForkStep(t.Context(), raced[0].Session, runOf(t, raced, "quick", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, end, err := gather(engine.Resume(t.Context(), race, id)); err != nil || !strings.Contains(end.Output.Summary, "EDITED") {
		t.Errorf("the one that ended the others, done again: %v, %v", end, err)
	}
}

// One of several successes that ended the others is done again: the others of them stay, and
// what was ended goes on.
func TestAStepOfAQuorumIsEdited(t *testing.T) {
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	slow := agentWith(t, troupe.AgentConfig{ID: "slow", Model: generator(func(ctx context.Context, _ *troupe.Request, yield func(troupe.Chunk, error) bool) {
		begin()
		<-ctx.Done()
		yield(troupe.Chunk{}, ctx.Err())
	})})
	quick := func(id string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: id, Model: modelFunc(func(req *troupe.Request) turn {
			<-begun
			return turn{text: id + " was told " + req.Messages[0].Text}
		})})
	}
	two := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "two", Quorum: 2, Steps: []troupe.Step{quick("bob"), quick("cid"), slow}}))
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, two, "go")
	for edited, other := range map[string]string{"bob": "cid", "cid": "bob"} {
		id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, edited, 0), saying("EDITED"), troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		_, end, err := gather(engine.Resume(t.Context(), two, id))
		if err != nil || !strings.Contains(fmt.Sprint(end.Output.Outputs[edited]), "EDITED") || end.Output.Outputs[other] != other+" was told go" {
			t.Errorf("%s edited: it came to %v: %v", edited, end, err)
		}
	}
	if _, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "slow", 0), nil, troupe.Input{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the one that was ended: %v", err)
	}
}

// A question that a branch beside the step has asked is still open, and is answered in the
// fork.
func TestAQuestionBesideAnEditedStepStaysOpen(t *testing.T) {
	w := &world{done: map[string]int{}}
	asker := agentWith(t, troupe.AgentConfig{ID: "asker", Tools: []troupe.Tool{troupe.NewTool("ask", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "Which?"}
	})}, Model: counted(w, "asker", func(req *troupe.Request) turn {
		if results(req) == 0 {
			return turn{calls: []troupe.ToolCall{call("1", "ask", "{}")}}
		}
		return turn{text: "asker: " + req.Messages[len(req.Messages)-1].Text}
	})})
	both := flow.Parallel("both", asker, echo(t, w, "bob"))
	engine := newEngine(t, troupe.Config{})
	log, end := mustAnswer(t, engine, both, "go")
	if end.Stop != "input_requested" {
		t.Fatalf("it ended with %s", end.Stop)
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, end, err = gather(engine.Resume(t.Context(), both, id)); err != nil || end.Stop != "input_requested" {
		t.Fatalf("it came to %v: %v", end, err)
	}
	_, end, err = play(t, engine, both, troupe.Input{Session: id, Text: "This one."})
	if err != nil || !strings.Contains(end.Output.Summary, "asker: This one.") || !strings.Contains(end.Output.Summary, "bob heard EDITED") {
		t.Errorf("it came to %v: %v", end, err)
	}
	if n := w.total()["asker is asked with 1 messages"]; n != 1 {
		t.Errorf("the one who asks was asked %d times", n)
	}
}

// A run of an earlier message is forked without what was said after it, and what was
// loaded there is still known.
func TestAStepOfAnEarlierRunIsEdited(t *testing.T) {
	w := &world{done: map[string]int{}}
	told := func(name string) *troupe.Agent {
		return agentWith(t, troupe.AgentConfig{ID: name, Instructions: "Be brief.", Model: counted(w, name, func(req *troupe.Request) turn {
			if system := req.Messages[0].Text; !strings.Contains(system, "Be brief.") {
				t.Errorf("%s was told %q", name, system)
			}
			return turn{text: name}
		})})
	}
	both := must(t)(flow.NewParallel(flow.ParallelConfig{Name: "both", Steps: []troupe.Step{told("bob"), told("cid")}, MaxParallel: 1}))
	engine := newEngine(t, troupe.Config{})
	log, _ := mustAnswer(t, engine, both, "one")
	if _, _, err := play(t, engine, both, troupe.Input{Session: log[0].Session, Text: "two"}); err != nil {
		t.Fatal(err)
	}
	id, err := engine.ForkStep(t.Context(), log[0].Session, runOf(t, log, "bob", 0), saying("EDITED"), troupe.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := gather(engine.Resume(t.Context(), both, id)); err != nil {
		t.Fatal(err)
	}
	forked := collectOf(t, engine, id)
	for i, e := range forked {
		if loaded, ok := e.Body.(*troupe.ContextLoaded); ok {
			if loaded.Content == "" {
				t.Errorf("event %d: what was loaded is lost", i+1)
			}
			break
		}
	}
	if n := countOf[*troupe.UserSaid](forked); n != 1 {
		t.Errorf("the user has said %d things", n)
	}
}

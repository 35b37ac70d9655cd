package troupe_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
)

func TestAnAgentAnswers(t *testing.T) {
	agent := newAgent(t, inTurn(t, turn{pieces: []string{"Hel", "lo"}, text: "!"}))
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "Hi")
	if end.Output.Summary != "Hello!" || end.Stop != "answered" || end.Output.Meta.Status != "success" {
		t.Errorf("got %+v", end)
	}
	if got, want := kinds(events), "run_started user_said context_loaded model_replied run_finished"; got != want {
		t.Errorf("events: %s\nwant:   %s", got, want)
	}
	var shown strings.Builder
	for _, d := range bodies[*troupe.TextDelta](events) {
		shown.WriteString(d.Text)
	}
	if shown.String() != "Hello!" {
		t.Errorf("the deltas say %q", shown.String())
	}
	for i, e := range events {
		if e.Seq == 0 && e.Kind() != "text_delta" {
			t.Errorf("event %d, %s, was not stored", i, e.Kind())
		}
	}
}

func TestAnAgentUsesItsTools(t *testing.T) {
	t.Attr("FR", "FR-001 FR-003 FR-009 FR-011")
	script := inTurn(t, turn{text: "I add.", calls: []troupe.ToolCall{call("c1", "add", `{"a":2,"b":3}`)}}, turn{text: "5"})
	var sent []string
	model := modelFunc(func(req *troupe.Request) turn {
		sent = sent[:0]
		for _, m := range req.Messages {
			sent = append(sent, fmt.Sprintf("%s: %s", m.Role, m.Text))
		}
		return script(req)
	})
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), "2+3?")
	if want := []string{"system: You are a clerk.", "user: 2+3?", "assistant: I add.", `tool: {"sum":5}`}; !slices.Equal(sent, want) {
		t.Errorf("the model was sent %q, want %q", sent, want)
	}
	if end.Output.Summary != "5" {
		t.Errorf("answer %q", end.Output.Summary)
	}
	called, returned := bodies[*troupe.ToolCalled](events), bodies[*troupe.ToolReturned](events)
	if len(called) != 1 || called[0].Tool != "add" || called[0].Arguments != `{"a":2,"b":3}` || called[0].Attempt != 1 {
		t.Errorf("called: %+v", called)
	}
	if len(returned) != 1 || returned[0].Content != `{"sum":5}` || returned[0].Class != "" {
		t.Errorf("returned: %+v", returned)
	}
	if used := end.Output.Meta.ToolsUsed; len(used) != 1 || used[0] != "add" {
		t.Errorf("tools used: %v", used)
	}
}

func TestCallsOfOneTurnRunAtOnceAndReturnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type nap struct {
			Ms int `json:"ms"`
		}
		sleeper := troupe.NewTool("nap", "Sleeps.", func(ctx context.Context, in nap) (string, error) {
			time.Sleep(time.Duration(in.Ms) * time.Millisecond)
			return fmt.Sprint(in.Ms), nil
		}, troupe.ReadOnly())
		var calls []troupe.ToolCall
		for _, ms := range []int{30, 10, 20} {
			calls = append(calls, call(fmt.Sprint("c", ms), "nap", fmt.Sprintf(`{"ms":%d}`, ms)))
		}
		model := modelFunc(func(req *troupe.Request) turn {
			checkPairing(t, req.Messages)
			last := req.Messages[len(req.Messages)-1]
			if last.Role != troupe.RoleTool {
				return turn{calls: calls}
			}
			var got []string
			for _, m := range req.Messages {
				if m.Role == troupe.RoleTool {
					got = append(got, m.Text)
				}
			}
			return turn{text: strings.Join(got, ",")}
		})
		began := time.Now()
		events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, sleeper), "go")
		if end.Output.Summary != "30,10,20" {
			t.Errorf("results reached the model as %s", end.Output.Summary)
		}
		if took := time.Since(began); took != 30*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if first := bodies[*troupe.ToolReturned](events)[0]; first.Content != "10" {
			t.Errorf("the first outcome on record is %s: outcomes are recorded as they come", first.Content)
		}
	})
}

// Each failure is told to the model with its class, and the run goes on.
func TestToolFailureIsToldToTheModel(t *testing.T) {
	t.Attr("FR", "FR-004 FR-010 FR-033 FR-034")
	secret := troupe.NewTool("secret", "Not for you.", func(context.Context, struct{}) (string, error) { return "x", nil })
	cases := []struct {
		name  string
		call  troupe.ToolCall
		class string
		says  string
	}{
		{"unknown tool", call("1", "subtract", `{}`), "not_found", "there are: add, fail, panic, quit"},
		{"not granted", call("1", "secret", `{}`), "unauthorized", "may not use"},
		{"not JSON", call("1", "add", `{"a":2,`), "invalid_arguments", "JSON"},
		{"wrong type", call("1", "add", `{"a":2,"b":"five"}`), "invalid_arguments", "/b"},
		{"missing", call("1", "add", `{"a":2}`), "invalid_arguments", "/b"},
		{"unknown field", call("1", "add", `{"a":2,"b":3,"c":4}`), "invalid_arguments", "/c"},
		{"error", call("1", "fail", `{}`), "failed", "boom"},
		{"no arguments at all", call("1", "fail", ``), "failed", "boom"},
		{"panic", call("1", "panic", `{}`), "panicked", "ouch"},
		{"goroutine ended", call("1", "quit", `{}`), "panicked", "crashed"},
		{"own class", call("1", "deny", `{}`), "unauthorized", "not today"},
		{"odd name", call("1", "a b\x00", `{}`), "not_found", "a_b_"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var told string
			model := modelFunc(func(req *troupe.Request) turn {
				checkPairing(t, req.Messages)
				last := req.Messages[len(req.Messages)-1]
				if last.Role == troupe.RoleTool {
					told = last.Text
					return turn{text: "I see."}
				}
				return turn{calls: []troupe.ToolCall{c.call}}
			})
			agent := agentWith(t, troupe.AgentConfig{ID: "clerk", Model: model, Allow: []string{"add", "fail", "panic", "quit", "deny"}, Tools: []troupe.Tool{
				adder(), secret, failing("fail", errBoom), failing("deny", &troupe.ToolError{Class: "unauthorized", Message: "not today"}),
				troupe.NewTool("panic", "Panics.", func(context.Context, struct{}) (string, error) { panic("ouch") }),
				troupe.NewTool("quit", "Quits.", func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil }),
			}})
			events, end := mustAnswer(t, newEngine(t, troupe.Config{}), agent, "go")
			returned := bodies[*troupe.ToolReturned](events)
			if len(returned) != 1 || returned[0].Class != c.class {
				t.Fatalf("returned %+v", returned)
			}
			if !strings.Contains(told, strings.ReplaceAll(c.says, "fail, panic", "fail, deny, panic")) || !strings.Contains(told, string(c.class)) {
				t.Errorf("the model was told %s\nwant it to say %q", told, c.says)
			}
			if c.class == "panicked" != (returned[0].Stack != "") || strings.Contains(told, "goroutine ") {
				t.Errorf("the stack belongs to the log alone: %q, model: %q", returned[0].Stack, told)
			}
			if end.Stop != "answered" {
				t.Errorf("stop: %s", end.Stop)
			}
		})
	}
}

func TestAToolThatTakesTooLongIsNotWaitedFor(t *testing.T) {
	t.Attr("FR", "FR-010 FR-035")
	release := make(chan struct{})
	cases := map[string]func(context.Context) error{
		"heeds its context":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"ignores its context": func(context.Context) error { <-release; return nil },
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				slow := troupe.NewTool("slow", "Slow.", func(ctx context.Context, _ struct{}) (string, error) { return "", f(ctx) })
				model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "slow", "{}")}}, turn{text: "never mind"})
				began := time.Now()
				events, _, err := play(t, newEngine(t, troupe.Config{}), newAgent(t, model, slow), troupe.Input{Text: "go"})
				if err != nil {
					t.Fatal(err)
				}
				returned := bodies[*troupe.ToolReturned](events)[0]
				if returned.Class != "timeout" || returned.Duration.Duration() != 10*time.Second {
					t.Errorf("returned %+v", returned)
				}
				warned := len(bodies[*troupe.Warned](events)) == 1
				if ignores := strings.HasPrefix(name, "ignores"); warned != ignores {
					t.Errorf("warned of a tool left running: %v", warned)
				}
				if took := time.Since(began); took > 13*time.Second {
					t.Errorf("the run ended after %s", took)
				}
				close(release)
			})
		})
	}
}

func TestAToolMaySetItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Minute):
				return "done", nil
			}
		}
		model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "short", "{}"), call("2", "long", "{}"), call("3", "endless", "{}")}}, turn{text: "ok"})
		events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model,
			troupe.NewTool("short", "", wait, troupe.Timeout(time.Second)),
			troupe.NewTool("long", "", wait, troupe.Timeout(2*time.Minute)),
			troupe.NewTool("endless", "", wait, troupe.Timeout(-1)),
		), "go")
		got := map[string]string{}
		for _, r := range bodies[*troupe.ToolReturned](events) {
			got[r.Tool] = r.Class
		}
		if got["short"] != "timeout" || got["long"] != "" || got["endless"] != "" {
			t.Errorf("classes %v", got)
		}
	})
}

func TestAToolThatKeepsFailingIsAdvisedAgainst(t *testing.T) {
	t.Attr("FR", "FR-037 FR-037a")
	n := 0
	tool := troupe.NewTool("flaky", "Fails.", func(_ context.Context, in struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}) (string, error) {
		n++
		return "", errBoom
	})
	model := inTurn(t,
		turn{calls: []troupe.ToolCall{call("1", "flaky", `{"city":"Oslo"}`)}},
		turn{calls: []troupe.ToolCall{call("2", "flaky", `{"city":"Bergen"}`)}},
		turn{calls: []troupe.ToolCall{call("3", "flaky", `{"city":"Bergen","days":2}`)}},
		turn{calls: []troupe.ToolCall{call("4", "flaky", `{"city":"Moss"}`)}},
		turn{text: "I could not look it up."},
	)
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "weather?")
	if n != 4 {
		t.Errorf("the tool ran %d times, want 4: giving up is advice", n)
	}
	called, returned := bodies[*troupe.ToolCalled](events), bodies[*troupe.ToolReturned](events)
	for i, c := range called {
		if c.Attempt != i+1 {
			t.Errorf("call %d is attempt %d", i, c.Attempt)
		}
	}
	if c := called[1].Changed; len(c) != 1 || string(c["city"][0]) != `"Oslo"` || string(c["city"][1]) != `"Bergen"` {
		t.Errorf("what changed in attempt 2: %+v", c)
	}
	if c := called[2].Changed; len(c) != 1 || string(c["days"][0]) != "null" || string(c["days"][1]) != "2" {
		t.Errorf("what changed in attempt 3: %+v", c)
	}
	if !strings.Contains(returned[2].Content, "Do not call flaky again") || strings.Contains(returned[1].Content, "Do not call") {
		t.Errorf("the model was told %s", returned[2].Content)
	}
	if !strings.Contains(returned[3].Content, "Do not call flaky again") || end.Stop != "answered" {
		t.Errorf("a fourth attempt gave %+v", returned[3])
	}
}

func TestSuccessForgivesFailures(t *testing.T) {
	n := 0
	tool := troupe.NewTool("odd", "", func(context.Context, pair) (string, error) {
		if n++; n%3 == 0 {
			return "fine", nil
		}
		return "", errBoom
	})
	var turns []turn
	for i := range 7 {
		turns = append(turns, turn{calls: []troupe.ToolCall{call("c", "odd", fmt.Sprintf(`{"a":%d,"b":0}`, i))}})
	}
	mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, inTurn(t, append(turns, turn{text: "ok"})...), tool), "go")
	if n != 7 {
		t.Errorf("the tool ran %d times, want 7", n)
	}
}

// The same call with the same result: warned at 3, stopped at 5, and an answer.
func TestAnEndlessLoopEndsInAnAnswer(t *testing.T) {
	t.Attr("FR", "FR-021")
	asked, warnedAt := 0, 0
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		asked++
		last := req.Messages[len(req.Messages)-1].Text
		if strings.Contains(last, "same call") && warnedAt == 0 {
			warnedAt = asked
		}
		if req.Tools == nil {
			return turn{text: "I give up: 5"}
		}
		return turn{calls: []troupe.ToolCall{call("c", "add", `{"a":2,"b":3}`)}}
	})
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), "go")
	if end.Stop != "repeated_calls" || end.Output.Summary != "I give up: 5" || end.Output.Meta.Status != "partial" {
		t.Errorf("ended with %+v", end)
	}
	if n := len(bodies[*troupe.ToolCalled](events)); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
	if warnedAt != 4 {
		t.Errorf("warned before turn %d, want 4", warnedAt)
	}
}

func TestPollingIsNotALoop(t *testing.T) {
	n := 0
	poll := troupe.NewTool("poll", "", func(context.Context, struct{}) (string, error) { n++; return fmt.Sprint(n), nil })
	model := modelFunc(func(req *troupe.Request) turn {
		if n == 20 {
			return turn{text: "done"}
		}
		return turn{calls: []troupe.ToolCall{call("c", "poll", `{}`)}}
	})
	if _, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, poll), "go"); end.Stop != "answered" {
		t.Errorf("stop: %s", end.Stop)
	}
}

func TestWhatModelsSayInsteadOfAnAnswer(t *testing.T) {
	cases := []struct {
		name string
		turn turn
		stop string
		text string
	}{
		{"nothing", turn{}, "empty", "empty"},
		{"white space", turn{text: " \n"}, "empty", "empty"},
		{"a refusal", turn{refuse: "I can't."}, "refused", "I can't."},
		{"cut off", turn{text: "Once upon", finish: troupe.FinishLength}, "length", "Once uponOnce uponOnce upon"},
		{"cut off at once", turn{finish: troupe.FinishLength}, "length", "cut off"},
		{"filtered", turn{text: "Well", finish: troupe.FinishFiltered}, "content_filter", "Well"},
		{"filtered call", turn{finish: troupe.FinishFiltered, calls: []troupe.ToolCall{call("1", "add", `{"a":2,"b":3}`)}}, "content_filter", "withheld"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, modelFunc(func(*troupe.Request) turn { return c.turn }), adder()), "go")
			if end.Stop != c.stop || !strings.Contains(end.Output.Summary, c.text) || end.Output.Meta.Status != "partial" {
				t.Errorf("ended with %+v", end)
			}
			if n := len(bodies[*troupe.ToolCalled](events)); n != 0 {
				t.Errorf("%d calls were carried out", n)
			}
		})
	}
}

func TestACallThatWasCutShortIsNotCarriedOut(t *testing.T) {
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "cut off at the output limit") {
				return turn{text: "shorter, then"}
			}
		}
		// The arguments are valid JSON by accident: what was cut off is unknown.
		return turn{text: "Adding", finish: troupe.FinishLength, calls: []troupe.ToolCall{call("1", "add", `{"a":2,"b":3}`)}}
	})
	events, end := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), "go")
	if len(bodies[*troupe.ToolCalled](events)) != 0 || end.Output.Summary != "shorter, then" {
		t.Errorf("got %s", render(events))
	}
	always := modelFunc(func(*troupe.Request) turn {
		return turn{finish: troupe.FinishLength, calls: []troupe.ToolCall{call("1", "add", `{"a":2`)}}
	})
	_, end = mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, always, adder()), "go")
	if end.Stop != "length" || end.Spent.Turns != 3 {
		t.Errorf("ended with %+v", end)
	}
}

// People are not told what is meant for the model, and the model is told what it always
// was, also when the conversation is read back.
func TestAnAnswerThatReachesTheOutputLimitGoesOn(t *testing.T) {
	const notice = "[Notice] Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating anything."
	var last []*troupe.Message
	model := modelFunc(func(req *troupe.Request) turn {
		last = req.Messages
		if len(req.Messages) == 2 { // what it is, and what is asked
			return turn{text: "One, tw", finish: troupe.FinishLength}
		}
		return turn{text: "o, three."}
	})
	engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model)
	events, end := mustAnswer(t, engine, agent, "count")
	warned := bodies[*troupe.Warned](events)
	if len(warned) != 1 || warned[0].Message != "The answer reached the output limit; the model goes on." || end.Output.Summary != "One, two, three." {
		t.Errorf("warned %+v, ended with %+v", warned, end)
	}
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Session: events[0].Session, Text: "again"}) {
		if err != nil {
			t.Fatal(e, err)
		}
	}
	if len(last) != 6 || last[3].Text != notice {
		t.Errorf("the model was told %+v", last)
	}
}

func TestAToolMayAskTheUser(t *testing.T) {
	tool := troupe.NewTool("ask_user", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &troupe.InputNeeded{Question: "Which city?"}
	})
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		if last := req.Messages[len(req.Messages)-1]; last.Text == "Oslo" {
			return turn{text: "Oslo it is."}
		}
		return turn{calls: []troupe.ToolCall{call("1", "ask_user", "{}")}}
	})
	engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model, tool)
	events, end := mustAnswer(t, engine, agent, "weather?")
	asked := bodies[*troupe.InputRequested](events)
	if end.Stop != "input_requested" || end.Output.Summary != "Which city?" || len(asked) != 1 || asked[0].CallID != "1" {
		t.Fatalf("got %s", render(events))
	}
	_, end, err := play(t, engine, agent, troupe.Input{Session: events[0].Session, Text: "Oslo"})
	if err != nil || end.Output.Summary != "Oslo it is." {
		t.Errorf("got %+v, %v", end, err)
	}
}

// Several questions of one turn are asked together: the next message is the answer to each.
func TestEveryQuestionOfATurnIsAsked(t *testing.T) {
	tool := troupe.NewTool("ask_user", "Asks.", func(_ context.Context, in struct {
		Question string `json:"question"`
	}) (string, error) {
		return "", &troupe.InputNeeded{Question: in.Question}
	})
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		if last := req.Messages[len(req.Messages)-1]; last.Text == "Two in Oslo" {
			return turn{text: "So be it."}
		}
		return turn{calls: []troupe.ToolCall{call("1", "ask_user", `{"question":"Which city?"}`), call("2", "ask_user", `{"question":"How many?"}`)}}
	})
	engine, agent := newEngine(t, troupe.Config{}), newAgent(t, model, tool)
	events, end := mustAnswer(t, engine, agent, "lockers")
	asked := bodies[*troupe.InputRequested](events)
	if end.Stop != "input_requested" || len(asked) != 1 || asked[0].Question != "Which city?\n\nHow many?" {
		t.Fatalf("got %s", render(events))
	}
	_, end, err := play(t, engine, agent, troupe.Input{Session: events[0].Session, Text: "Two in Oslo"})
	if err != nil || end.Output.Summary != "So be it." {
		t.Errorf("got %+v, %v", end, err)
	}
}

func TestDuplicateAndMissingCallIDsAreMadeDistinct(t *testing.T) {
	model := modelFunc(func(req *troupe.Request) turn {
		checkPairing(t, req.Messages)
		seen := map[string]bool{}
		for _, m := range req.Messages {
			if m.Role == troupe.RoleTool {
				if m.CallID == "" || seen[m.CallID] {
					t.Errorf("id %q", m.CallID)
				}
				seen[m.CallID] = true
			}
		}
		if len(seen) == 3 {
			return turn{text: "ok"}
		}
		return turn{calls: []troupe.ToolCall{call("", "add", `{"a":1,"b":1}`), call("x", "add", `{"a":2,"b":1}`), call("x", "add", `{"a":3,"b":1}`)}}
	})
	mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, adder()), "go")
}

func TestHugeAndBrokenResultsAreCutAndRepaired(t *testing.T) {
	big := troupe.NewTool("big", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("é", 1<<20), nil })
	bad := troupe.NewTool("bad", "", func(context.Context, struct{}) (string, error) { return "a\xffb", nil })
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "big", "{}"), call("2", "bad", "{}")}}, turn{text: "ok"})
	events, _ := mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, big, bad), "go")
	for _, r := range bodies[*troupe.ToolReturned](events) {
		switch r.Tool {
		case "big":
			if len(r.Content) > 1<<20+100 || !strings.HasSuffix(r.Content, "[cut here: 1048576 of 2097152 bytes shown]") || r.Size != 2<<20 {
				t.Errorf("big: %d bytes, size %d", len(r.Content), r.Size)
			}
		case "bad":
			if !strings.HasPrefix(r.Content, "a�b\n") {
				t.Errorf("bad: %q", r.Content)
			}
		}
	}
}

func TestOurFailureIsReturnedToTheCaller(t *testing.T) {
	t.Attr("FR", "FR-030 FR-036")
	agent := newAgent(t, modelFunc(func(*troupe.Request) turn {
		return turn{text: "half an ans", err: &troupe.ModelError{Status: 401, Code: "invalid_api_key", Message: "no"}}
	}))
	events, end, err := play(t, newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "the task"})
	failure, ok := errors.AsType[*troupe.RunError](err)
	if !ok || failure.Agent != "clerk" || failure.Task != "the task" || failure.Spent.Turns != 1 || end != nil {
		t.Fatalf("got %v", err)
	}
	if cause, ok := errors.AsType[*troupe.ModelError](err); !ok || cause.Status != 401 {
		t.Errorf("cause: %v", err)
	}
	failed := bodies[*troupe.RunFailed](events)
	if len(failed) != 1 || failed[0].Task != "the task" || failed[0].Partial != "half an ans" || !strings.Contains(failed[0].Error, "401") {
		t.Errorf("recorded %s", render(events))
	}
}

type crash struct{}

func (crash) Name() string { return "crash" }
func (crash) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "step", Name: "crash"}
}
func (crash) Do(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
	panic("a bug")
}

func TestAPanicInAStepFailsTheRunWithItsStack(t *testing.T) {
	events, _, err := play(t, newEngine(t, troupe.Config{}), crash{}, troupe.Input{Text: "go"})
	failed := bodies[*troupe.RunFailed](events)
	if err == nil || len(failed) != 1 || !strings.Contains(failed[0].Stack, "loop_test.go") {
		t.Errorf("got %v\n%s", err, render(events))
	}
}

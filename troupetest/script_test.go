package troupetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

// told shows all that a model yields, a word to a chunk.
func told(ctx context.Context, m troupe.Model, req *troupe.Request) string {
	var words []string
	for chunk, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			words = append(words, "error("+err.Error()+")")
		case chunk.Call != nil:
			words = append(words, fmt.Sprintf("call(%s %s %s)", chunk.Call.ID, chunk.Call.Name, chunk.Call.Arguments))
		case chunk.Thought != "":
			words = append(words, "thought("+chunk.Thought+")")
		case chunk.Refusal != "":
			words = append(words, "refusal("+chunk.Refusal+")")
		case chunk.End != nil:
			words = append(words, fmt.Sprintf("end(%s %d)", chunk.End.Finish, chunk.End.Usage.Total()))
		default:
			words = append(words, "text("+chunk.Text+")")
		}
	}
	return strings.Join(words, " ")
}

func ask(text string) *troupe.Request {
	return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: text}}}
}

func TestScriptPlaysItsTurnsInOrder(t *testing.T) {
	tests := []struct {
		turn troupetest.Turn
		want string
	}{
		{troupetest.Say("one"), "text(one) end(stop 0)"},
		{troupetest.Say("a", "b").Using(troupe.Usage{Input: 3, Output: 4}), "text(a) text(b) end(stop 7)"},
		{troupetest.Think("hm").Say("yes"), "thought(hm) text(yes) end(stop 0)"},
		{troupetest.Call("add", "{}").Call("sub", "{}"), "call(call_1 add {}) call(call_2 sub {}) end(tool_calls 0)"},
		{troupetest.Calls(troupe.ToolCall{ID: "x", Name: "add"}, troupe.ToolCall{Name: "add"}), "call(x add ) call(call_3 add ) end(tool_calls 0)"},
		{troupetest.Length("so lo"), "text(so lo) end(length 0)"},
		{troupetest.Say("x").Finish(troupe.FinishFiltered), "text(x) end(content_filter 0)"},
		{troupetest.Refuse("no"), "refusal(no) end(stop 0)"},
		{troupetest.Fail(errors.New("down")), "error(down)"},
		{troupetest.Say("par").Fail(errors.New("down")), "text(par) error(down)"},
		{troupetest.CutOff("par"), "text(par)"},
		{troupetest.Say("again").Forever(), "text(again) end(stop 0)"},
	}
	var turns []troupetest.Turn
	for _, test := range tests {
		turns = append(turns, test.turn)
	}
	s := troupetest.NewScript(t, turns...)
	for _, test := range append(tests, tests[len(tests)-1]) {
		if got := told(t.Context(), s, ask("go on")); got != test.want {
			t.Errorf("%v: got %s, want %s", test.turn, got, test.want)
		}
	}
	if got := s.Requests(); len(got) != len(tests)+1 || got[2].Messages[0].Text != "go on" {
		t.Errorf("%d requests are on record", len(got))
	}
}

func TestTurnsDoNotShareTheirPieces(t *testing.T) {
	base := troupetest.Say("a").Say("b").Say("c")
	one, two := base.Say("1"), base.Say("2")
	s := troupetest.NewScript(t, one, two)
	if got := told(t.Context(), s, ask("")); got != "text(a) text(b) text(c) text(1) end(stop 0)" {
		t.Errorf("one: %s", got)
	}
	if got := told(t.Context(), s, ask("")); got != "text(a) text(b) text(c) text(2) end(stop 0)" {
		t.Errorf("two: %s", got)
	}
}

func TestScriptServesAnAgent(t *testing.T) {
	s := troupetest.NewScript(t,
		troupetest.Call("add", `{"a":2,"b":3}`).Expect(troupetest.LastUser("2+3"), troupetest.HasTool("add"), troupetest.System("numbers")),
		troupetest.Say("It is 5.").Expect(troupetest.ToolResult("add", "5")))
	out := run(t, s, "What is 2+3?")
	if out.Text != "It is 5." {
		t.Errorf("got %q", out.Text)
	}
	if n := len(s.Requests()[0].Messages); n != 2 {
		t.Errorf("the first request on record has %d messages", n)
	}
}

// run has an agent that can add answer one input.
func run(t *testing.T, m troupe.Model, input string) troupe.Outcome {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := troupe.Collect(engine.Run(t.Context(), adder(t, "calc", "You add numbers.", m), troupe.Input{Text: input}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func adder(t *testing.T, id, instructions string, m troupe.Model) *troupe.Agent {
	t.Helper()
	type pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	add := troupe.NewTool("add", "Adds numbers.", func(_ context.Context, in pair) (int, error) {
		if in.A < 0 {
			return 0, errors.New("no negative numbers")
		}
		return in.A + in.B, nil
	}, troupe.RepeatSafe())
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: id, Instructions: instructions, Model: m, Tools: []troupe.Tool{add}})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestScriptShowsTheConversationWhenItHasNoTurnLeft(t *testing.T) {
	r := &record{TB: t}
	s := troupetest.NewScript(r)
	req := &troupe.Request{Messages: []*troupe.Message{
		{Role: troupe.RoleUser, Text: "add\nthem " + strings.Repeat("é", 500)},
		{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: "c", Name: "add", Arguments: `{"a":1}`}}},
		{Role: troupe.RoleTool, CallID: "c", Tool: "add", Text: "3"},
	}}
	got := told(t.Context(), s, req)
	r.end()
	for _, want := range []string{"request 1 comes after the last of 0 turns", "user: add⏎them éé", `assistant:  [calls add {"a":1} (c)]`, "tool add (c): 3"} {
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], want) || !strings.Contains(got, want) {
			t.Errorf("want %q in the failure %q and in the error %s", want, r.failures, got)
		}
	}
	if len(r.failures[0]) > 1000 {
		t.Errorf("the failure has %d bytes", len(r.failures[0]))
	}
}

func TestScriptReportsTurnsThatWereNotPlayed(t *testing.T) {
	r := &record{TB: t}
	s := troupetest.NewScript(r, troupetest.Say("hello"),
		troupetest.Think("so").Call("add", `{"a":1}`).Wait(time.Second), troupetest.Refuse("no").Fail(errors.New("down")), troupetest.Length("x"),
		troupetest.CutOff("y"), troupetest.Say("z").Forever())
	told(t.Context(), s, ask(""))
	r.end()
	want := `script: 4 of 6 turns were never played:
  turn 2: think "so"; call add {"a":1}; wait 1s
  turn 3: refuse "no"; fail down
  turn 4: say "x"; finish length
  turn 5: say "y"; cut`
	if len(r.failures) != 1 || r.failures[0] != want {
		t.Errorf("got %q\nwant %q", r.failures, want)
	}
}

func TestScriptRefusesConversationsThatDoNotMatch(t *testing.T) {
	user := &troupe.Message{Role: troupe.RoleUser, Text: "hi"}
	calls := func(ids ...string) *troupe.Message {
		m := &troupe.Message{Role: troupe.RoleAssistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, troupe.ToolCall{ID: id, Name: "f"})
		}
		return m
	}
	result := func(id string) *troupe.Message {
		return &troupe.Message{Role: troupe.RoleTool, CallID: id, Tool: "f"}
	}
	list := func(m ...*troupe.Message) []*troupe.Message { return m }
	tests := map[string]struct {
		messages  []*troupe.Message
		complaint string // empty if it is in order
	}{
		"in order":        {list(user, calls("a", "b"), result("a"), result("b"), calls("a"), result("a"), user), ""},
		"no message":      {nil, "no message"},
		"nil":             {list(user, nil), "message 1 is nil"},
		"unanswered":      {list(user, calls("a"), user), "message 2 is of the user, but call a of f has no result yet"},
		"half answered":   {list(user, calls("a", "b"), result("a"), user), "call b of f has no result yet"},
		"open at the end": {list(user, calls("a")), "call a of f has no result"},
		"out of order":    {list(user, calls("a", "b"), result("b"), result("a")), `result for call "b", and the next call to be answered is "a"`},
		"twice":           {list(user, calls("a"), result("a"), result("a")), "no call waits"},
		"of nothing":      {list(user, result("a")), "no call waits"},
		"no id":           {list(user, calls(""), result("")), "empty or another call's"},
		"same id":         {list(user, calls("a", "a"), result("a"), result("a")), "empty or another call's"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &record{TB: t}
			s := troupetest.NewScript(r, troupetest.Say("ok").Forever())
			got := told(t.Context(), s, &troupe.Request{Messages: test.messages})
			r.end()
			if test.complaint == "" {
				if len(r.failures) > 0 || !strings.HasPrefix(got, "text(ok)") {
					t.Errorf("got %s and failures %q", got, r.failures)
				}
				return
			}
			if len(r.failures) != 1 || !strings.Contains(r.failures[0], test.complaint) || !strings.Contains(got, "error(") {
				t.Errorf("got %s and failures %q, want one with %q", got, r.failures, test.complaint)
			}
		})
	}
}

func TestChecksExamineTheRequest(t *testing.T) {
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: "add"}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	req := &troupe.Request{Tools: tools, Messages: []*troupe.Message{
		{Role: troupe.RoleSystem, Text: "Be kind."},
		{Role: troupe.RoleUser, Text: "first"}, {Role: troupe.RoleUser, Text: "second"},
		{Role: troupe.RoleTool, Tool: "add", Text: "5"},
	}}
	tests := map[string]struct {
		check troupetest.Check
		fails string
	}{
		"last user":       {troupetest.LastUser("sec"), ""},
		"earlier user":    {troupetest.LastUser("first"), `"second", which does not contain "first"`},
		"result":          {troupetest.ToolResult("add", "5"), ""},
		"other result":    {troupetest.ToolResult("add", "6"), `does not contain "6"`},
		"no result":       {troupetest.ToolResult("sub", ""), "there is no result of sub"},
		"system":          {troupetest.System("kind"), ""},
		"other system":    {troupetest.System("rude"), `does not contain "rude"`},
		"has tool":        {troupetest.HasTool("add"), ""},
		"has no tool":     {troupetest.HasTool("sub"), "sub is not offered"},
		"tools after all": {troupetest.NoTools(), "no tool should be offered"},
	}
	for name, test := range tests {
		r := &record{TB: t}
		test.check(r, req)
		if failed := strings.Join(r.failures, ""); (failed == "") != (test.fails == "") || !strings.Contains(failed, test.fails) {
			t.Errorf("%s: got %q, want %q", name, failed, test.fails)
		}
	}
	r := &record{TB: t}
	if troupetest.NoTools()(r, ask("")); r.Failed() {
		t.Errorf("no tools: %q", r.failures)
	}
}

func TestScriptWaitsUnderItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := troupetest.NewScript(t, troupetest.Wait(time.Hour).Say("late"), troupetest.Say("one").Wait(time.Hour).Say("two"))
		start := time.Now()
		if got := told(t.Context(), s, ask("")); got != "text(late) end(stop 0)" || time.Since(start) != time.Hour {
			t.Errorf("got %s after %v", got, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got := told(ctx, s, ask("")); got != "text(one) error(context deadline exceeded)" || time.Since(start) != time.Hour+time.Minute {
			t.Errorf("got %s after %v", got, time.Since(start))
		}
	})
}

func TestCastGivesEachAgentItsOwnTurns(t *testing.T) {
	as := func(system string) *troupe.Request {
		return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: system}, {Role: troupe.RoleUser, Text: "hi"}}}
	}
	r := &record{TB: t}
	cast := troupetest.NewCast(r, map[string][]troupetest.Turn{
		"Alex": {troupetest.Say("I am Alex.")}, "Kim": {troupetest.Say("I am Kim."), troupetest.Say("never")},
	})
	for system, want := range map[string]string{
		"You are Kim.": "text(I am Kim.) end(stop 0)", "You are Alex.": "text(I am Alex.) end(stop 0)",
		"You are Kim, not Alex.": "names 2 of the parts", "": "names 0 of the parts",
	} {
		if got := told(t.Context(), cast, as(system)); !strings.Contains(got, want) {
			t.Errorf("%q: got %s", system, got)
		}
	}
	if n := len(cast.Part("Kim").Requests()); n != 1 {
		t.Errorf("Kim was asked %d times", n)
	}
	r.end()
	if len(r.failures) != 3 || !strings.Contains(r.failures[2], "script of Kim: 1 of 2 turns were never played") {
		t.Errorf("failures %q", r.failures)
	}
}

// Without a test, as in an example, a request that the script has no turn for fails,
// and nothing panics.
func TestScriptWithoutATest(t *testing.T) {
	s := troupetest.NewScript(nil, troupetest.Say("once").Expect(troupetest.HasTool("none")))
	if got := told(t.Context(), s, ask("")); got != "text(once) end(stop 0)" {
		t.Errorf("got %s", got)
	}
	if got := told(t.Context(), s, ask("")); !strings.Contains(got, "comes after the last of 1 turns") {
		t.Errorf("got %s", got)
	}
}

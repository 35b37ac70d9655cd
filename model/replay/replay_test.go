package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/replay"
	"github.com/troupe-dev/troupe/troupetest"
)

func record(t *testing.T, m troupe.Model, path string) *replay.Recorder {
	t.Helper()
	r, err := replay.Record(m, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func open(t *testing.T, path string) *replay.Player {
	t.Helper()
	p, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hear returns all that a model yields.
func hear(ctx context.Context, m troupe.Model, req *troupe.Request) (chunks []troupe.Chunk, last error) {
	for chunk, err := range m.Generate(ctx, req) {
		if err != nil {
			last = err
			continue
		}
		chunks = append(chunks, chunk)
	}
	return chunks, last
}

func ask(texts ...string) *troupe.Request {
	req := &troupe.Request{}
	for _, text := range texts {
		req.Messages = append(req.Messages, &troupe.Message{Role: troupe.RoleUser, Text: text})
	}
	return req
}

// clerk is an agent whose tool gives ids and times, which are new on every call.
func clerk(t *testing.T, m troupe.Model, instructions string) *troupe.Agent {
	t.Helper()
	type order struct {
		Item string `json:"item"`
	}
	var issued atomic.Int64
	issue := troupe.NewTool("issue", "Issues a ticket.", func(_ context.Context, in order) (string, error) {
		return fmt.Sprintf("ticket %08x-0000-4000-8000-%012d for %s at %s", time.Now().Unix(), issued.Add(1), in.Item, time.Now().Format(time.RFC3339Nano)), nil
	})
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: instructions, Model: m, Tools: []troupe.Tool{issue}})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// converse has an agent take two inputs in a session of its own.
func converse(t *testing.T, agent troupe.Step) ([]troupe.Event, error) {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var events []troupe.Event
	session := ""
	for _, text := range []string{"two tickets, please", "and one more"} {
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Session: session, Text: text}) {
			if err != nil {
				return events, err
			}
			session = e.Session
			events = append(events, e)
		}
	}
	return events, nil
}

// recorded writes a conversation to a file and returns its events.
func recorded(t *testing.T, path string) []troupe.Event {
	t.Helper()
	script := troupetest.NewScript(t,
		troupetest.Think("hm").Call("issue", `{"item":"tea"}`).Call("issue", `{"item":"cake"}`).Using(troupe.Usage{Input: 7, Output: 3}),
		troupetest.Fail(&troupe.ModelError{Status: 529, Code: "overloaded", Message: "wait", Temporary: true, RetryAfter: time.Second}),
		troupetest.Say("Here ", "they ", "are."),
		troupetest.Call("issue", `{"item":"tea"}`),
		troupetest.CutOff("Here is"),
		troupetest.Say("Here is <another> 🍵."))
	events, err := converse(t, clerk(t, record(t, script, path), "You are kind."))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestARecordedConversationPlaysInAFreshSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "answers.jsonl")
		before := recorded(t, path)
		time.Sleep(time.Hour) // other times, and so other ids
		player := open(t, path)
		after, err := converse(t, clerk(t, player, "You are kind."))
		if err != nil {
			t.Fatal(err)
		}
		if was, is := troupetest.Format(before), troupetest.Format(after); is != was {
			t.Errorf("played\n%s\nrecorded\n%s", is, was)
		}
		if left := player.Unplayed(); len(left) > 0 {
			t.Errorf("not played: %q", left)
		}
		if before[0].Session == after[0].Session {
			t.Error("the session is not a fresh one")
		}
	})
}

func TestTheFileIsReadableAndHasEachMessageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "answers.jsonl")
		recorded(t, path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(data, []byte("\n")); n != 6 {
			t.Errorf("there are %d lines, want 6", n)
		}
		for text, want := range map[string]int{
			`"text":"You are kind."`: 1, `"text":"two tickets, please"`: 1, `ticket <uuid> for tea at <time>`: 4, // twice in messages, twice in summaries
			`{"text":"Here "},{"text":"they "},{"text":"are."}`: 1, `Here is <another> 🍵.`: 1,
			`"error":{"status":529,"code":"overloaded","message":"wait","temporary":true,"retry_after_ms":1000}`: 1,
		} {
			if n := strings.Count(string(data), text); n != want {
				t.Errorf("%s is there %d times, want %d, in\n%s", text, n, want, data)
			}
		}
		again := filepath.Join(t.TempDir(), "again.jsonl")
		time.Sleep(time.Hour)
		recorded(t, again)
		if second, err := os.ReadFile(again); err != nil || string(second) != string(data) {
			t.Errorf("a second recording differs (%v):\n%s\n%s", err, second, data)
		}
	})
}

func TestARequestThatWasNotRecordedSaysHowItDiffers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	tools := func(name, schema string) *troupe.ToolSet {
		tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: name, Input: []byte(schema)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
			return troupe.Result{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		set, err := troupe.NewToolSet(tool)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	warm, cold := 0.7, 0.1
	base := func() *troupe.Request {
		req := ask("hello", strings.Repeat("long ", 100)+"and the end")
		req.Tools = tools("find", `{"type":"object","properties":{"a":{"type":"string"}}}`)
		req.Params = &troupe.Params{Temperature: &warm, Extra: map[string]any{"user": "s3cret"}}
		return req
	}
	r := record(t, troupetest.NewScript(t, troupetest.Say("ok").Forever()), path)
	for _, req := range []*troupe.Request{ask("something else"), base()} {
		if _, err := hear(t.Context(), r, req); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("s3cret")) {
		t.Errorf("an extra parameter is in the file:\n%s", data)
	}
	tests := map[string]struct {
		change func(req *troupe.Request)
		want   []string
	}{
		"the end of a text": {func(req *troupe.Request) { req.Messages[1].Text = strings.Repeat("long ", 100) + "or the end" },
			[]string{"message 2, user: long long", "line 2", "differs in message 2\n- …", "long and the end\n+ …", "long or the end"}},
		"a role": {func(req *troupe.Request) { req.Messages[0].Role = troupe.RoleSystem },
			[]string{"differs in message 1\n- user: hello\n+ system: hello"}},
		"one more message": {func(req *troupe.Request) { req.Messages = append(req.Messages, ask("more").Messages...) },
			[]string{"line 2", "has no message 3: user: more"}},
		"one message less": {func(req *troupe.Request) { req.Messages = req.Messages[:1] },
			[]string{"line 2", "goes on with message 2: user: long long"}},
		"a tool's name":   {func(req *troupe.Request) { req.Tools = tools("search", `{}`) }, []string{"has other tools\n- find@", "+ search@"}},
		"a tool's schema": {func(req *troupe.Request) { req.Tools = tools("find", `{}`) }, []string{"has other tools\n- find@"}},
		"a parameter":     {func(req *troupe.Request) { req.Params.Temperature = &cold }, []string{`has other parameters` + "\n" + `- {"temperature":0.7}` + "\n" + `+ {"temperature":0.1}`}},
		"an extra one":    {func(req *troupe.Request) { req.Params.Extra["user"] = "x" }, []string{"has other extra parameters"}},
		"nothing":         {func(req *troupe.Request) {}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			player := open(t, path)
			req := base()
			test.change(req)
			chunks, err := hear(t.Context(), player, req)
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, replay.ErrNotRecorded) || len(chunks) > 0 || len(player.Unplayed()) != 2 {
				t.Fatalf("got %v and %v, left are %q", chunks, err, player.Unplayed())
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in %v", want, err)
				}
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAChangedAgentFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "answers.jsonl")
		recorded(t, path)
		player := open(t, path)
		_, err := converse(t, clerk(t, player, "You are rude."))
		if !errors.Is(err, replay.ErrNotRecorded) || !strings.Contains(err.Error(), "differs in message 1\n- system: You are kind.\n+ system: You are rude.") {
			t.Errorf("got %v", err)
		}
		if n := len(player.Unplayed()); n != 6 {
			t.Errorf("%d of 6 exchanges are left", n)
		}
	})
}

func TestAnEmptyRecordingHasNoAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	record(t, troupetest.NewScript(t), path)
	if _, err := hear(t.Context(), open(t, path), ask("hi")); !errors.Is(err, replay.ErrNotRecorded) || !strings.Contains(err.Error(), "the recording is empty") {
		t.Errorf("got %v", err)
	}
}

func TestTheSameRequestGetsItsAnswersInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	script := troupetest.NewScript(t, troupetest.Say("one"), troupetest.Say("other"), troupetest.Say("two"), troupetest.Say("three"))
	r := record(t, script, path)
	for _, text := range []string{"a", "b", "a", "a"} {
		if _, err := hear(t.Context(), r, ask(text)); err != nil {
			t.Fatal(err)
		}
	}
	player := open(t, path)
	for _, want := range []string{"one", "two"} {
		if chunks, err := hear(t.Context(), player, ask("a")); err != nil || chunks[0].Text != want {
			t.Errorf("got %v and %v, want %s", chunks, err, want)
		}
	}
	if left := player.Unplayed(); !slices.Equal(left, []string{"line 2: message 1, user: b", "line 4: message 1, user: a"}) {
		t.Errorf("left are %q", left)
	}
	for range 2 {
		hear(t.Context(), player, ask("a"))
	}
	if _, err := hear(t.Context(), player, ask("a")); !errors.Is(err, replay.ErrNotRecorded) || !strings.Contains(err.Error(), "played already") {
		t.Errorf("after the last: %v", err)
	}
}

func TestErrorsPlayAsTheyWere(t *testing.T) {
	plain := errors.New("plain")
	for name, err := range map[string]error{
		"plain":    plain,
		"full":     &troupe.ModelError{Status: 400, Code: "too_long", Err: fmt.Errorf("so: %w", troupe.ErrContextFull)},
		"broken":   &troupe.ModelError{Temporary: true, RetryAfter: 1500 * time.Millisecond, Err: io.ErrUnexpectedEOF},
		"caused":   &troupe.ModelError{Status: 500, Message: "oh", Err: plain},
		"nameless": errors.New(""),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers.jsonl")
			hear(t.Context(), record(t, troupetest.NewScript(t, troupetest.Say("so f").Fail(err)), path), ask("hi"))
			chunks, got := hear(t.Context(), open(t, path), ask("hi"))
			if len(chunks) != 1 || chunks[0].Text != "so f" || got == nil {
				t.Fatalf("got %v and %v", chunks, got)
			}
			for _, sentinel := range []error{troupe.ErrContextFull, io.ErrUnexpectedEOF} {
				if errors.Is(got, sentinel) != errors.Is(err, sentinel) {
					t.Errorf("%v: is it %v?", got, sentinel)
				}
			}
			was, isModel := errors.AsType[*troupe.ModelError](err)
			is, ok := errors.AsType[*troupe.ModelError](got)
			if ok != isModel {
				t.Fatalf("got %T, recorded was %T", got, err)
			}
			if isModel && (is.Status != was.Status || is.Code != was.Code || is.Message != was.Message || is.Temporary != was.Temporary || is.RetryAfter != was.RetryAfter) {
				t.Errorf("got %+v, recorded was %+v", is, was)
			}
			if !isModel && err.Error() != "" && got.Error() != err.Error() {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWhatIsBrokenOffOrCancelledIsNotRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	r := record(t, troupetest.NewScript(t, troupetest.Say("a", "b"), troupetest.Say("a").Wait(time.Hour)), path)
	for range r.Generate(t.Context(), ask("hi")) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range r.Generate(ctx, ask("hi")) {
		cancel()
	}
	if data, err := os.ReadFile(path); err != nil || len(data) > 0 {
		t.Errorf("recorded was %s (%v)", data, err)
	}
}

func TestRecordAddsToAFileAndReportsWhatItCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	for i := range 2 {
		r := record(t, troupetest.NewScript(t, troupetest.Say(fmt.Sprint(i))), path)
		if _, err := hear(t.Context(), r, ask("hi")); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(path); strings.Count(string(data), `"new":`) != 1 || strings.Count(string(data), "\n") != 2 {
		t.Errorf("the file is\n%s", data)
	}
	if chunks, err := hear(t.Context(), open(t, path), ask("hi")); err != nil || chunks[0].Text != "0" {
		t.Errorf("got %v and %v", chunks, err)
	}
	closed := record(t, troupetest.NewScript(t, troupetest.Say("x")), path)
	closed.Close()
	if chunks, err := hear(t.Context(), closed, ask("hi")); err == nil || !strings.Contains(err.Error(), "record: ") || len(chunks) != 1 {
		t.Errorf("a closed file: got %v and %v", chunks, err)
	}
	if _, err := replay.Record(nil, filepath.Join(t.TempDir(), "no", "such", "dir")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := replay.Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatCannotBeReadSaysWhere(t *testing.T) {
	good := `{"key":"k","request":"r","messages":["` + hiDigest(t) + `"],"new":[{"role":"user","text":"hi"}],"chunks":[]}` + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"cut off":     {good + good[:30], "line 2: it is cut off"},
		"not JSON":    {good + "hello\n", "line 2: invalid character"},
		"empty line":  {"\n", "line 1: EOF"},
		"other field": {strings.Replace(good, "request", "question", 1), `line 1: json: unknown field "question"`},
		"two values":  {good + strings.TrimSpace(good) + "{}\n", "line 2: there is more than one value"},
		"no key":      {good + "{}\n", "line 2: it has no key"},
		"edited":      {strings.Replace(good, `"hi"`, `"ho"`, 1), "is in no line so far"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers.jsonl")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := replay.Open(path); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("open: got %v, want %q", err, test.want)
			}
			if _, err := replay.Record(nil, path); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("record: got %v, want %q", err, test.want)
			}
		})
	}
}

// hiDigest is what a recording has for the message "hi".
func hiDigest(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	hear(t.Context(), record(t, troupetest.NewScript(t, troupetest.Say("x")), path), ask("hi"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), `"messages":["`)
	found, _, _ := strings.Cut(rest, `"`)
	return found
}

func TestConcurrentRequestsAreRecordedAndPlayedOnce(t *testing.T) {
	const n = 16
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	var turns []troupetest.Turn
	for i := range n {
		turns = append(turns, troupetest.Say(fmt.Sprint(i)))
	}
	texts := func(m troupe.Model) []string {
		list := make([]string, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				chunks, err := hear(t.Context(), m, ask("hi"))
				if err != nil {
					t.Error(err)
					return
				}
				list[i] = chunks[0].Text
			})
		}
		wg.Wait()
		slices.Sort(list)
		return list
	}
	was := texts(record(t, troupetest.NewScript(t, turns...), path))
	if is := texts(open(t, path)); !slices.Equal(is, was) {
		t.Errorf("played %q, recorded %q", is, was)
	}
}

// behaving returns a script that shows a behaviour.
func behaving(t *testing.T, does troupetest.Behaviour) troupe.Model {
	turn := map[troupetest.Behaviour]troupetest.Turn{
		troupetest.Answering:   troupetest.Say("In ", "Norway, too."),
		troupetest.Calling:     troupetest.Call("lookup", `{"city":"Oslo"}`),
		troupetest.Failing:     troupetest.Fail(&troupe.ModelError{Status: 500}),
		troupetest.BreakingOff: troupetest.CutOff("In"),
		troupetest.Stalling:    troupetest.Say("In").Wait(time.Hour),
	}[does]
	return troupetest.NewScript(t, turn.Forever())
}

func TestRecorderIsAModel(t *testing.T) {
	troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
		return record(t, behaving(t, does), filepath.Join(t.TempDir(), "answers.jsonl"))
	})
}

func TestPlayerIsAModel(t *testing.T) {
	troupetest.TestModel(t, func(t *testing.T, does troupetest.Behaviour) troupe.Model {
		if does == troupetest.Stalling {
			t.Skip("a recording never stalls")
		}
		return &playback{t, behaving(t, does)}
	})
}

// A playback records each answer before it plays it.
type playback struct {
	t     *testing.T
	model troupe.Model
}

func (p *playback) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	path := filepath.Join(p.t.TempDir(), "answers.jsonl")
	hear(p.t.Context(), record(p.t, p.model, path), req)
	return open(p.t, path).Generate(ctx, req)
}

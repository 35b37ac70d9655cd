package troupetest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestShapes checks that a client of the chat-completions API reads answers in all
// [Shapes] as they are meant, and failures in all [ErrorPlaces] as failures. The
// function connect returns a model that speaks to a server.
func TestShapes(t *testing.T, connect func(t *testing.T, s *Server) troupe.Model) {
	calls := []troupe.ToolCall{{ID: "a", Name: "lookup", Arguments: `{"city":"Oslo","days":3}`}, {ID: "b", Name: "lookup", Arguments: `{"city":"Rome"}`}}
	for name, plain := range map[string]Exchange{
		"text":             ServeText("It is said in a few words."),
		"thought and text": ServeText("It is so.").Thought("Is it so? It is."),
		"calls":            ServeCalls(calls...),
		"all of it":        ServeCalls(calls...).Text("Let me look.").Thought("Where was it?"),
		"a cut text":       ServeText("It is said in a").Finish(troupe.FinishLength),
	} {
		for _, shape := range Shapes() {
			if shape == ShapeNoReason && plain.finish == troupe.FinishLength {
				continue // nothing else says that it was cut
			}
			t.Run(name+", "+string(shape), func(t *testing.T) {
				want := plain
				got := hear(t.Context(), t, connect(t, NewServer(t, plain.As(shape))), shapeRequest(t))
				got.check(t, &want)
			})
		}
	}
	t.Run("what can be read of side fields is used", func(t *testing.T) {
		plain := ServeCalls(calls...)
		got := hear(t.Context(), t, connect(t, NewServer(t, plain.As(ShapeInterleavedCalls, ShapeStringIndex, ShapeNumberID))), shapeRequest(t))
		got.check(t, &plain)
		for i, call := range got.calls() {
			if want := strconv.Itoa(7001 + i); call.ID != want {
				t.Errorf("the id of call %d is %q, sent was the number %s", i, call.ID, want)
			}
		}
	})
	for _, place := range ErrorPlaces() {
		t.Run("an error "+string(place), func(t *testing.T) {
			failing := ServeText("It is").FailIn(place, `{"message":"rate limit reached","code":429}`)
			got := hear(t.Context(), t, connect(t, NewServer(t, failing)), shapeRequest(t))
			if len(got.errs) != 1 {
				t.Fatalf("it was read as %+v", got.chunks)
			}
			e, ok := errors.AsType[*troupe.ModelError](got.errs[0])
			if !ok || !e.Temporary || e.Reason != "rate" || e.Message == "" {
				t.Errorf("the error is %#v; a rate limit is temporary, and its reason is rate", got.errs[0])
			}
		})
	}
}

// shapeRequest offers the tool that is called.
func shapeRequest(t *testing.T) *troupe.Request {
	t.Helper()
	lookup := troupe.NewTool("lookup", "Looks up the weather.", func(context.Context, map[string]any) (string, error) { return "", nil })
	tools, err := troupe.NewToolSet(lookup)
	if err != nil {
		t.Fatal(err)
	}
	return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "Is it so?"}}, Tools: tools}
}

// check compares an answer with the exchange that it is of. Ids are the client's
// business where the server sent none.
func (a *answer) check(t *testing.T, want *Exchange) {
	t.Helper()
	if len(a.errs) > 0 {
		t.Fatalf("error %v", a.errs[0])
	}
	var text, thought string
	var end *troupe.End
	for _, chunk := range a.chunks {
		text, thought = text+chunk.Text, thought+chunk.Thought
		end = chunk.End
	}
	calls := a.calls()
	if text != want.text || thought != want.thought {
		t.Errorf("text %q, thought %q; want %q, %q", text, thought, want.text, want.thought)
	}
	if end == nil || end.Finish != want.finish {
		t.Errorf("the end is %+v, want %s", end, want.finish)
	}
	if len(calls) != len(want.calls) {
		t.Fatalf("calls %+v, want %+v", calls, want.calls)
	}
	for i, call := range calls {
		if call.ID == "" || call.Name != want.calls[i].Name || !isSameJSON(call.Arguments, want.calls[i].Arguments) {
			t.Errorf("call %d is %+v, want %+v", i, call, want.calls[i])
		}
	}
}

// calls are those that an answer makes.
func (a *answer) calls() (list []troupe.ToolCall) {
	for _, chunk := range a.chunks {
		if chunk.Call != nil {
			list = append(list, *chunk.Call)
		}
	}
	return list
}

func isSameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && encode(left) == encode(right)
}

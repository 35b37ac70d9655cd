// Package sdks has the providers' own SDKs read the answers that Troupe's clients read
// and decode the requests that they send, and compares what they make of both. It is a
// module of its own, so that nobody who uses Troupe links them.
package sdks

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
)

// TestMain finds the corpus where the main module does.
func TestMain(m *testing.M) {
	if os.Getenv("TROUPE_CORPUS") == "" {
		os.Setenv("TROUPE_CORPUS", filepath.Join("..", "..", "..", "shared", "corpus"))
	}
	os.Exit(m.Run())
}

// An answer is what was made of a recorded one.
type answer struct {
	Text, Thought string
	Calls         []call
}

// A call has its arguments as a value.
type call struct {
	Name      string
	Arguments any
}

func newCall(name, arguments string) call {
	c := call{Name: name, Arguments: map[string]any{}}
	if arguments != "" && json.Unmarshal([]byte(arguments), &c.Arguments) != nil {
		c.Arguments = arguments
	}
	return c
}

// A peer is a protocol that Troupe and an SDK both speak.
type peer struct {
	ours func(client *http.Client) (troupe.Model, error)
	// stream and whole read an answer with the SDK.
	stream, whole func(t *testing.T, client *http.Client) (answer, error)
	// leavesOut says why a recording is not compared, empty for one that is.
	leavesOut func(r *wiretest.Recording) string
	// knows takes away what only one of the two makes anything of.
	knows func(r *wiretest.Recording, ours, theirs *answer)
	// wants is how many answers have to be read alike.
	wants int
}

// compare has both read every recorded answer. What both read must be the same.
func (p *peer) compare(t *testing.T, recordings []*wiretest.Recording) {
	t.Helper()
	outcomes := map[string]int{}
	for _, r := range recordings {
		outcomes[p.compareOne(t, r)]++
	}
	t.Log(outcomes)
	if outcomes["alike"] < p.wants {
		t.Errorf("only %d answers were read alike", outcomes["alike"])
	}
}

func (p *peer) compareOne(t *testing.T, r *wiretest.Recording) string {
	t.Helper()
	switch {
	case r.Response.Status != http.StatusOK:
		return "not compared: a status"
	case r.Response.Base64 != nil:
		return "not compared: frames of another service"
	}
	if why := p.leavesOut(r); why != "" {
		return "not compared: " + why
	}
	model, err := p.ours(r.Answer().Client())
	if err != nil {
		t.Fatal(err)
	}
	heard := wiretest.Listen(t.Context(), model, wiretest.Hello())
	ours := answer{Text: heard.Text, Thought: heard.Thought}
	for _, c := range heard.Calls {
		ours.Calls = append(ours.Calls, newCall(c.Name, c.Arguments))
	}
	read := p.whole
	if r.IsStream() {
		read = p.stream
	}
	theirs, err := read(t, r.Answer().Client())
	switch {
	case heard.Err != nil && err != nil:
		return "an error to both"
	case err != nil:
		t.Logf("%s: the SDK fails: %.200v", r.Name, err)
		return "by Troupe alone"
	case heard.Err != nil && reflect.ValueOf(theirs).IsZero():
		t.Logf("%s: nothing to the SDK: %.150v", r.Name, heard.Err)
		return "an error to Troupe, nothing to the SDK"
	case heard.Err != nil:
		t.Errorf("%s: the SDK reads %.200v, and Troupe fails: %v", r.Name, theirs, heard.Err)
		return "by the SDK alone"
	}
	if p.knows != nil {
		p.knows(r, &ours, &theirs)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s: (-SDK +Troupe)\n%.2000s", r.Name, diff)
		return "different"
	}
	return "alike"
}

// conversation is a request with all that conversations hold.
func conversation(t *testing.T) *troupe.Request {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"where"},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}`)
	lookup, err := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks up the weather.", Input: schema}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := troupe.NewToolSet(lookup)
	if err != nil {
		t.Fatal(err)
	}
	temperature, most := 0.5, 300
	return &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Which is rainier?", Parts: []troupe.Part{{Name: "map.png", MIME: "image/png", Data: []byte("\x89PNG")}}},
			{Role: troupe.RoleAssistant, Text: "I look it up.", Calls: []troupe.ToolCall{
				{ID: "call_a", Name: "lookup", Arguments: `{"city":"Oslo"}`}, {ID: "call_b", Name: "lookup", Arguments: `{"city":"Rome","days":2}`}}},
			{Role: troupe.RoleTool, CallID: "call_a", Tool: "lookup", Text: "rain"},
			{Role: troupe.RoleTool, CallID: "call_b", Tool: "lookup", Text: "no such city"},
			{Role: troupe.RoleUser, Text: "And now?"},
		},
		Tools:   tools,
		Params:  &troupe.Params{Temperature: &temperature, MaxTokens: &most, Schema: schema, SchemaName: "place"},
		Session: "s1",
	}
}

// sent is the body of the request that Troupe sends for a conversation.
func sent(t *testing.T, open func(client *http.Client) (troupe.Model, error), req *troupe.Request) []byte {
	t.Helper()
	server := wiretest.Stream("")
	model, err := open(server.Client())
	if err != nil {
		t.Fatal(err)
	}
	wiretest.Listen(t.Context(), model, req)
	if len(server.Sent()) != 1 {
		t.Fatalf("%d requests", len(server.Sent()))
	}
	return []byte(server.Sent()[0].Body)
}

// survives checks that an SDK decodes a request into its own types and encodes it again
// without losing anything: it knows every field, in the form that it has. Fields of the
// first level that the SDK sets itself can be left out.
func survives(t *testing.T, body []byte, into any, without ...string) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("the SDK cannot decode %s: %v", body, err)
	}
	again, err := json.Marshal(into)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range without {
		delete(want, name)
		delete(got, name)
	}
	if diff := cmp.Diff(asList(want), asList(got)); diff != "" {
		t.Errorf("(-sent +known to the SDK)\n%s", diff)
	}
}

// asList puts results of tools that are one text as the list of parts that SDKs make of
// it, which means the same.
func asList(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = asList(value[i])
		}
	case map[string]any:
		for name, member := range value {
			value[name] = asList(member)
		}
		if text, ok := value["content"].(string); ok && value["type"] == "tool_result" {
			value["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
	}
	return value
}

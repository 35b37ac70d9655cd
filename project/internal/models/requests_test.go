package models_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// recorder is a transport that writes down the last request as it goes out.
type recorder struct{ written string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && !strings.HasSuffix(req.URL.Path, "/api/show") {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s\n", req.Method, req.URL)
		for _, name := range slices.Sorted(maps.Keys(req.Header)) {
			if name != "User-Agent" && name != "Accept" && name != "Content-Type" {
				fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(req.Header[name], ", "))
			}
		}
		r.written = b.String() + string(body) + "\n"
	}
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// wholeRequest has all that a request may have.
func wholeRequest(t *testing.T) *troupe.Request {
	t.Helper()
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
	lookup, err := troupe.NewRawTool(troupe.ToolSpec{Name: "lookup", Description: "Looks it up.", Input: schema},
		func(context.Context, *troupe.Invocation) (troupe.Result, error) { return troupe.Result{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	tools, err := troupe.NewToolSet(lookup)
	if err != nil {
		t.Fatal(err)
	}
	temperature, most, seed := 0.5, 300, int64(7)
	return &troupe.Request{
		Messages: []*troupe.Message{
			{Role: troupe.RoleSystem, Text: "Be brief."},
			{Role: troupe.RoleUser, Text: "Umbrella?", Parts: []troupe.Part{{Name: "sky.png", MIME: "image/png", Data: []byte("PNG")}}},
			{Role: troupe.RoleAssistant, Text: "I look.", Thought: "Where?", Calls: []troupe.ToolCall{{ID: "functions.lookup:0-from-another-provider-altogether", Name: "lookup", Arguments: `{"city":"Oslo"}`}}},
			{Role: troupe.RoleTool, CallID: "functions.lookup:0-from-another-provider-altogether", Tool: "lookup", Text: "rain"},
			{Role: troupe.RoleUser, Text: "So?"},
		},
		Tools: tools, Stable: 2, Session: "session-1",
		Params: &troupe.Params{Temperature: &temperature, MaxTokens: &most, Seed: &seed, Stop: []string{"END"}, Effort: "low", Schema: schema, SchemaName: "place"},
	}
}

// What every provider is sent, in each protocol that it speaks, is on record in
// testdata/requests.txt: address, headers and body. A change there is one that a
// provider gets to see.
func TestEveryProviderIsSentWhatIsOnRecord(t *testing.T) {
	var b strings.Builder
	for _, p := range provider.All() {
		for _, at := range p.Endpoints {
			var env []string
			for _, variables := range p.Vars {
				env = append(env, variables[0]+"=VALUE")
			}
			if len(p.KeyEnv) > 0 && !p.Local {
				env = append(env, p.KeyEnv[0]+"=KEY")
			}
			c := chooser(t, "", fmt.Sprintf("providers: {%s: {api: %s}}", p.Name, at.API), strings.Join(env, " "))
			record := &recorder{}
			c.Client = &http.Client{Transport: record}
			opened, err := c.Open(models.Choice{Ref: p.Name + "/some-model", From: "--model"})
			if err != nil {
				t.Fatalf("%s, %s: %v", p.Name, at.API, err)
			}
			for range opened.Model.Generate(t.Context(), wholeRequest(t)) {
			}
			if record.written == "" {
				t.Errorf("%s, %s: nothing was sent", p.Name, at.API)
			}
			fmt.Fprintf(&b, "-- %s, %s --\n%s", p.Name, at.API, record.written)
		}
	}
	file := filepath.Join("testdata", "requests.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("(-on record +sent; look at it, and run the test with -update if it is meant)\n%s", diff)
	}
}

package openai

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/model/provider"
)

var update = flag.Bool("update", false, "write what the tests find into the documents")

// seen is what a request to a provider shows.
type seen struct {
	bound, boundWithTools, ids, reasoning, cache, usage string
	tools                                               bool
}

// look sends requests to a provider, and tells from them what it is asked for.
func look(t *testing.T, p *provider.Provider) seen {
	t.Helper()
	at, ok := p.Endpoint(provider.Chat)
	if !ok {
		t.Fatalf("%s has no chat completions", p.Name)
	}
	fill := map[string]string{}
	for name := range p.Vars {
		fill[name] = "x"
	}
	address, _, err := p.Address(at, func(string) string { return "" }, fill)
	if err != nil {
		t.Fatal(err)
	}
	const foreign = "functions.add:0-a-long-id-of-another-provider-altogether"
	schema := []byte(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)
	req := &troupe.Request{
		Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: "s"}, {Role: troupe.RoleUser, Text: "u"},
			{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: foreign, Name: "f", Arguments: "{}"}}}, {Role: troupe.RoleTool, CallID: foreign, Text: "r"}},
		Params: &troupe.Params{Schema: schema}, Session: "s1", Stable: 2,
	}
	// A local server has no host to be known by: its quirks go with its name.
	sent, header := sentBy(t, Config{BaseURL: address, Model: "claude", Quirks: &p.Quirks}, req)
	var s seen
	s.bound = boundOf(sent)
	s.ids, s.reasoning = "no calls", "no"
	if answer := sent["messages"].([]any); len(answer) > 2 {
		s.ids, s.reasoning = goesBack(answer[2].(map[string]any), foreign, p)
	}
	switch {
	case sent["prompt_cache_key"] != nil:
		s.cache = "`prompt_cache_key`"
	case header.Get("X-Session-Id") != "":
		s.cache = "`x-session-id`, marks for Claude"
	}
	s.usage = "asked for"
	if sent["stream_options"] == nil {
		s.usage = "not asked for"
	}
	req.Tools = offering(t, "f")
	sent, _ = sentBy(t, Config{BaseURL: address, Model: "m", Quirks: &p.Quirks}, req)
	s.tools = sent["tools"] != nil
	s.boundWithTools = boundOf(sent)
	return s
}

// goesBack says in which form a call's id and the reasoning go back.
func goesBack(answer map[string]any, foreign string, p *provider.Provider) (ids, reasoning string) {
	reasoning = "as it came"
	if _, ok := answer["reasoning_content"]; ok {
		reasoning = "always"
	}
	switch id := answer["tool_calls"].([]any)[0].(map[string]any)["id"].(string); {
	case id == foreign:
		ids = "any"
	case len(id) == 9:
		ids = "9 letters or digits"
	case p.Quirks.IDs == provider.StrictID:
		ids = "letters, digits, `_`, `-`"
	default:
		ids = "at most 40 bytes"
	}
	return ids, reasoning
}

func boundOf(sent map[string]any) string {
	format, _ := sent["response_format"].(map[string]any)
	schema, _ := format["json_schema"].(map[string]any)
	switch {
	case schema["strict"] == true:
		return "strict"
	case format["type"] == "json_schema":
		return "schema"
	case format["type"] == "json_object":
		return "JSON"
	}
	return "prompt"
}

// The table in docs/models.md says what requests show.
func TestTheTableInTheDocuments(t *testing.T) {
	var b strings.Builder
	b.WriteString("| `name/...` | provider | speaks | key | tools | bound answers | call ids | reasoning goes back | cache | token counts | cost | models known |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, p := range provider.All() {
		s := look(t, &p)
		key := "none"
		if len(p.KeyEnv) > 0 {
			key = "`" + strings.Join(p.KeyEnv, "`, `") + "`"
		}
		if len(p.KeyEnv) > 0 && p.Local {
			key += ", if it wants one"
		}
		tools := "yes"
		if !s.tools {
			tools = "no"
		}
		bound := s.bound
		if s.boundWithTools != s.bound {
			bound += ", with tools " + s.boundWithTools
		}
		cost := "by price"
		switch {
		case p.Local && p.Name != "litellm":
			cost = "none"
		case p.ReportsCost:
			cost = "reported"
		}
		known := ""
		if n := len(catalog.Builtin().Models(p.Name)); n > 0 {
			known = fmt.Sprint(n)
		}
		var speaks []string
		for _, e := range p.Endpoints {
			speaks = append(speaks, string(e.API))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Name, p.Title, strings.Join(speaks, ", "), key, tools, bound, s.ids, s.reasoning, s.cache, s.usage, cost, known)
	}
	const file = "../../docs/models.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "-update -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end of providers -->")
	if !ok || !ok2 {
		t.Fatal("the marks of the table are gone from docs/models.md")
	}
	made := before + "-update -->\n" + b.String() + "<!-- end of providers -->" + after
	if *update {
		if err := os.WriteFile(file, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if made != string(text) {
		t.Errorf("the table in docs/models.md is not what requests show; run go test ./model/openai -run TestTheTableInTheDocuments -update")
	}
}

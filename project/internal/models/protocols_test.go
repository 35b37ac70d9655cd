package models_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/models"
)

var update = flag.Bool("update", false, "write what the tests find into the documents")

// capture is a transport that keeps the last request.
type capture struct {
	path, body string
	header     http.Header
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	c.path, c.body, c.header = r.URL.Path, string(body), r.Header
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: http.NoBody, Request: r}, err
}

// show sends a request and returns its body.
func (c *capture) show(t *testing.T, m troupe.Model, req *troupe.Request) string {
	t.Helper()
	c.body = ""
	for range m.Generate(t.Context(), req) {
	}
	if c.body == "" {
		t.Fatal("nothing was sent")
	}
	return c.body
}

// The table of protocols in docs/models.md says what requests show.
func TestTheTableOfProtocolsInTheDocuments(t *testing.T) {
	tool, _ := troupe.NewRawTool(troupe.ToolSpec{Name: "f", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *troupe.Invocation) (troupe.Result, error) {
		return troupe.Result{}, nil
	})
	tools, err := troupe.NewToolSet(tool)
	if err != nil {
		t.Fatal(err)
	}
	schema := json.RawMessage(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)
	var b strings.Builder
	b.WriteString("| `api:` | package | requests go to | bound answers | with tools | thoughts asked for | thoughts go back | cache | pictures of tools | context length |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range []struct{ api, pkg, model, path, back string }{
		{"messages", "anthropic", "claude-sonnet-5", "", "signed, in their place"},
		{"gemini", "gemini", "gemini-3.5-flash", "/v1beta", "signed, in their place"},
		{"responses", "responses", "gpt-5", "/v1", "encrypted, in their place"},
		{"ollama", "ollama", "qwen3", "", "to the same model"},
		{"chat", "openai", "gpt-5", "/v1", "as they came"},
	} {
		c := &capture{}
		yaml := fmt.Sprintf("providers: {mine: {base_url: http://models.example%s, api: %s, models: {%q: {window: 12345}}}}", row.path, row.api, row.model)
		chooser := chooser(t, "", yaml, "")
		chooser.Client = &http.Client{Transport: c}
		opened, err := chooser.Open(models.Choice{Ref: "mine/" + row.model, From: "--model"})
		if err != nil {
			t.Fatal(err)
		}
		request := func(p *troupe.Params, set *troupe.ToolSet) *troupe.Request {
			return &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleSystem, Text: "s"}, {Role: troupe.RoleUser, Text: "u"}}, Params: p, Tools: set, Stable: 2, Session: "s1"}
		}
		bound := func(set *troupe.ToolSet) string {
			body := c.show(t, opened.Model, request(&troupe.Params{Schema: schema}, set))
			switch {
			case strings.Contains(body, "fits this JSON schema"):
				return "prompt"
			case strings.Contains(body, `"additionalProperties":false`):
				return "schema"
			}
			return "no"
		}
		has := func(body string, words ...string) string {
			for _, word := range words {
				if strings.Contains(body, word) {
					return "yes"
				}
			}
			return "no"
		}
		plain := c.show(t, opened.Model, request(&troupe.Params{Effort: "high"}, nil))
		cache := "by itself"
		switch {
		case strings.Contains(plain, `"cache_control"`):
			cache = "marks"
		case strings.Contains(plain, `"s1"`):
			cache = "`prompt_cache_key`"
		}
		pictures := request(nil, tools)
		pictures.Messages = append(pictures.Messages, &troupe.Message{Role: troupe.RoleAssistant, Calls: []troupe.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
			&troupe.Message{Role: troupe.RoleTool, CallID: "a", Tool: "f", Text: "r", Parts: []troupe.Part{{MIME: "image/png", Data: []byte("png")}}})
		shown := "in the result"
		if body := c.show(t, opened.Model, pictures); !strings.Contains(body, "cG5n") {
			shown = "no"
		} else if strings.Contains(body, "This was returned by") {
			shown = "in a user's message"
		}
		length := "the server's"
		if strings.Contains(plain, "12345") {
			length = "as configured"
		}
		thoughts := has(plain, `"includeThoughts":true`, `"summarized"`, `"summary":"auto"`, `"think":true`)
		fmt.Fprintf(&b, "| `%s` | `model/%s` | `%s` | %s | %s | %s | %s | %s | %s | %s |\n", row.api, row.pkg, c.path, bound(nil), bound(tools), thoughts, row.back, cache, shown, length)
	}
	const file, begin, end = "../../../docs/models.md", "-run TestTheTableOfProtocols -update -->\n", "<!-- end of protocols -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the marks of the table are gone from docs/models.md")
	}
	made := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if made != string(text) {
		t.Error("the table of protocols in docs/models.md is not what requests show; run go test ./project/internal/models -run TestTheTableOfProtocols -update")
	}
}

// Claude at Bedrock is opened by the account's own keys, or by a key for Bedrock; at
// Vertex by a token.
func TestClaudeAtBedrockAndVertex(t *testing.T) {
	for _, test := range []struct{ ref, yaml, env, path, header, value, has string }{
		{"bedrock/anthropic.claude-sonnet-5-v1:0", "", "AWS_REGION=eu-west-1 AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=canary AWS_SESSION_TOKEN=tok", "/model/anthropic.claude-sonnet-5-v1:0/invoke-with-response-stream",
			"Authorization", "AWS4-HMAC-SHA256 Credential=AKID/", `"anthropic_version":"bedrock-2023-05-31"`},
		{"bedrock/anthropic.claude-sonnet-5-v1:0", "providers: {bedrock: {api: messages}}", "AWS_REGION=eu-west-1 AWS_BEARER_TOKEN_BEDROCK=bk AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=canary", "/model/anthropic.claude-sonnet-5-v1:0/invoke-with-response-stream",
			"Authorization", "Bearer bk", `"anthropic_version":"bedrock-2023-05-31"`},
		{"vertex/claude-sonnet-5", "providers: {vertex: {api: messages}}", "GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=europe-west1 CLOUDSDK_AUTH_ACCESS_TOKEN=vt",
			"/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-sonnet-5:streamRawPredict", "Authorization", "Bearer vt", `"anthropic_version":"vertex-2023-10-16"`},
	} {
		c := &capture{}
		chooser := chooser(t, "", test.yaml, test.env)
		chooser.Client = &http.Client{Transport: c}
		opened, err := chooser.Open(models.Choice{Ref: test.ref, From: "--model"})
		if err != nil {
			t.Errorf("%s: %v", test.ref, err)
			continue
		}
		body := c.show(t, opened.Model, &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "u"}}})
		if c.path != test.path || !strings.HasPrefix(c.header.Get(test.header), test.value) || !strings.Contains(body, test.has) || strings.Contains(fmt.Sprint(c.header), "canary") {
			t.Errorf("%s: %s %v %s", test.ref, c.path, c.header, body)
		}
	}
	// A profile has keys and a region, too.
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws", "credentials"), []byte("[work]\naws_access_key_id = AKWORK\naws_secret_access_key = canary\nregion = eu-north-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &capture{}
	work := chooser(t, "", "", "AWS_PROFILE=work HOME="+home)
	work.Client = &http.Client{Transport: c}
	opened, err := work.Open(models.Choice{Ref: "bedrock/anthropic.claude-sonnet-5-v1:0", From: "--model"})
	if err != nil {
		t.Fatal(err)
	}
	c.show(t, opened.Model, &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: "u"}}})
	if auth := c.header.Get("Authorization"); !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKWORK/") || !strings.Contains(auth, "/eu-north-1/bedrock/") || strings.Contains(auth, "canary") {
		t.Errorf("signed with %s", auth)
	}
	if _, err := chooser(t, "", "", "AWS_REGION=r AWS_PROFILE=wrok HOME="+home).Open(models.Choice{Ref: "bedrock/anthropic.claude-sonnet-5-v1:0", From: "--model"}); err == nil || !strings.Contains(err.Error(), "wrok") {
		t.Errorf("%v", err)
	}
	// Without either there is nothing to sign with.
	if _, err := chooser(t, "", "", "AWS_REGION=eu-west-1").Open(models.Choice{Ref: "bedrock/anthropic.claude-sonnet-5-v1:0", From: "--model"}); err == nil || !strings.Contains(err.Error(), "AWS_BEARER_TOKEN_BEDROCK") {
		t.Errorf("%v", err)
	}
}

package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestBlocksWithAPathAreFiles(t *testing.T) {
	for text, want := range map[string]struct {
		found []string
		rest  string
	}{
		"before\n```go cmd/main.go\npackage main\n\nx\n```\nafter\n":   {[]string{"cmd/main.go=package main\n\nx\n"}, "before\nafter\n"},
		"```ts title=\"src/a.ts\"\na\n```\n":                           {[]string{"src/a.ts=a\n"}, ""},
		"**src/b.ts**\n\n```ts\nb\n```\n":                              {[]string{"src/b.ts=b\n"}, "**src/b.ts**\n\n"},
		"File: c.py\nsome words\n```py\nc\n```\n":                      {nil, "File: c.py\nsome words\n```py\nc\n```\n"},
		"```\nno path\n```\n":                                          {nil, "```\nno path\n```\n"},
		"``x.go\nno block\n``\n":                                       {nil, "``x.go\nno block\n``\n"},
		"````md doc.md\n```go\nx\n```\n````\n":                         {[]string{"doc.md=```go\nx\n```\n"}, ""},
		"```go a.go\na\n```\n```go b.go\nb\n```\n":                     {[]string{"a.go=a\n", "b.go=b\n"}, ""},
		"```go a.go\nnever closed\n":                                   {nil, ""},
		"# a.go\n```go\na\n```\n```\n$ go run a.go\n```\n":             {[]string{"a.go=a\n"}, "# a.go\n```\n$ go run a.go\n```\n"},
		"# a.go\n```go b.go\nb\n```\n\n```\nno path of its own\n```\n": {[]string{"b.go=b\n"}, "# a.go\n\n```\nno path of its own\n```\n"},
	} {
		proposals, rest := fencedFiles(text)
		var found []string
		for _, p := range proposals {
			if found = append(found, p.Path+"="+p.Content); p.Act != actWrite || !strings.HasSuffix(p.Evidence, "``` "+p.Path) {
				t.Errorf("%q: %+v", text, p)
			}
		}
		if !slices.Equal(found, want.found) || rest != want.rest {
			t.Errorf("%q: got %q and %q", text, found, rest)
		}
	}
}

func TestCallsOfToolsAreUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "Write", "arguments": {"file_path": "a.go", "content": "x"}}`:                               "write a.go x Write(a.go)",
		`{"tool": "save_file", "input": {"path": "a.go", "text": "x"}}`:                                       "write a.go x save_file(a.go)",
		`{"function": {"name": "create_file", "arguments": "{\"filename\": \"a.go\", \"contents\": \"x\"}"}}`: "write a.go x create_file(a.go)",
		`{"tool_name": "upload", "params": {"file": "a.md", "file_text": "x"}}`:                               "upload a.md x upload(a.md)",
		`{"name": "upload_all", "args": {}}`:                                                                  "upload   upload_all()",
		`{"recipient_name": "functions.write", "parameters": {"content": "x"}}`:                               "tool  x functions.write()",
		`{"name": "fetch", "arguments": {"path": "a.go"}}`:                                                    "tool a.go  fetch(a.go)",
		`{"name": "fetch"}`:                                      "",
		`{"arguments": {"path": "a.go"}}`:                        "",
		`{"name": "fetch", "arguments": "not JSON"}`:             "",
		`{"name": 7, "tool": "fetch", "arguments": {"path": 1}}`: "tool   fetch()",
	} {
		found, rest := toolCalls("before " + text + " after")
		got := ""
		for _, p := range found {
			got += fmt.Sprintf("%s %s %s %s", p.Act, p.Path, p.Content, p.Evidence)
		}
		if got != want || rest != "before  after" {
			t.Errorf("%s: got %q and %q", text, got, rest)
		}
	}
	if found, rest := toolCalls(`a { b {"name": "x", "arguments": {}} c`); len(found) != 1 || rest != "a  b  c" {
		t.Errorf("after a bracket: %+v, %q", found, rest)
	}
}

// What is looked for in one answer is bounded: an answer may be all brackets.
func TestSoManyAttemptsAreLookedFor(t *testing.T) {
	call := `{"name": "write", "arguments": {"path": "a.go"}}`
	if found, rest := toolCalls(strings.Repeat(call, maxAttempts+2)); len(found) != maxAttempts || rest != call+call {
		t.Errorf("got %d calls, and left %q", len(found), rest)
	}
	tag := "<invoke name=\"write\"><parameter name=\"path\">a.go</parameter><parameter name=\"content\">x</parameter></invoke>\n"
	tags := tagCalls(strings.Repeat(tag, maxAttempts+1))
	if len(tags) != maxAttempts || tags[0].Act != actWrite || tags[0].Path != "a.go" || tags[0].Content != "x" {
		t.Errorf("got %d calls: %+v", len(tags), tags[0])
	}
	if got := attempts(strings.Repeat(call, 30) + strings.Repeat(tag, 30)); len(got) != maxAttempts {
		t.Errorf("got %d attempts", len(got))
	}
}

func TestClaimsAreSentencesThatNameAFile(t *testing.T) {
	for text, want := range map[string]string{
		"I have saved the plan to specs/plan.md.": "write specs/plan.md",
		"The file was UPLOADED as plan.md":        "upload plan.md",
		"We've created src/a.go and b.go":         "write src/a.go",
		"It is in plan.md":                        "",
		"I have saved nothing":                    "",
	} {
		got := ""
		for _, p := range claims(text) {
			got += p.Act + " " + p.Path
			if p.Evidence == "" || !strings.Contains(text, p.Evidence) {
				t.Errorf("%q: the evidence is %q", text, p.Evidence)
			}
		}
		if got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if got := evidence(strings.Repeat("x", maxEvidence) + "y"); got != strings.Repeat("x", maxEvidence) {
		t.Errorf("got %q", got)
	}
}

// All kinds of attempts are found in one text, each once.
func TestAttemptsOfAllKindsAreFound(t *testing.T) {
	text := "```go a.go\nx {\"name\": \"inside\", \"arguments\": {}}\n```\n{\"name\": \"write\", \"arguments\": {\"path\": \"b.go\"}}\n<invoke name=\"write\"><parameter name=\"path\">c.go</parameter></invoke>\nI have saved d.go\n"
	var got []string
	for _, p := range attempts(text) {
		got = append(got, p.Path)
	}
	if want := []string{"a.go", "b.go", "c.go", "d.go"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

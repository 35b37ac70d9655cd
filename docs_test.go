package troupe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of a language in a markdown file, by line.
func blocks(t *testing.T, file, language string) map[int]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	start, n := 0, 0
	var block strings.Builder
	for line := range strings.Lines(string(text)) {
		n++
		switch fence := strings.TrimSpace(line); {
		case start == 0 && fence == "```"+language:
			start = n
			block.Reset()
		case start > 0 && fence == "```":
			found[start] = block.String()
			start = 0
		case start > 0:
			block.WriteString(line)
		}
	}
	return found
}

func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"README.md"}, files...)
}

// G10: who looks for a word of the field finds a heading and, in the glossary, what it
// means and where it is told.
func TestTheDocumentsHaveTheWordsOfTheField(t *testing.T) {
	var headings strings.Builder
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				headings.WriteString(strings.ToLower(line))
			}
		}
	}
	glossary, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"structured output", "middleware", "handoff", "idempotency", "guardrail", "human in the loop", "durable execution", "trace"} {
		if !strings.Contains(headings.String(), word) {
			t.Errorf("no heading has %q", word)
		}
		if !strings.Contains(string(glossary), "| "+word) {
			t.Errorf("the glossary does not have %q", word)
		}
	}
}

// Every Go block in the documents is a whole file, and compiles.
func TestGoInTheDocumentsCompiles(t *testing.T) {
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "docs") // inside the module, so that it is found
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	packages := 0
	for _, file := range documents(t) {
		for line, code := range blocks(t, file, "go") {
			if !strings.HasPrefix(code, "package ") {
				t.Errorf("%s:%d: a Go block must be a whole file, so that it can be compiled", file, line)
				continue
			}
			name := "main.go"
			if strings.Contains(code, `"testing"`) {
				name = "doc_test.go"
			}
			packages++
			sub := filepath.Join(dir, fmt.Sprintf("%s_%d", strings.TrimSuffix(filepath.Base(file), ".md"), line))
			if err := os.MkdirAll(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(sub, name), []byte(code), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if packages == 0 {
		t.Fatal("no Go block found")
	}
	out, err := exec.Command("go", "vet", "./"+filepath.ToSlash(dir)+"/...").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

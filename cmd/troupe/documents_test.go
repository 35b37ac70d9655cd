package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/troupe-dev/troupe/project"
)

const repository = "../.."

// consoles returns the console blocks of a document, by line.
func consoles(text string) map[int][]string {
	found := map[int][]string{}
	start, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		switch {
		case start == 0 && line == "```console":
			start = n
		case start > 0 && line == "```":
			start = 0
		case start > 0:
			found[start] = append(found[start], line)
		}
	}
	return found
}

// Every command in the documents works: troupe's own are run, in an empty
// directory, and those of make are targets.
func TestCommandsInTheDocumentsWork(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, filepath.Join(repository, "README.md"), filepath.Join(repository, "CONTRIBUTING.md"))
	var scripts []string
	dir := t.TempDir()
	comment := regexp.MustCompile(`\s+#.*$`)
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line, commands := range consoles(string(text)) {
			var script strings.Builder
			for _, command := range commands {
				command, ok := strings.CutPrefix(command, "$ ")
				if !ok {
					continue // what it prints
				}
				command = comment.ReplaceAllString(command, "")
				words := strings.Fields(command)
				switch words[0] {
				case "troupe":
					fmt.Fprintf(&script, "exec %s\n", command)
				case "cd":
					fmt.Fprintf(&script, "%s\n", command)
				case "make":
					if !regexp.MustCompile(`(?m)^` + words[1] + `:`).Match(makefile) {
						t.Errorf("%s:%d: make has no target %s", file, line, words[1])
					}
				case "go":
					if !strings.Contains(command, "github.com/troupe-dev/troupe") {
						t.Errorf("%s:%d: %s", file, line, command)
					}
				default:
					t.Errorf("%s:%d: nobody tests %q", file, line, command)
				}
			}
			if script.Len() > 0 {
				name := filepath.Join(dir, fmt.Sprintf("%s_%d.txtar", strings.TrimSuffix(filepath.Base(file), ".md"), line))
				if err := os.WriteFile(name, []byte(script.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				scripts = append(scripts, name)
			}
		}
	}
	if len(scripts) == 0 {
		t.Fatal("no console block runs troupe")
	}
	testscript.Run(t, testscript.Params{Files: scripts, RequireExplicitExec: true})
}

// What make demo runs ends with a document on disk and says where it is.
func TestTheDemoEndsWithADocument(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("not installed: bash")
	}
	demo := exec.Command(filepath.Join(repository, "scripts", "demo"))
	demo.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	where := regexp.MustCompile(`It is at (\S+)`).FindSubmatch(out)
	if where == nil {
		t.Fatalf("it does not say where:\n%s", out)
	}
	document, err := os.ReadFile(string(where[1]))
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{"Where should we keep our customers' orders?", "SQLite, until we need a second machine"} {
		if !bytes.Contains(document, []byte(answer)) {
			t.Errorf("the document lacks %q:\n%s", answer, document)
		}
	}
	if bytes.Contains(out, []byte("\x1b[")) {
		t.Error("it writes colours to a pipe")
	}
}

// The configuration that the documents show is one that Troupe takes, and what they
// say of its flows is what a dry run draws.
func TestTheDocumentedConfigurationIsTaken(t *testing.T) {
	loaded := 0
	for _, document := range []string{"configuration.md", "models.md", "flows.md", "tools.md", "observability.md", "deliver.md", "serve.md", "project.md"} {
		text, err := os.ReadFile(filepath.Join(repository, "docs", document))
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			yaml, _, _ := strings.Cut(block, "```")
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, dir, nil, nil, "lint")
			if code := p.code(); code != 0 {
				t.Errorf("%s, block %d: exit code %d\n%s%s", document, i+1, code, &p.out, &p.err)
			}
			loaded++
			if strings.Contains(yaml, "flows:") {
				plan := start(t, dir, nil, nil, "run", "article", "--dry")
				if plan.code(); plan.out.Len() == 0 || !strings.Contains(string(text), plan.out.String()) {
					t.Errorf("%s does not show the plan:\n%s%s", document, &plan.out, &plan.err)
				}
			}
		}
	}
	if loaded < 3 {
		t.Errorf("only %d configurations were found", loaded)
	}
}

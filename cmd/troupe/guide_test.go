package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every command in the guide for BMAD projects works in one.
func TestCommandsInTheBMADGuideWork(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(repository, "docs", "bmad.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := bmadProject(t)
	analyst := strings.NewReplacer("NAME", "Mary", "TITLE", "Business Analyst").Replace(twoAgents)
	if err := os.WriteFile(filepath.Join(dir, "_bmad/own/agents/analyst.md"), []byte(analyst), 0o644); err != nil {
		t.Fatal(err)
	}
	ran := 0
	comment, quoted := regexp.MustCompile(`\s+#.*$`), regexp.MustCompile(`'[^']*'|\S+`)
	for line := range strings.Lines(string(guide)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ troupe ")
		if !ok {
			continue
		}
		var args []string
		for _, word := range quoted.FindAllString(comment.ReplaceAllString(command, ""), -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		p := start(t, dir, []string{"TROUPE_MODEL=rehearsal"}, strings.NewReader("*help\n"), args...)
		if code := p.code(); code != 0 && code != exitInput {
			t.Errorf("troupe %s: exit code %d\n%s\n%s", command, code, &p.out, &p.err)
		}
		ran++
	}
	if ran < 6 {
		t.Errorf("only %d commands were run", ran)
	}
}

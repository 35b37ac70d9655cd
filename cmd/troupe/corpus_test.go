package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// Workflows that nobody here wrote are played to their end.
func TestRealWorkflowsAreRehearsedToTheEnd(t *testing.T) {
	tree := corpus.Path(t, "bmad/v6-alpha0-source")
	var script strings.Builder
	for _, play := range [][2]string{
		{"analyst", "*product-brief"}, {"analyst", "*brainstorm-project"},
		{"brainstorming-coach", "*brainstorm"}, {"storyteller", "*story"}, {"architect", "*tech-spec"},
	} {
		fmt.Fprintf(&script, "exec troupe -C %s rehearse %s '%s'\nstdout '%s .*complete'\n", tree, play[0], play[1], `\`+play[1])
	}
	// What cannot be played is a defect of the tree, and is named.
	fmt.Fprintf(&script, "! exec troupe -C %s rehearse analyst '*research'\nstdout 'research/workflow.yaml: not found'\n", tree)
	file := filepath.Join(t.TempDir(), "real.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, RequireExplicitExec: true})
}

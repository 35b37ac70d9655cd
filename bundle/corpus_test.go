package bundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/workspace"
)

func TestPublishedTreesLoad(t *testing.T) {
	for _, tree := range []struct {
		name              string
		format            Format
		agents, workflows int
		commands          int // of all agents
	}{
		{"v4", FormatV4, 10, 6, 88},
		{"v6-alpha0-source", FormatXML, 19, 29, 103},
		{"v6-alpha5-installed", FormatCompiled, 15, 49, 102},
		{"v6.0.4-source", FormatYAML, 10, 25, 33},
		{"v6-skills", FormatSkill, 0, 0, 0},
	} {
		t.Run(tree.name, func(t *testing.T) {
			c := find(t, corpus.Path(t, "bmad/"+tree.name), Config{})
			definitions, found := c.Definitions()
			for _, f := range found {
				t.Errorf("%s: %v", f.Severity, &f)
			}
			commands := 0
			for _, d := range definitions {
				checkPublished(t, d, tree.format)
				commands += len(d.Commands)
				if _, err := c.Prompt(d.ID); err != nil {
					t.Errorf("%s does not start: %v", d.ID, err)
				}
			}
			workflows := 0
			for _, b := range c.Bundles() {
				workflows += checkWorkflows(t, b)
			}
			if len(definitions) != tree.agents || workflows != tree.workflows || commands != tree.commands {
				t.Errorf("%d agents, %d workflows, %d commands", len(definitions), workflows, commands)
			}
		})
	}
}

func checkPublished(t *testing.T, d *Definition, format Format) {
	t.Helper()
	if d.Format != format || d.Name == "" || d.Title == "" || d.Icon == "" || d.Declared == "" || d.Persona.Role == "" ||
		d.Persona.Identity == "" || len(d.Persona.Principles) == 0 || len(d.Commands) == 0 {
		t.Errorf("%s is incomplete: %+v", d.File, d)
	}
	for _, c := range d.Commands {
		if c.Line == 0 || c.Description == "" || !strings.HasPrefix(c.Cmd, "*") || strings.HasPrefix(c.Target, "path/to/") {
			t.Errorf("%s:%d: %+v", d.File, c.Line, c)
		}
	}
	config := 0
	for _, a := range d.Critical {
		if a.Load != nil && isConfig(a.Load.Path) {
			config++
		}
	}
	// The web orchestrator is made for a place without files.
	if config == 0 && d.ID != "bmad-web-orchestrator" {
		t.Errorf("%s loads no config", d.File)
	}
}

// checkWorkflows resolves every workflow of a bundle and counts them.
func checkWorkflows(t *testing.T, b *Bundle) int {
	t.Helper()
	files, err := b.WorkflowFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		w, err := b.Workflow(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if w.Name == "" || w.Description == "" || w.Instructions == "" && b.Layout != LayoutV4 {
			t.Errorf("%s: incomplete", w.File)
		}
		for _, missing := range w.Unresolved {
			if strings.HasPrefix(missing, "template:") || strings.HasPrefix(missing, "instructions:") {
				t.Errorf("%s: %s", w.File, missing)
			}
		}
	}
	return len(files)
}

// What the agents of an installed tree name is there.
func TestTheReferencesOfAnInstalledTreeResolve(t *testing.T) {
	for _, tree := range []string{"v6-alpha5-installed", "v4"} {
		definitions, _ := find(t, corpus.Path(t, "bmad/"+tree), Config{}).Definitions()
		count := 0
		for _, d := range definitions {
			for _, ref := range d.References() {
				count++
				if _, err := d.Parent().Locate(ref); err != nil {
					t.Errorf("%s:%d: %s: %v", ref.File, ref.Line, ref.Path, err)
				}
			}
		}
		t.Logf("%s: %d references", tree, count)
	}
}

// Of what the sources name, only these are not there; the files are the ones that
// the sources of that version lack.
func TestTheSourcesDanglingReferencesAreKnown(t *testing.T) {
	definitions, _ := find(t, corpus.Path(t, "bmad/v6-alpha0-source"), Config{}).Definitions()
	dangling := map[string]bool{}
	for _, d := range definitions {
		for _, ref := range d.References() {
			if _, err := d.Parent().Locate(ref); err != nil && !ref.Optional {
				dangling[ref.Path] = true
				if !errors.Is(err, workspace.ErrNotFound) {
					t.Errorf("%s: %v", ref.Path, err)
				}
			}
		}
	}
	if len(dangling) != 6 || !dangling["{project-root}/bmad/cis/workflows/research/workflow.yaml"] {
		t.Errorf("dangling are %v", dangling)
	}
}

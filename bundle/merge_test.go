package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// The layers come to what BMAD's own resolver makes of them.
func TestLayersAreMergedAsTheirAuthorsDo(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(corpus.Path(t, "bmad/customization-vectors"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, dir := range dirs {
		files := []string{"base.toml", "team.toml", "user.toml"}
		if filepath.Base(dir) == "central-config" {
			files = []string{"config.toml", "config.user.toml", "custom/config.toml", "custom/config.user.toml"}
		}
		if _, err := os.Stat(filepath.Join(dir, files[0])); err != nil {
			continue // a vector of something else
		}
		count++
		t.Run(filepath.Base(dir), func(t *testing.T) { checkVector(t, dir, files) })
	}
	if count < 16 {
		t.Errorf("only %d vectors", count)
	}
}

func checkVector(t *testing.T, dir string, files []string) {
	expected, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		OK     bool
		Merged map[string]any
	}
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	merged, err := mergeFiles(dir, files)
	if (err == nil) != want.OK {
		t.Fatalf("%v; want ok %v", err, want.OK)
	}
	if err != nil {
		return
	}
	data, err := json.Marshal(merged)
	var got map[string]any
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Merged, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func mergeFiles(dir string, files []string) (map[string]any, error) {
	var layers []tomlLayer
	for _, name := range files {
		src, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		layer, err := parseTOML(name, string(src))
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return mergeLayers(layers...)
}

// An agent and its customize.yaml come to what BMAD's own compiler makes of them, and
// one that is compiled already is not customized twice.
func TestACustomizedAgentIsWhatItsCompilerMakesOfIt(t *testing.T) {
	vector := corpus.Path(t, "bmad/customization-vectors/customize-yaml-6.0.4")
	load := func(compiled string) *Definition {
		dir := t.TempDir()
		for from, to := range map[string]string{compiled: "_bmad/bmm/agents/pm.md", "bmm-pm.customize.yaml": "_bmad/_config/agents/bmm-pm.customize.yaml"} {
			src, err := os.ReadFile(filepath.Join(vector, from))
			if err != nil {
				t.Fatal(err)
			}
			put(t, dir, to, string(src))
		}
		put(t, dir, "_bmad/_config/manifest.yaml", "x: y")
		put(t, dir, "_bmad/bmm/config.yaml", "user_name: Ada\n")
		put(t, dir, "docs/house-rules.md", "Rules.")
		return define(t, find(t, dir, Config{}), "pm")
	}
	before, after := load("pm.before.md"), load("pm.after.md")
	if before.Name != "Petra" || before.Name != after.Name || before.Persona.Role != "" || before.Persona.CommunicationStyle != after.Persona.CommunicationStyle {
		t.Errorf("%+v\n%+v", before.Persona, after.Persona)
	}
	if diff := cmp.Diff(after.Memories, before.Memories); diff != "" {
		t.Error(diff)
	}
	names := func(d *Definition) (list []string) {
		for _, c := range d.Commands {
			list = append(list, c.Cmd+c.Code)
		}
		slices.Sort(list)
		return list
	}
	if diff := cmp.Diff(names(after), names(before)); diff != "" {
		t.Error(diff)
	}
	if len(before.Prompts) != 1 || len(after.Prompts) != 1 || len(before.Overrides) != 1 {
		t.Errorf("prompts %d and %d, overrides %v", len(before.Prompts), len(after.Prompts), before.Overrides)
	}
	if !after.hasStep("Load COMPLETE file {project-root}/docs/house-rules.md and follow ALL directives") {
		t.Error("the critical action is lost")
	}
}

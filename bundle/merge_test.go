package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
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

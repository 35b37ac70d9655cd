package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// What the dashboard and the alerts ask for is what the program measures.
func TestTheDashboardAndAlertsNameMetricsThatThereAre(t *testing.T) {
	root := corpus.ModuleRoot(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	measured := read("observe/families.go") + read("server/metrics.go")
	var dashboard, alerts any
	if err := json.Unmarshal([]byte(read("deploy/grafana/troupe.json")), &dashboard); err != nil {
		t.Error(err)
	}
	if err := yaml.Unmarshal([]byte(read("deploy/prometheus/alerts.yaml")), &alerts); err != nil {
		t.Error(err)
	}
	names := regexp.MustCompile(`troupe_([a-z_]+)`).FindAllStringSubmatch(read("deploy/grafana/troupe.json")+read("deploy/prometheus/alerts.yaml"), -1)
	if len(names) < 10 {
		t.Fatalf("only %d metrics are named", len(names))
	}
	for _, name := range names {
		plain := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name[1], "")
		if !strings.Contains(measured, `"`+plain+`"`) && !strings.Contains(measured, "troupe_"+plain) {
			t.Errorf("there is no metric %s", name[0])
		}
	}
}

// What a release is made of is there.
func TestTheFilesOfAReleaseAreThere(t *testing.T) {
	root := corpus.ModuleRoot(t)
	data, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Archives []struct{ Files []string }
		Nfpms    []struct{ Contents []struct{ Src string } }
		Images   []struct{ Dockerfile string } `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal(data, &release); err != nil {
		t.Fatal(err)
	}
	files := release.Archives[0].Files
	for _, c := range release.Nfpms[0].Contents {
		files = append(files, c.Src)
	}
	files = append(files, release.Images[0].Dockerfile, "deploy/Dockerfile")
	for _, pattern := range files {
		if strings.HasPrefix(pattern, "dist-") {
			continue // made by the hooks
		}
		if found, err := filepath.Glob(filepath.Join(root, pattern)); err != nil || len(found) == 0 {
			t.Errorf("%s: nothing, %v", pattern, err)
		}
	}
}

// The configuration of releases is what goreleaser's own schema asks for. The schema comes
// with the module's source, which make setup fetches; make release has the program itself read it.
func TestTheReleaseConfigurationFitsItsSchema(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("there is no go command to ask where modules are:", err)
	}
	schemas, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(cache)), "github.com", "goreleaser", "goreleaser", "v2@v2.12.*", "www", "docs", "static", "schema.json"))
	if err != nil || len(schemas) == 0 {
		t.Skip("the source of goreleaser is not here: run make setup")
	}
	schema, err := jsonschema.NewCompiler().Compile(schemas[len(schemas)-1])
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var release any
	if err := yaml.Unmarshal(data, &release); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(release); err != nil {
		t.Error(err)
	}
}

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
		Nfpms    []struct {
			Contents []struct{ Src string }
			Scripts  map[string]string
		}
		Images []struct{ Dockerfile string } `yaml:"dockers_v2"`
	}
	if err := yaml.Unmarshal(data, &release); err != nil {
		t.Fatal(err)
	}
	files := release.Archives[0].Files
	for _, c := range release.Nfpms[0].Contents {
		files = append(files, c.Src)
	}
	for _, script := range release.Nfpms[0].Scripts {
		files = append(files, script)
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

// The scripts of deb and rpm make the service's user and directory, have a service that runs
// be the new program, and end it only when the package goes. Each command that they would
// call is put on record in its place.
func TestThePackagesScriptsKeepTheServiceInOrder(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no shell here that packages run")
	}
	for _, c := range []struct{ script, argument, systemd, want string }{
		{"postinstall", "configure", "yes", "systemd-sysusers troupe.conf|systemd-tmpfiles --create troupe.conf|systemctl daemon-reload|systemctl try-restart troupe.service|"},
		{"postinstall", "2", "no", "systemd-sysusers troupe.conf|systemd-tmpfiles --create troupe.conf|"},
		{"preremove", "upgrade", "yes", ""},
		{"preremove", "1", "yes", ""},
		{"preremove", "remove", "yes", "systemctl disable --now troupe.service|"},
		{"preremove", "0", "yes", "systemctl disable --now troupe.service|"},
		{"preremove", "remove", "no", ""},
		{"postremove", "upgrade", "yes", ""},
		{"postremove", "remove", "yes", "systemctl daemon-reload|"},
		{"postremove", "purge", "yes", ""},
	} {
		bin, run := t.TempDir(), t.TempDir()
		for _, name := range []string{"systemd-sysusers", "systemd-tmpfiles", "systemctl"} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+shell+"\nprintf '%s|' \"${0##*/} $*\"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if c.systemd == "no" {
			run = filepath.Join(run, "none")
		}
		text, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), "deploy", "linux", c.script+".sh"))
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command(shell, "-c", strings.ReplaceAll(string(text), "/run/systemd/system", run), "script", c.argument)
		command.Env = []string{"PATH=" + bin}
		if said, err := command.CombinedOutput(); err != nil || string(said) != c.want {
			t.Errorf("%s %s, systemd %s: %v\n%s\nnot\n%s", c.script, c.argument, c.systemd, err, said, c.want)
		}
	}
}

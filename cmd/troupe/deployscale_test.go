package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/project"
)

// documents reads all documents of a YAML file.
func documents(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document map[string]any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, document)
	}
}

// at finds something in a document: "spec.template.metadata".
func at(document any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := document.(map[string]any)
		document = m[name]
	}
	return document
}

// understands fails unless the program understands a command line: only its help is asked for.
func understands(t *testing.T, args any) {
	t.Helper()
	var line []string
	for _, arg := range args.([]any) {
		line = append(line, fmt.Sprint(arg))
	}
	p := start(t, t.TempDir(), nil, nil, append(line, "--help")...)
	if p.code() != 0 || !strings.Contains(p.out.String(), "troupe "+line[0]) {
		t.Errorf("troupe %v: %s", line, &p.err)
	}
	for _, arg := range line[1:] {
		if strings.HasPrefix(arg, "--") && !strings.Contains(p.out.String(), arg) {
			t.Errorf("troupe %s has no %s", line[0], arg)
		}
	}
}

// The manifests fit together: what one names another has, and the program knows its commands and
// the project.
func TestTheManifestsFitTogether(t *testing.T) {
	named := map[string]map[string]any{}
	for _, d := range documents(t, "deploy/kubernetes/troupe.yaml") {
		if at(d, "apiVersion") == nil || at(d, "metadata.name") == nil {
			t.Errorf("no apiVersion or name: %v", d)
		}
		if at(d, "kind") != "Namespace" && at(d, "metadata.namespace") != "troupe" {
			t.Errorf("another namespace: %v", at(d, "metadata"))
		}
		named[fmt.Sprint(at(d, "kind"), "/", at(d, "metadata.name"))] = d
	}
	replicas := map[string]int{}
	for name, d := range named {
		if !strings.HasPrefix(name, "Deployment/") {
			continue
		}
		replicas[name], _ = at(d, "spec.replicas").(int)
		if fmt.Sprint(at(d, "spec.selector.matchLabels")) != fmt.Sprint(at(d, "spec.template.metadata.labels")) {
			t.Errorf("%s selects others than its own", name)
		}
		volumes := map[string]bool{}
		for _, v := range at(d, "spec.template.spec.volumes").([]any) {
			volumes[at(v, "name").(string)] = true
			for kind, path := range map[string]string{"ConfigMap/": "configMap.name", "PersistentVolumeClaim/": "persistentVolumeClaim.claimName"} {
				if other := at(v, path); other != nil && named[kind+other.(string)] == nil {
					t.Errorf("%s: there is no %s%s", name, kind, other)
				}
			}
		}
		for _, c := range at(d, "spec.template.spec.containers").([]any) {
			understands(t, at(c, "args"))
			for _, m := range at(c, "volumeMounts").([]any) {
				if !volumes[at(m, "name").(string)] {
					t.Errorf("%s: there is no volume %v", name, at(m, "name"))
				}
			}
			for _, from := range at(c, "envFrom").([]any) {
				if named["Secret/"+at(from, "secretRef.name").(string)] == nil {
					t.Errorf("%s: there is no secret %v", name, from)
				}
			}
		}
	}
	if replicas["Deployment/server"] != 2 || replicas["Deployment/worker"] != 3 {
		t.Errorf("%v", replicas)
	}
	for _, c := range at(named["Deployment/server"], "spec.template.spec.containers").([]any) {
		if at(c, "lifecycle.preStop") == nil {
			t.Error("a server that is to end accepts nothing more while requests still come to it")
		}
	}
	opens(t, at(named["ConfigMap/project"], "data").(map[string]any)["troupe.yaml"].(string))
}

// opens fails unless a text is a good troupe.yaml.
func opens(t *testing.T, text string) {
	t.Helper()
	opened, err := project.Open(write(t, text), project.Options{LookupEnv: func(name string) (string, bool) { return "word", name == "DB_PASSWORD" }})
	if err != nil {
		t.Errorf("%v in %s", err, text)
		return
	}
	if opened.EngineKind() != project.EngineTemporal {
		t.Errorf("engine %s", opened.EngineKind())
	}
	opened.Close()
}

// The compose file has two servers and three workers, and the project that it describes is
// one.
func TestTheComposeFileFitsTogether(t *testing.T) {
	compose := documents(t, "deploy/compose/compose.yaml")[0]
	services := at(compose, "services").(map[string]any)
	for name, want := range map[string]int{"server": 2, "worker": 3} {
		if at(services[name], "deploy.replicas") != want {
			t.Errorf("%s: %v", name, at(services[name], "deploy"))
		}
		understands(t, at(services[name], "command"))
		for needed := range at(services[name], "depends_on").(map[string]any) {
			if services[needed] == nil {
				t.Errorf("there is no service %s", needed)
			}
		}
	}
	for _, name := range []string{"Dockerfile.temporal", "compose/nginx.conf"} {
		if _, err := os.Stat(filepath.Join(corpus.ModuleRoot(t), "deploy", filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	data := deployed(t, "compose/compose.yaml")
	if image := deployed(t, "Dockerfile.temporal"); !regexp.MustCompile(`install -d -o 65532 -g 65532 /data\b`).MatchString(image) || !strings.Contains(image, "USER 65532") {
		t.Errorf("who runs in the image cannot write to the volume at /data: %s", image)
	}
	var yaml strings.Builder
	for line := range strings.Lines(data) {
		if text, ok := strings.CutPrefix(line, "#   "); ok && !strings.HasPrefix(text, "cd ") {
			yaml.WriteString(text)
		}
	}
	opens(t, yaml.String())
}

func deployed(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Whoever opens the page at the address that the compose file publishes can sign in and work.
func TestTheComposeFilesProxyPassesOnWhereRequestsComeFrom(t *testing.T) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed: run make setup")
	}
	_, block, found := strings.Cut(deployed(t, "compose/nginx.conf"), "\n  server {")
	if !found {
		t.Fatal("there is no server in it")
	}
	models := newHeldModel(t)
	dir := clerkAt(t, models.URL)
	token := strings.Repeat("0123456789", 4)
	appendTo(t, dir, "server: {users: {me: TROUPE_TOKEN}, operators: [me], hosts: [localhost]}\n")
	base, _, stop := serveIn(t, dir, "CANARY=k", "TROUPE_TOKEN="+token)
	p := proxies["nginx"]
	p.program = program
	around := p.config
	p.config = func(block, dir, port, server, _ string) string {
		block = strings.NewReplacer("listen 7717", "listen 127.0.0.1:"+port, "server:7717", server).Replace("server {" + block)
		return around(strings.TrimSuffix(strings.TrimSpace(block), "}"), dir, port, server, "")
	}
	client := p.start(t, block, strings.TrimPrefix(base, "http://"), "")
	const page = "http://localhost:7717"
	for origin, want := range map[string]int{page: http.StatusCreated, "http://elsewhere.example.org": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", page+"/api/sessions", strings.NewReader(`{"agent": "clerk"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Origin": {origin}}
		response, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != want {
			t.Errorf("from %s: %d, %v: %s", origin, response.StatusCode, err, said)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

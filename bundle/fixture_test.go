package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project copies testdata/project, in which there is one of everything.
func project(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/project")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB, dir string, c Config) *Catalog {
	t.Helper()
	catalog, err := Find(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := catalog.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalog
}

func define(t testing.TB, c *Catalog, id string) *Definition {
	t.Helper()
	d, err := c.Definition(id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// bundleIn returns the bundle in a directory of the project.
func bundleIn(t testing.TB, c *Catalog, dir string) *Bundle {
	t.Helper()
	for _, b := range c.Bundles() {
		if b.Dir == dir {
			return b
		}
	}
	t.Fatalf("no bundle in %s", dir)
	return nil
}

// alone is a project with one bundle that holds the files given.
func alone(t testing.TB, files map[string]string) (*Catalog, *Bundle) {
	t.Helper()
	dir := t.TempDir()
	const home = "bmad/custom/bundles/one"
	put(t, dir, home+"/bundle.yaml", "type: standalone\nname: one\nversion: 1.0.0\nagent: {id: one, file: agent.md}\n")
	put(t, dir, home+"/agent.md", `<agent id="one" name="One"></agent>`)
	for name, content := range files {
		put(t, dir, home+"/"+name, content)
	}
	c := find(t, dir, Config{})
	return c, bundleIn(t, c, home)
}

func codes(found []Finding) []string {
	var list []string
	for _, f := range found {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A stage is an engine that plays an agent of a catalog with a script.
type stage struct {
	t       *testing.T
	engine  *troupe.Engine
	agent   *troupe.Agent
	script  *troupetest.Script
	session string
}

func play(t *testing.T, c *Catalog, id string, o Options, turns ...troupetest.Turn) *stage {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	script := troupetest.NewScript(t, turns...)
	if o.Model == nil {
		o.Model = script
	}
	agent, err := c.Agent(id, o)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, engine: engine, agent: agent, script: script}
}

// say plays one message and returns what the agent's tools answered, in the order
// they were called.
func (s *stage) say(text string) []*troupe.ToolReturned {
	s.t.Helper()
	var calls []string
	answers := map[string]*troupe.ToolReturned{}
	for e, err := range s.engine.Run(s.t.Context(), s.agent, troupe.Input{Session: s.session, Text: text}) {
		if err != nil {
			s.t.Fatal(err)
		}
		s.session = e.Session
		switch body := e.Body.(type) {
		case *troupe.ToolCalled:
			if e.Parent == "" {
				calls = append(calls, body.CallID)
			}
		case *troupe.ToolReturned:
			answers[body.CallID] = body
		}
	}
	var results []*troupe.ToolReturned
	for _, id := range calls {
		results = append(results, answers[id])
	}
	return results
}

// object decodes a tool's result.
func object(t testing.TB, r *troupe.ToolReturned) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.Content), &v); err != nil {
		t.Fatalf("%s returned %s: %v", r.Tool, r.Content, err)
	}
	return v
}

func contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

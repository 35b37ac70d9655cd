package project_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// objects is as much of an object store as files need. A real one is asked in test/sdks.
type objects struct {
	*httptest.Server
	mu   sync.Mutex
	kept map[string][]byte
}

func serveObjects(t *testing.T) *objects {
	t.Helper()
	o := &objects{kept: map[string][]byte{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		switch content, ok := o.kept[r.URL.Path]; {
		case !strings.Contains(r.Header.Get("Authorization"), "Credential=ann/"):
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodPut:
			o.kept[r.URL.Path], _ = io.ReadAll(r.Body)
		case r.Method == http.MethodDelete:
			delete(o.kept, r.URL.Path)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(o.Close)
	return o
}

// keys are the environment of somebody who may use the bucket.
func keys(name string) (string, bool) {
	value, ok := map[string]string{"AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
	return value, ok
}

// What an agent saves by way of one server is in the bucket, and another server shows it.
func TestFilesAreSharedByWayOfABucket(t *testing.T) {
	store, database := serveObjects(t), postgrestest.Start(t)
	address := database.Schema()
	f := &fleet{t: t}
	for range 2 {
		dir := t.TempDir()
		if _, _, err := project.Init(dir); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, project.Name)
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, fmt.Appendf(text, "\nstore: %s\nfiles: s3://files/troupe?endpoint=%s\n", address, url.QueryEscape(store.URL)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.start(dir, project.Options{Model: "rehearsal", LookupEnv: keys})
	}
	f.ask("POST", "/api/sessions", `{"agent":"mira"}`)
	for _, text := range []string{"*decide", "a", "b", "c", "d"} {
		if answer := f.ask("POST", "/api/sessions/{id}/messages", fmt.Sprintf(`{"text":%q}`, text)); !strings.HasPrefix(answer, "202") {
			t.Fatal(answer)
		}
		f.settle()
	}
	f.ask("GET", "/api/sessions/{id}/files", "")
	one, two := f.ask("GET", "/api/sessions/{id}/files/{file}", ""), f.ask("GET", "/api/sessions/{id}/files/{file}", "")
	if f.file == "" || one != two || !strings.HasPrefix(one, "200") {
		t.Errorf("%s:\none server answers %s\nthe other          %s", f.file, one, two)
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if len(store.kept) == 0 {
		t.Error("the bucket is empty")
	}
}

// What is wrong with files is said in one line that says what to do.
func TestWrongFilesAreSaid(t *testing.T) {
	for files, want := range map[string]string{
		"elsewhere":  "store, directory or s3://BUCKET/PREFIX",
		"s3://files": "set store as well",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, project.Name), fmt.Appendf(nil, "model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nfiles: %s\n", files), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := project.Open(dir, project.Options{LookupEnv: keys})
		if err == nil {
			_, err = p.Engine(t.Context())
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", files, err)
		}
	}
}

// What belongs to sessions goes along from one store to another, and back on another machine.
func TestFilesGoAlongWithACopy(t *testing.T) {
	address := postgrestest.Start(t).Schema()
	const session = "00000000-0000-4000-8000-000000000001"
	copied := func(dir, from, to string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, project.Name), []byte("model: rehearsal\nagents: {clerk: {instructions: You answer.}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := project.Open(dir, project.Options{LookupEnv: keys})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		target, err := p.OpenPlace(t.Context(), to, false)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		source, err := p.OpenPlace(t.Context(), from, false)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		if err := p.CopyFiles(t.Context(), source, target, []string{session}); err != nil {
			t.Fatal(err)
		}
		return p.DataDir()
	}
	here, there := t.TempDir(), t.TempDir()
	for _, name := range []string{"agent-outputs/" + session + "/sub/plan.md", "documents/prd.md"} {
		full := filepath.Join(here, "data", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte("a plan"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copied(here, "sqlite:one.db", address)
	data := copied(there, address, "sqlite:two.db")
	for _, name := range []string{"agent-outputs/" + session + "/sub/plan.md", "documents/prd.md"} {
		if got, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(name))); err != nil || string(got) != "a plan" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

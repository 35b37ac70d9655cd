package doctor_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/project/internal/models"
)

const canary = "canary-key-19ab"

func TestAProvidersAnswerIsExplained(t *testing.T) {
	const list = `{"data":[{"id":"small"},{"id":"large:latest"}]}`
	for _, test := range []struct {
		model, body string
		status      int
		want        doctor.Status
		message     string
		fix         string
		key         doctor.KeyState
	}{
		{"small", list, 200, doctor.OK, "answers and has small", "", ""},
		{"large", list, 200, doctor.OK, "answers and has large", "", ""},
		{"smal", list, 200, doctor.Warning, "does not list smal among its 2 models", "did you mean small?", ""},
		{"small", "\n<!doctype html><title>Welcome</title>", 200, doctor.Warning, "answers with a web page", "check providers.local.base_url in troupe.yaml: most end in /v1", ""},
		{"small", "<html>" + strings.Repeat("x", 4096), 200, doctor.Warning, "answers with a web page", "base_url", ""},
		{"small", "{}", 200, doctor.OK, "answers", "", ""},
		{"small", "", 200, doctor.OK, "answers", "", ""},
		{"small", "", 404, doctor.OK, "lists no models (404)", "", ""},
		{"small", "", 302, doctor.OK, "lists no models (302)", "", ""},
		{"small", canary, 401, doctor.Broken, "refuses the key in MY_KEY (401)", "put a valid key into MY_KEY", doctor.KeyRefused},
		{"small", canary, 403, doctor.Broken, "refuses the key in MY_KEY (403)", "put a valid key into MY_KEY", doctor.KeyDenied},
		{"small", "", 503, doctor.Warning, "an error of its own (503)", "try again later", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+canary {
				t.Errorf("asked for %s with %q", r.URL.Path, r.Header.Get("Authorization"))
			}
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		}))
		c := doctor.Provider(t.Context(), models.Endpoint{
			Provider: "local", Model: test.model, BaseURL: server.URL + "/v1?key=" + canary, KeyEnv: "MY_KEY", Key: openai.Secret(canary),
		})
		server.Close()
		if c.Status != test.want || !strings.Contains(c.Message, test.message) || !strings.Contains(c.Fix, test.fix) || c.Key != test.key {
			t.Errorf("%d: %+v", test.status, c)
		}
		if strings.Contains(fmt.Sprintf("%+v", c), canary) {
			t.Errorf("%d: the key is in %+v", test.status, c)
		}
	}
}

func TestAServerThatIsNotThereIsExplained(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c := doctor.Provider(t.Context(), models.Endpoint{Provider: "local", BaseURL: "http://user:" + canary + "@" + address + "/v1"})
	if c.Status != doctor.Broken || !strings.Contains(c.Message, "nothing listens at "+address) || !strings.Contains(c.Fix, "is the server running?") {
		t.Errorf("%+v", c)
	}
	first := c
	c = doctor.Provider(t.Context(), models.Endpoint{Provider: "openai", BaseURL: "http://" + address + "/v1", URLEnv: "OPENAI_BASE_URL"})
	if !strings.HasSuffix(c.Fix, "check OPENAI_BASE_URL") {
		t.Errorf("%+v", c)
	}
	c = doctor.Provider(t.Context(), models.Endpoint{Provider: "ollama", BaseURL: "http://" + address})
	if !strings.Contains(c.Fix, "'ollama serve' starts it") {
		t.Errorf("%+v", c)
	}
	if strings.Contains(fmt.Sprintf("%+v", first), canary) {
		t.Errorf("the password is in %+v", first)
	}
}

func TestAnAddressWithoutItsVersionIsSaidToBe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, base := range []string{"/api", "/api/"} {
		c := doctor.Provider(t.Context(), models.Endpoint{Provider: "local", Model: "m", BaseURL: server.URL + base})
		if c.Status != doctor.Broken || !strings.HasSuffix(c.Message, "and models at "+host+"/api/v1") || c.Fix != "add /v1 to providers.local.base_url in troupe.yaml" {
			t.Errorf("%+v", c)
		}
	}
	if c := doctor.Provider(t.Context(), models.Endpoint{Provider: "local", Model: "m", BaseURL: server.URL + "/api/v1"}); c.Status != doctor.OK {
		t.Errorf("%+v", c)
	}
	if c := doctor.Provider(t.Context(), models.Endpoint{Provider: "local", Model: "m", BaseURL: server.URL + "/other"}); c.Status != doctor.OK {
		t.Errorf("%+v", c) // not every server lists its models
	}
}

func TestAModelThatIsNotInstalledIsSaidToBe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"qwen3:8b"}]}`)
	}))
	defer server.Close()
	c := doctor.Provider(t.Context(), models.Endpoint{Provider: "ollama", Model: "llama3.2", BaseURL: server.URL})
	if c.Status != doctor.Warning || !strings.HasPrefix(c.Fix, "'ollama pull llama3.2' gets it; or choose another model") {
		t.Errorf("%+v", c)
	}
}

func TestADirectoryIsTriedAndLeftAsItWas(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(dir)
	for path, want := range map[string]doctor.Status{
		dir: doctor.OK, filepath.Join(dir, "new", "deep"): doctor.OK, file: doctor.Broken, filepath.Join(file, "x"): doctor.Broken,
	} {
		if c := doctor.Directory("data", path, "data"); c.Status != want || (c.Fix == "") != (want == doctor.OK) {
			t.Errorf("%s: %+v", path, c)
		}
	}
	if os.Getuid() != 0 {
		if c := doctor.Directory("data", closed, "data"); c.Status != doctor.Broken {
			t.Errorf("a closed directory: %+v", c)
		}
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
}

// What a key has to do with it is data: the name of a host may hold any word.
func TestAProviderIsNotAboutItsKeyBecauseOfItsName(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close() // nothing listens there from now on
	if c := doctor.Provider(t.Context(), models.Endpoint{Provider: "key", BaseURL: "http://refuses-the-key.localhost:" + port + "/v1", KeyEnv: "MY_KEY"}); c.Status != doctor.Broken || c.Key != "" {
		t.Errorf("%+v", c)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	if c := doctor.Provider(t.Context(), models.Endpoint{Provider: "local", BaseURL: server.URL + "/v1"}); c.Key != doctor.KeyWanted {
		t.Errorf("%+v", c)
	}
}

package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A house is a running server and its project.
type house struct {
	dir  string
	link string
	said *whispers
}

// whispers are what a server says beside its link.
type whispers struct {
	mu   sync.Mutex
	text strings.Builder
	more sync.Cond
}

func (s *whispers) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Broadcast()
	return s.text.Write(p)
}

func (s *whispers) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// listens is where a server listens that is reached elsewhere.
func (h *house) listens() string {
	h.said.mu.Lock()
	defer h.said.mu.Unlock()
	for {
		if _, after, _ := strings.Cut(h.said.text.String(), "It listens on "); strings.Contains(after, ".\n") {
			address, _, _ := strings.Cut(after, ".\n")
			return address
		}
		h.said.more.Wait()
	}
}

// configuration is a project of plain agents whose model is the test's.
const configuration = `model: stub/stub-1
providers: {stub: {base_url: URL, models: {stub-1: {price: {input: 2, output: 8}}}}}
limits: {model_tries: 1, tool_timeout: 30s}
agents:
  clerk: {instructions: You are the clerk., description: Files what you bring., skills: false, tools: [write_file, read_file]}
  critic: {instructions: You are the critic., description: Finds what is missing., skills: false, tools: []}
flows:
  review: {description: "First the clerk, then the critic.", sequence: [clerk, critic]}
approve:
  - {tool: write_file, where: {file_path: "*guarded*"}, do: ask}
pipeline:
  approve: manual
  phases:
    - {name: legal, title: Lawyer, task: Say which licences are involved., path: "specs/legal.md", schema: legal.json, critical: [verdict]}
    - {name: finance, title: Accountant, task: Say what it costs., path: "specs/finance.md", schema: legal.json, critical: [verdict]}
`

const legalSchema = `{"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}`

// rehearse opens the project that troupe init writes. Its model is a rehearsal.
func rehearse(t *testing.T) *house {
	t.Helper()
	dir := project(t, nil)
	troupe(t, dir, "-q", "init")
	return serve(t, dir)
}

// play opens a project whose model is the test's.
func play(t *testing.T, m *model) *house {
	t.Helper()
	return serve(t, project(t, map[string]string{
		"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1),
		"legal.json":  legalSchema,
	}))
}

// project writes files into a directory.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	if program == "" {
		t.Skip("chromium is not installed: run make setup")
	}
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command is troupe in a directory, with nothing of the machine's keys around it.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, append([]string{"-C", dir}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "TROUPE_LOOK_FOR_OLLAMA=no"}
	return c
}

func troupe(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := command(t.Context(), dir, args...).CombinedOutput(); err != nil {
		t.Fatalf("troupe %v: %v\n%s", args, err, out)
	}
}

// serve runs the server until the test ends, and then stops it as a person would.
func serve(t *testing.T, dir string) *house {
	t.Helper()
	h, _ := serveUntil(t, dir)
	return h
}

// serveUntil serves a project until it is told to stop, or killed.
func serveUntil(t *testing.T, dir string, flags ...string) (*house, func(with os.Signal)) {
	t.Helper()
	c := command(context.Background(), dir, append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	c.WaitDelay = 15 * time.Second
	said := &whispers{}
	said.more.L = &said.mu
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var stopped sync.Once
	stop := func(with os.Signal) {
		stopped.Do(func() {
			c.Process.Signal(with)
			late := time.AfterFunc(15*time.Second, func() { c.Process.Kill() })
			defer late.Stop()
			c.Wait() // it was told to stop, and how it did is no matter of the page
		})
	}
	t.Cleanup(func() {
		stop(os.Interrupt)
		if t.Failed() {
			t.Logf("the server said:\n%s", said)
		}
	})
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server prints no link: %v", err)
	}
	return &house{dir: dir, link: strings.TrimSpace(link), said: said}, stop
}

// try sends a request to the server as a program would, and returns the answer once it
// is complete.
func (h *house) try(t *testing.T, method, path string, body any) (status int, answer string) {
	t.Helper()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		content = bytes.NewReader(data)
	}
	origin, token, _ := strings.Cut(h.link, "/#token=")
	request, err := http.NewRequestWithContext(t.Context(), method, origin+path, content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(data)
}

// post sends a request that must succeed.
func (h *house) post(t *testing.T, path string, body any) string {
	t.Helper()
	return h.must(t, "POST", path, body)
}

// get asks for something that must be there.
func (h *house) get(t *testing.T, path string) string {
	t.Helper()
	return h.must(t, "GET", path, nil)
}

func (h *house) must(t *testing.T, method, path string, body any) string {
	t.Helper()
	status, answer := h.try(t, method, path, body)
	if status < 200 || status > 299 {
		t.Errorf("%s %s: %d: %s", method, path, status, answer)
	}
	return answer
}

// eventually waits until something outside the page has come about, and says why it has
// not where it does not.
func eventually(t *testing.T, holds func() error) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for begun := time.Now(); ; <-again.C {
		err := holds()
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			t.Fatal(err)
		}
	}
}

// read returns a file of the project.
func (h *house) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

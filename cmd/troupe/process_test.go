package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/project"
)

// newProject writes a project whose model server is at url.
func newProject(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	yaml := "model: local/m\nproviders: {local: {base_url: \"" + url + "/v1\", key_env: CANARY}}\nlimits: {model_tries: 1}\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A process is a running troupe.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// start starts troupe in a directory, with nothing in its environment but what is given.
func start(t *testing.T, dir string, env []string, in io.Reader, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, "troupe", args...)}
	p.Dir, p.Stdin, p.Stdout, p.Stderr = dir, in, &p.out, &p.err
	p.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "HOME=/no-home", "GORACE=" + hurry, "TROUPE_LOOK_FOR_OLLAMA=no"}, env...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// code waits for the end and returns the exit code.
func (p *process) code() int {
	p.Wait() // how it ended is in the state
	return p.ProcessState.ExitCode()
}

// A stalling server sends the beginning of an answer and no more.
func stallingServer(t *testing.T) (url string, reached <-chan struct{}) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"The beginning"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case asked <- struct{}{}:
		default: // it was told before
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestASignalEndsTheRunAndSaysSo(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		url, reached := stallingServer(t)
		dir := newProject(t, url)
		p := start(t, dir, []string{"CANARY=k"}, nil, "run", "mira", "go")
		<-reached
		p.Process.Signal(signal)
		if code := p.code(); code != exitInterrupted {
			t.Errorf("%v: exit code %d\n%s", signal, code, &p.err)
		}
		if p.out.Len() > 0 || !strings.Contains(p.err.String(), "troupe: interrupted") {
			t.Errorf("%v: stdout %q, stderr %q", signal, &p.out, &p.err)
		}
		manifests, _ := filepath.Glob(filepath.Join(dir, "data", "agent-outputs", "*", "manifest.json"))
		if len(manifests) != 1 {
			t.Fatalf("%v: manifests %v", signal, manifests)
		}
		if how := "'troupe sessions resume " + filepath.Base(filepath.Dir(manifests[0])) + "' goes on"; !strings.Contains(p.err.String(), how) {
			t.Errorf("%v: it does not say how to go on: %s", signal, &p.err)
		}
		if manifest, _ := os.ReadFile(manifests[0]); !strings.Contains(string(manifest), `"status": "cancelled"`) {
			t.Errorf("%v: manifest %s", signal, manifest)
		}
	}
}

func TestWaitingForALineCanBeInterrupted(t *testing.T) {
	lines, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	url, reached := stallingServer(t)
	p := start(t, newProject(t, url), []string{"CANARY=k"}, lines, "chat", "mira")
	lines.Close()
	fmt.Fprintln(open, "hello")
	<-reached
	p.Process.Signal(os.Interrupt)
	if code := p.code(); code != exitInterrupted {
		t.Errorf("exit code %d\n%s", code, &p.err)
	}
}

// A key is in no output and no file, not even if the server sends it back.
func TestAKeyIsNowhereToBeSeen(t *testing.T) {
	const canary = "canary-5b0e7c41d9"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canary {
			t.Errorf("%s %s came without the key", r.Method, r.URL)
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, canary)
	}))
	defer server.Close()
	dir := newProject(t, server.URL)
	env := []string{"CANARY=" + canary, "OPENAI_API_KEY=" + canary, "GROQ_API_KEY=" + canary}
	for _, line := range []string{
		"agents", "agents --json", "agents show mira --prompt", "lint", "rehearse mira decide --json", "doctor", "doctor --json",
		"chat mira -m hello", "chat mira -m hello --json --log-level debug", "run bruno hello", "sessions list --json", "version --json",
		"chat mira -m hello --model openai/", "chat mira -m hello --model nobody/x", "-C nowhere doctor",
	} {
		p := start(t, dir, env, nil, strings.Fields(line)...)
		code := p.code()
		if strings.Contains(p.out.String()+p.err.String(), canary) {
			t.Errorf("troupe %s shows the key:\n%s%s", line, &p.out, &p.err)
		}
		if strings.HasPrefix(line, "chat mira -m hello") && (code != exitFailed || p.err.Len() == 0) {
			t.Errorf("troupe %s: exit code %d, stderr %q", line, code, &p.err)
		}
	}
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if content, _ := os.ReadFile(path); bytes.Contains(content, []byte(canary)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
}

func TestNothingButJSONIsOnStandardOutputWhateverFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p := start(t, newProject(t, server.URL), []string{"CANARY=k"}, strings.NewReader("hello\n"), "chat", "mira", "--json", "--log-level", "debug")
	if code := p.code(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for line := range strings.Lines(p.out.String()) {
		if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}\n") {
			t.Errorf("on standard output: %q", line)
		}
	}
	if !strings.Contains(p.out.String(), `"kind":"run_failed"`) || !strings.Contains(p.err.String(), "'troupe doctor' may know why.") {
		t.Errorf("stdout %s\nstderr %s", &p.out, &p.err)
	}
}

func TestALineThatIsTooLongIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, strings.NewReader("hello\n"+strings.Repeat("x", maxLine+1)), "chat", "mira")
	if code := p.code(); code != exitFailed || !strings.Contains(p.err.String(), "line 2 of standard input has more than 4 MiB") {
		t.Errorf("exit code %d, stderr %s", code, &p.err)
	}
}

// Files and devices are standard input like pipes and terminals, and a line may be long.
func TestChatReadsItsLinesFromAnything(t *testing.T) {
	dir := write(t, "agents: {clerk: {instructions: You repeat.}}\n")
	file := filepath.Join(t.TempDir(), "questions.txt")
	if err := os.WriteFile(file, []byte("first question\n\nsecond "+strings.Repeat("long ", 300_000)+"\nlast one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{file: 3, os.DevNull: 0} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p := start(t, dir, nil, f, "chat", "clerk")
		if code := p.code(); code != exitDone || strings.Count(p.out.String(), "I understood") != want {
			t.Errorf("< %s: exit code %d, %d answers\n%s", name, code, strings.Count(p.out.String(), "I understood"), &p.err)
		}
		f.Close()
	}
}

func TestASessionIsShownByTheBeginningOfItsID(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, strings.NewReader("*decide\na\nb\nc\nd\n"), "-q", "chat", "mira")
	if code := p.code(); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "data", "agent-outputs", "*", "decision-*.md"))
	if len(files) != 1 {
		t.Fatalf("saved: %v", files)
	}
	id := filepath.Base(filepath.Dir(files[0]))
	p = start(t, dir, nil, nil, "sessions", "show", id[:8])
	saved, _ := filepath.Rel(dir, files[0])
	if code := p.code(); code != exitDone || !strings.Contains(p.out.String(), "session   "+id) || !strings.Contains(p.out.String(), "file      "+saved) {
		t.Errorf("exit code %d:\n%s%s", code, &p.out, &p.err)
	}
	p = start(t, dir, nil, nil, "sessions", "show", id, "--json")
	if code := p.code(); code != exitDone || !strings.Contains(p.out.String(), `"session_id": "`+id+`"`) {
		t.Errorf("exit code %d:\n%s%s", code, &p.out, &p.err)
	}
}

func TestLogLinesWaitWhileTheScreenIsInUse(t *testing.T) {
	var to bytes.Buffer
	l := heldLog{to: &to}
	fmt.Fprintln(&l, "before")
	l.hold()
	fmt.Fprintln(&l, "during")
	if to.String() != "before\n" {
		t.Errorf("written: %q", &to)
	}
	l.release()
	fmt.Fprintln(&l, "after")
	if to.String() != "before\nduring\nafter\n" {
		t.Errorf("written: %q", &to)
	}
}

func TestAPanicIsOneLineAndAFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var err bytes.Buffer
	p := &program{err: &err}
	crash := func() (code int) {
		defer p.reportPanic(&code)
		panic("oops")
	}
	if code := crash(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	line := err.String()
	_, file, found := strings.Cut(strings.TrimSpace(line), "where it happened is in ")
	if !found || strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "troupe: panic: oops; ") {
		t.Fatalf("stderr %q", line)
	}
	if stack, err := os.ReadFile(file); err != nil || !strings.Contains(string(stack), "process_test.go") {
		t.Errorf("%s: %s, %v", file, stack, err)
	}
	err.Reset()
	p.flags.logLevel = "debug"
	crash()
	if !strings.Contains(err.String(), "process_test.go") {
		t.Errorf("stderr %q", &err)
	}
}

func TestExitCodesMeanWhatTheySay(t *testing.T) {
	for err, want := range map[error]int{
		nil: 0, errors.New("x"): 1, errBroken: 1, usage("x"): 2, errFindings: 3, errInput: 4, errInterrupted: 130,
	} {
		if got := exitCode(t.Context(), err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	if got := exitCode(ctx, errors.New("a consequence")); got != exitInterrupted {
		t.Errorf("after an interruption: %d", got)
	}
}

// What is sent may be somebody else's text: it is shown without what a terminal obeys.
func TestAMessageIsEchoedWithoutControlCharacters(t *testing.T) {
	p := start(t, newProject(t, "http://127.0.0.1:1"), nil, nil, "--model", "rehearsal", "chat", "mira", "-m", "a\u009b31m\u202eb")
	p.code()
	if shown := p.err.String(); !strings.Contains(shown, "› a31mb") || strings.ContainsAny(shown, "\u009b\u202e") {
		t.Errorf("shown is %q", shown)
	}
}

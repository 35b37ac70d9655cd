package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// Each guide is followed by a reader who does what it says and nothing else: files that
// have a title are saved, and commands are typed one after the other in one shell. What
// a guide says of a command's output is there.
func TestGuidesAreFollowedCommandByCommand(t *testing.T) {
	guides, err := filepath.Glob(filepath.Join(repository, "docs", "guides", "*.md"))
	if err != nil || len(guides) < 6 {
		t.Fatalf("%v %v", guides, err)
	}
	for _, guide := range guides {
		t.Run(strings.TrimSuffix(filepath.Base(guide), ".md"), func(t *testing.T) {
			t.Parallel()
			followGuide(t, guide, t.TempDir())
		})
	}
}

// Each of the example projects does what its README says, with no key.
func TestExampleProjectsDoWhatTheySay(t *testing.T) {
	guides, err := filepath.Glob(filepath.Join(repository, "examples", "projects", "*", "README.md"))
	if err != nil || len(guides) < 10 {
		t.Fatalf("%v %v", guides, err)
	}
	for _, guide := range guides {
		t.Run(filepath.Base(filepath.Dir(guide)), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(guide))); err != nil {
				t.Fatal(err)
			}
			followGuide(t, guide, dir)
		})
	}
}

var (
	fence = regexp.MustCompile("(?ms)^```([a-z]+)(?: title=(\\S+))?\n(.*?)^```$")
	mark  = regexp.MustCompile(`(?m)^--command (\d+) (\d+)--$`)
)

// A typed command of a guide, and the lines that it is said to write.
type typed struct {
	command string
	says    []string
}

func followGuide(t *testing.T, guide, dir string) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	var script strings.Builder
	script.WriteString("exec 2>&1\n")
	var all []typed
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		language, title, content := block[1], block[2], strings.ReplaceAll(block[3], "7717", port)
		switch {
		case title != "":
			fmt.Fprintf(&script, "mkdir -p \"$(dirname %[1]s)\"; cat > %[1]s <<'END_OF_FILE'\n%[2]sEND_OF_FILE\n", title, content)
		case language == "console":
			for line := range strings.Lines(content) {
				line = strings.TrimSuffix(line, "\n")
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					all = append(all, typed{command: command})
					fmt.Fprintf(&script, "%s\ncode=$?; echo; echo \"--command %d $code--\"\n", command, len(all)-1)
				} else if line != "" && line != "..." {
					all[len(all)-1].says = append(all[len(all)-1].says, line)
				}
			}
		default:
			t.Errorf("a block of %s that nobody reads", language)
		}
	}
	output := typeAll(t, dir, script.String())
	from := 0
	for i, at := range mark.FindAllStringSubmatchIndex(output, -1) {
		wrote, code := output[from:at[0]], output[at[4]:at[5]]
		from = at[1]
		if code != "0" {
			t.Errorf("$ %s\nexit code %s\n%s", all[i].command, code, wrote)
		}
		for _, line := range all[i].says {
			if !strings.Contains(wrote, line) {
				t.Errorf("$ %s\ndoes not say %q:\n%s", all[i].command, line, wrote)
			}
		}
		all[i].command = ""
	}
	for _, left := range all {
		if left.command != "" {
			t.Errorf("not reached: $ %s\n%s", left.command, output[from:])
		}
	}
}

// typeAll types a script into a shell of somebody who has a model server, the program,
// and nothing else.
func typeAll(t *testing.T, dir, script string) string {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	work := filepath.Join(t.TempDir(), "go.work") // stands for what go get fetches
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home) // which the go command may still write to
	content := fmt.Sprintf("go %s\nuse (\n\t%s\n\t%s\n)\n", strings.TrimPrefix(runtime.Version(), "go"), corpus.ModuleRoot(t), dir)
	if err := os.WriteFile(work, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "\ngo get ", "\nexport GOWORK="+work+"; : "))
	shell.Dir = dir
	shell.Cancel = func() error { return shell.Process.Kill() }
	shell.WaitDelay = time.Minute
	shell.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=" + hurry, "GOCACHE=" + goEnv(t, "GOCACHE"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"), "GOFLAGS=-mod=readonly", "GOTOOLCHAIN=local", "GOWORK=off",
		"OLLAMA_HOST=" + models.URL,
	}
	if strings.Contains(script, "OPENAI_API_KEY") {
		shell.Env = append(shell.Env, "OPENAI_BASE_URL="+models.URL+"/v1", "ANTHROPIC_BASE_URL="+models.URL)
	}
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

func goEnv(t *testing.T, name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// everyProtocol answers as servers of models do, whichever protocol they are asked in.
func everyProtocol(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	send := func(media, text string) {
		w.Header().Set("Content-Type", media)
		io.WriteString(w, text)
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/api/tags"):
		send("application/json", `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":5200000000}]}`)
	case strings.HasSuffix(path, "/api/show"):
		send("application/json", `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`)
	case strings.HasSuffix(path, "/api/chat"):
		send(protocols["ollama"].media, protocols["ollama"].answer)
	case strings.HasSuffix(path, "/models"):
		send("application/json", `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"gpt-4.1-mini"},{"id":"claude-sonnet-5"}]}`)
	case strings.HasSuffix(path, "/messages"):
		send(protocols["messages"].media, protocols["messages"].answer)
	case strings.HasSuffix(path, "/chat/completions"):
		send("text/event-stream", dataEvents(`{"choices":[{"index":0,"delta":{"content":"It rains."},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`, "[DONE]"))
	default:
		http.NotFound(w, r)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// An agency is a model server that plays all agents of a delivery.
type agency struct {
	*httptest.Server
	// play answers for a phase. By default everybody does good work: two steps, a file
	// step1.ok and step2.ok.
	play func(phase, step, prompt string, n int) string

	mu      sync.Mutex
	counts  map[string]int
	prompts []string
	formats map[string]string // how JSON was asked for, by phase
}

type fields = map[string]any

var (
	askedPhase = regexp.MustCompile(`You are a BMAD (\w+) specialist`)
	askedStep  = regexp.MustCompile(`"step": \{\s+"id": "([^"]+)"`)
)

func newAgency(t testing.TB) *agency {
	a := &agency{counts: map[string]int{}, formats: map[string]string{}, play: goodWork}
	a.Server = httptest.NewServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.Close)
	return a
}

func (a *agency) answer(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
		Format   struct{ Type string } `json:"response_format"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&request) != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	prompt, step := "", ""
	for _, m := range request.Messages {
		if m.Role == "user" && askedPhase.MatchString(m.Content) {
			prompt = m.Content
		}
	}
	phase := askedPhase.FindStringSubmatch(prompt)[1]
	if m := askedStep.FindStringSubmatch(prompt); m != nil {
		step = m[1]
	}
	a.mu.Lock()
	n := a.counts[phase+step]
	a.counts[phase+step]++
	a.prompts = append(a.prompts, prompt)
	a.formats[phase] = request.Format.Type
	play := a.play
	a.mu.Unlock()
	text, finish := play(phase, step, prompt, n), "stop"
	delta := fields{"role": "assistant", "content": text}
	if rest, ok := strings.CutPrefix(text, "CUT "); ok {
		delta["content"], finish = rest, "length"
	} else if rest, ok := strings.CutPrefix(text, "CALL "); ok {
		name, arguments, _ := strings.Cut(rest, " ")
		delta = fields{"role": "assistant", "tool_calls": []fields{{"index": 0, "id": fmt.Sprintf("c%d", n), "type": "function", "function": fields{"name": name, "arguments": arguments}}}}
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []fields{
		{"choices": []fields{{"index": 0, "delta": delta}}},
		{"choices": []fields{{"index": 0, "delta": fields{}, "finish_reason": finish}}, "usage": fields{"prompt_tokens": len(prompt) / 4, "completion_tokens": len(text) / 4}},
	} {
		event["object"], event["model"] = "chat.completion.chunk", "m"
		data, _ := json.Marshal(event)
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// plays has the agency answer in another way from now on.
func (a *agency) plays(play func(phase, step, prompt string, n int) string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.play = play
}

// holds counts the prompts that hold all parts.
func (a *agency) holds(parts ...string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.prompts {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(p, part)
		}
		if all {
			n++
		}
	}
	return n
}

// requests counts what was asked.
func (a *agency) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.prompts)
}

// says is an answer of a phase.
func says(phase string, outputs fields, artifacts ...fields) string {
	if artifacts == nil {
		artifacts = []fields{}
	}
	data, _ := json.Marshal(fields{
		"status": "success", "phase": phase, "artifacts": artifacts, "outputs": outputs, "validation": fields{"checks": []string{}, "passed": []string{}, "failed": []string{}},
		"next_phase": fields{"ready": true, "blockers": []string{}, "requirements": []string{}}, "errors": []string{},
	})
	return string(data)
}

func aFile(path, content string) fields {
	return fields{"name": filepath.Base(path), "path": path, "type": "file", "content": content}
}

func aStep(id, title string) fields { return fields{"id": id, "title": title, "goal": title + "."} }

func planned(steps ...fields) string {
	return says("planning", fields{"total_steps": len(steps), "estimated_time": "1h", "complexity": "low", "risk_level": "low", "steps": steps})
}

func builtFiles(artifacts ...fields) string {
	return says("implementation", fields{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}}, artifacts...)
}

func reviewed(verdict string, findings ...fields) string {
	if findings == nil {
		findings = []fields{}
	}
	return says("qa", fields{
		"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}, "verdict": verdict,
		"criteria": []fields{{"id": "AC1", "state": "met", "evidence": "base.ok:1"}}, "findings": findings,
	}, fields{"name": "qa.md", "type": "file", "content": "# QA\n"})
}

func goodWork(phase, step, _ string, _ int) string {
	switch phase {
	case "requirements":
		return says(phase, fields{"user_stories": []string{"As a user I want it"}, "acceptance_criteria": []fields{{"id": "AC1", "text": "It is good", "how": "test"}}, "scope": "MVP", "constraints": []string{}},
			fields{"name": "stories.md", "type": "file", "content": "# Stories\n\nThey speak of a zebra.\n"})
	case "architecture":
		return says(phase, fields{"components": []string{"files"}, "technologies": []string{"sh"}, "patterns": []string{}, "decisions": []string{}}, fields{"name": "a.md", "type": "file", "content": "# Design\n"})
	case "discovery":
		return says(phase, fields{"relevant_files": []fields{{"path": "base.ok", "relevance": "x", "priority": "high"}}, "gkchatty_context": []string{}, "entry_points": []string{}, "dependencies": []string{}}, fields{"name": "d.json", "type": "file", "content": "{}"})
	case "planning":
		return planned(aStep("1", "First"), aStep("2", "Second"))
	case "implementation":
		return builtFiles(aFile("step"+step+".ok", "good\n"))
	}
	return reviewed("accept")
}

// newRepository makes a repository with a project in it whose agents are the agency.
// Its check is that every file *.ok says "good".
func (a *agency) newRepository(t testing.TB) string {
	t.Helper()
	return a.repositoryOf(t, "  # how it is checked\n  checks: [{name: test, run: sh check.sh}]\n", map[string]string{
		"base.ok":  "good\n",
		"check.sh": "for f in *.ok; do grep -qx good \"$f\" || { echo \"$f:1: not good\"; exit 1; }; done; echo \"# tests $(ls *.ok | wc -l)\"\n",
	})
}

// repositoryOf makes a repository of files, with what troupe.yaml has below pipeline.
func (a *agency) repositoryOf(t testing.TB, settings string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files[".gitignore"] = "/data/\n/.cache/\n"
	files["troupe.yaml"] = "# ours\nmodel: local/m\nproviders: {local: {base_url: \"" + a.URL + "/v1\", key_env: CANARY}}\n"
	if settings != "" {
		files["troupe.yaml"] += "pipeline:\n" + settings
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inRepository(t, dir, "git init -q -b main . && git add -A && git commit -qm begin")
	return dir
}

var gitNames = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org"}

func inRepository(t testing.TB, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), gitNames...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// environment is what the program gets in a repository.
func (a *agency) environment(dir string) []string {
	return append([]string{"CANARY=x", "XDG_CACHE_HOME=" + filepath.Join(dir, ".cache")}, gitNames...)
}

// deliveryReport is what --json prints of a delivery.
type deliveryReport struct {
	Success                   bool
	Outcome, ID, Branch, Head string
	Reasons, Claims           []string
	Commits                   []struct{ Step, Commit string }
}

// deliver runs a command in a repository and reads what it prints.
func (a *agency) deliver(t *testing.T, dir string, args ...string) (r deliveryReport, code int) {
	t.Helper()
	p := start(t, dir, a.environment(dir), nil, append([]string{"--json"}, args...)...)
	code = p.code()
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil {
		t.Fatalf("troupe %q: exit %d, %v\n%s\n%s", args, code, err, &p.out, &p.err)
	}
	return r, code
}

package pipeline_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

const request = "Create a simple Todo app, für Zoë!"

// A world has a directory for artifacts, a knowledge base, and a model that answers
// from the prompt alone, so that it says the same whenever it is asked the same.
type world struct {
	t      testing.TB
	output string
	shelf  *shelf
	answer func(phase, prompt string) string

	mu    sync.Mutex
	asked []string // prompts
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, output: t.TempDir(), shelf: newShelf(), answer: goodAnswer}
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() { goleak.VerifyNone(t) })
	}
	return w
}

// config is that of a delivery in this world: of the phases that only think.
func (w *world) config() pipeline.Config {
	return pipeline.Config{Model: w, Knowledge: w.shelf, Output: w.open(w.output), Phases: thinking()}
}

// thinking are the phases that need no repository.
func thinking() []pipeline.Phase {
	return slices.DeleteFunc(pipeline.Six(), func(p pipeline.Phase) bool { return p.Name == "implementation" })
}

// open returns what opens a directory as the output root.
func (w *world) open(dir string) func(string) (*workspace.Workspace, error) {
	ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: "output", Dir: dir, Access: workspace.ReadWrite}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { ws.Close() })
	return func(string) (*workspace.Workspace, error) { return ws, nil }
}

var promptPhase = regexp.MustCompile(`BMAD (\S+) specialist|output of the phase "(\w+)"`)

// Generate implements [troupe.Model].
func (w *world) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		prompt := ""
		for _, m := range req.Messages {
			if m.Role == troupe.RoleUser && !strings.HasPrefix(m.Text, "[Notice]") {
				prompt = m.Text
			}
		}
		w.mu.Lock()
		w.asked = append(w.asked, prompt)
		w.mu.Unlock()
		m := promptPhase.FindStringSubmatch(prompt)
		if m == nil {
			yield(troupe.Chunk{}, fmt.Errorf("a prompt without a phase: %s", prompt))
			return
		}
		text := w.answer(cmp.Or(m[1], m[2]), prompt)
		if failure, ok := strings.CutPrefix(text, "FAIL "); ok {
			yield(troupe.Chunk{}, errors.New(failure))
			return
		}
		finish := troupe.FinishStop
		if cut, ok := strings.CutPrefix(text, "CUT "); ok { // the output limit is reached
			text, finish = cut, troupe.FinishLength
		}
		if yield(troupe.Chunk{Text: text}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: finish, Usage: troupe.Usage{Input: 10, Output: 5}}}, nil)
		}
	}
}

func (w *world) prompts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

// prompt returns the last prompt of a phase.
func (w *world) prompt(phase string) string {
	found := ""
	for _, p := range w.prompts() {
		if strings.Contains(p, "BMAD "+phase+" specialist") {
			found = p
		}
	}
	return found
}

// files returns what is in the output directory.
func (w *world) files() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.output, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.output, path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// A shelf is a knowledge base that counts, and fails as often as it is told to.
type shelf struct {
	mu        sync.Mutex
	documents map[string]knowledge.Document
	uploads   map[string]int // by key
	failing   int
	late      bool // it keeps what it says it could not
	queries   []string
}

func newShelf() *shelf {
	return &shelf{documents: map[string]knowledge.Document{}, uploads: map[string]int{}}
}

func (s *shelf) Upload(_ context.Context, d knowledge.Document) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing > 0 {
		s.failing--
		return errors.New("the knowledge base is down")
	}
	if _, ok := s.documents[d.Key]; !ok { // the same key again is the same as once
		s.uploads[d.Key]++
	}
	s.documents[d.Key] = d
	if s.late {
		return errors.New("no answer in time")
	}
	return nil
}

// Query finds the passages that have all the words, one for each heading.
func (s *shelf) Query(_ context.Context, question string, limit int) ([]knowledge.Passage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries = append(s.queries, question)
	if s.failing > 0 {
		s.failing--
		return nil, errors.New("the knowledge base is down")
	}
	var found []knowledge.Passage
	words := strings.Fields(question)
	for _, d := range s.documents {
		for _, part := range strings.Split(d.Content, "\n## ") {
			if part = "## " + strings.TrimPrefix(part, "## "); strings.Contains(part, "Step "+words[len(words)-1]+":") && len(found) < limit {
				found = append(found, knowledge.Passage{Document: d.Name, Text: part, Score: 1})
			}
		}
	}
	return found, nil
}

// An object is JSON in the making.
type object map[string]any

const plan = "# Plan\n\n## Step 1: Model\n\nWrite the model of <todo> & co.\n\n## Step 2: Page\n\nWrite the page.\n"

// goodAnswer is what a good agent answers.
func goodAnswer(phase, _ string) string { return encode(output(phase)) }

// output is an answer that its contract is content with.
func output(phase string) object {
	outputs := object{}
	document, kind := object{"name": "doc.md", "path": "", "content": "# " + phase + "\n", "type": "file"}, "file"
	switch phase {
	case "requirements":
		outputs = object{"user_stories": []string{"As Zoë I add todos"}, "acceptance_criteria": []string{"it is shown"}, "scope": "MVP", "constraints": []string{"time"}}
	case "architecture":
		outputs = object{"components": []string{"page"}, "technologies": []string{"Go"}, "patterns": []string{"REST"}, "decisions": []object{{"decision": "Go", "rationale": "small"}}}
	case "discovery":
		outputs = object{"relevant_files": []object{{"path": "main.go", "relevance": "entry"}}, "gkchatty_context": []string{}, "entry_points": []string{"main.go"}, "dependencies": []string{}}
	case "planning":
		outputs = object{"total_steps": 2, "estimated_time": "1 hour", "complexity": "low", "risk_level": "low"}
		document["content"], kind = plan, "gkchatty"
	case "implementation":
		outputs = object{"steps_completed": []string{"1"}, "steps_remaining": []string{}, "files_changed": []string{}, "notes": []string{}}
	case "qa":
		outputs = object{"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}}
	}
	document["type"] = kind
	return object{
		"status": "success", "phase": phase, "outputs": outputs, "artifacts": []object{document},
		"validation": object{"checks": []string{}, "passed": []string{}, "failed": []string{}},
		"next_phase": object{"ready": true, "blockers": []string{}, "requirements": []string{}}, "errors": []string{},
	}
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// deliver makes the delivery's step.
func deliver(t testing.TB, c pipeline.Config) troupe.Step {
	t.Helper()
	step, err := pipeline.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func newEngine(t testing.TB, store troupe.Store) *troupe.Engine {
	t.Helper()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// A session is a conversation with a delivery.
type session struct {
	t      testing.TB
	engine *troupe.Engine
	store  troupe.Store
	step   troupe.Step
	id     string
}

// begin runs a step on the request.
func begin(t testing.TB, step troupe.Step, custom map[string]any) (*session, *troupe.RunFinished, error) {
	t.Helper()
	s := &session{t: t, store: troupe.NewMemoryStore(), step: step}
	s.engine = newEngine(t, s.store)
	end, err := s.gather(s.engine.Run(t.Context(), step, troupe.Input{Text: request, Custom: custom}))
	return s, end, err
}

// mustEnd is begin for a delivery that must come to its end.
func mustEnd(t testing.TB, step troupe.Step) (*session, *troupe.RunFinished) {
	t.Helper()
	s, end, err := begin(t, step, nil)
	if err != nil {
		t.Fatal(err)
	}
	if end.Stop != "answered" {
		t.Fatalf("it stopped for %s: %s", end.Stop, end.Output.Summary)
	}
	return s, end
}

func (s *session) say(text string) (*troupe.RunFinished, error) {
	s.t.Helper()
	return s.gather(s.engine.Run(s.t.Context(), s.step, troupe.Input{Session: s.id, Text: text}))
}

func (s *session) gather(events iter.Seq2[troupe.Event, error]) (end *troupe.RunFinished, err error) {
	for e, err := range events {
		if err != nil {
			return end, err
		}
		s.id = e.Session
		if b, ok := e.Body.(*troupe.RunFinished); ok && e.Parent == "" {
			end = b
		}
	}
	return end, nil
}

func (s *session) events() []troupe.Event {
	s.t.Helper()
	return eventsOf(s.t, s.store, s.id)
}

func eventsOf(t testing.TB, store troupe.Store, id string) []troupe.Event {
	t.Helper()
	var list []troupe.Event
	for e, err := range store.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// codes counts the warnings of a session by their codes.
func (s *session) codes() map[string]int {
	found := map[string]int{}
	for _, e := range s.events() {
		if b, ok := e.Body.(*troupe.Warned); ok {
			found[b.Code]++
		}
	}
	return found
}

// result returns what a phase came to.
func (s *session) result(phase string) pipeline.Result {
	s.t.Helper()
	for _, r := range pipeline.Results(s.events()) {
		if r.Phase == phase {
			return r
		}
	}
	s.t.Fatalf("phase %s came to nothing", phase)
	return pipeline.Result{}
}

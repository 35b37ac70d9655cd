package bundle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// An act is one piece of work in a session of its own: an agent, the command it is
// given, what it reads of earlier work, and the document it leaves.
type act struct {
	agent, command string
	reads          []string // names and patterns of documents that must be there
	writes         string
}

// chains lead from the brief to the review of a story, in one tree of each generation.
var chains = map[string][]act{
	"installed-4.44": {
		{"analyst", "*create-project-brief", nil, "docs/brief.md"},
		{"pm", "*create-prd", []string{"docs/brief.md"}, "docs/prd.md"},
		{"architect", "*create-full-stack-architecture", []string{"docs/prd.md"}, "docs/architecture.md"},
		{"po", "*shard-doc", []string{"docs/*prd*.md"}, "docs/prd/epic-1.md"},
		{"sm", "*draft", []string{"docs/prd/epic-1*.md", "docs/architecture.md"}, "docs/stories/1.1.login.md"},
		{"qa", "*review", []string{"docs/stories/1.1.*.md"}, "docs/qa/gates/1.1-login.yml"},
	},
	"installed-6.0.0-alpha.0": {
		{"analyst", "*product-brief", nil, "{output_folder}/product-brief-lantern.md"},
		{"pm", "*plan-project", []string{"{output_folder}/*brief*.md"}, "{output_folder}/PRD.md"},
		{"architect", "*solution-architecture", []string{"{output_folder}/PRD.md"}, "{output_folder}/solution-architecture.md"},
		{"sm", "*create-story", []string{"{project-root}/docs/PRD.md"}, "{dev_story_location}/story-1.1.md"},
		{"dev", "*review", []string{"docs/stories/story-1.1.md"}, "docs/stories/story-1.1.md"},
	},
	"v6-alpha15-compiled": {
		{"analyst", "*product-brief", nil, "{output_folder}/analysis/product-brief-lantern.md"},
		{"pm", "*create-prd", []string{"{output_folder}/analysis/*brief*.md"}, "{output_folder}/prd.md"},
		{"architect", "*create-architecture", []string{"{output_folder}/*prd*.md"}, "{output_folder}/architecture.md"},
		{"pm", "*create-epics-and-stories", []string{"docs/architecture.md"}, "docs/epics.md"},
		{"sm", "*create-story", []string{"{output_folder}/*epic*.md"}, "{sprint_artifacts}/1-1-login.md"},
		{"dev", "*code-review", []string{"{sprint_artifacts}/1-1-*.md"}, "{sprint_artifacts}/1-1-login.md"},
	},
	"installed-6.0.4": planned("CP", "CA", "CE", "CS", "CR", "analyst", "pm", "architect", "sm", "dev"),
	"installed-6.1.0": planned("CP", "CA", "CE", "CS", "CR", "analyst", "pm", "architect", "sm", "dev"),
	"installed-6.2.2": planned("CP", "CA", "CE", "CS", "CR", "Mary", "John", "Winston", "Bob", "Amelia"),
	"installed-6.3.0": planned("CP", "CA", "CE", "CS", "CR", "Mary", "John", "Winston", "Amelia", "Amelia"),
	"installed-6.5.0": planned("CP", "CA", "CE", "CS", "CR", "Mary", "John", "Winston", "Amelia", "Amelia"),
	"installed-6.12.0": {
		{"Mary", "CB", nil, "{planning_artifacts}/briefs/brief-lantern/brief.md"},
		{"John", "PRD", []string{"{planning_artifacts}/**/*brief*.md"}, "{planning_artifacts}/prds/prd-lantern/prd.md"},
		{"Winston", "CA", []string{"{planning_artifacts}/**/prd.md"}, "{planning_artifacts}/architecture/lantern/ARCHITECTURE-SPINE.md"},
		{"John", "CE", []string{"{planning_artifacts}/**/*SPINE*.md"}, "{planning_artifacts}/epics.md"},
		{"Amelia", "BD", []string{"{planning_artifacts}/epics.md"}, "{implementation_artifacts}/spec-login.md"},
		{"Amelia", "CR", []string{"{implementation_artifacts}/spec-*.md"}, "{implementation_artifacts}/spec-login.md"},
	},
}

// planned is the chain of the versions that have planning and implementation artifacts.
func planned(prd, architecture, epics, story, review, analyst, pm, architect, sm, dev string) []act {
	return []act{
		{analyst, "CB", nil, "{planning_artifacts}/product-brief-lantern.md"},
		{pm, prd, []string{"{planning_artifacts}/*brief*.md"}, "{planning_artifacts}/prd.md"},
		{architect, architecture, []string{"{planning_artifacts}/*prd*.md"}, "{planning_artifacts}/architecture.md"},
		{pm, epics, []string{"{planning_artifacts}/architecture.md"}, "{planning_artifacts}/epics.md"},
		{sm, story, []string{"{planning_artifacts}/*epic*.md"}, "{implementation_artifacts}/1-1-login.md"},
		{dev, review, []string{"{implementation_artifacts}/1-1-*.md"}, "{implementation_artifacts}/1-1-login.md"},
	}
}

// A player is a model that works as models do: it looks for files that may not be there,
// loads what its command names, follows step files by the names that stand in them, saves,
// and reads back what it saved in the same turn.
type player struct {
	t     *testing.T
	act   act
	steps int // step files that were read
	// failed are the calls that had to work and did not.
	failed []string
	asked  map[string]string // by call id: what had to work
	last   string            // the text that was read last
	stage  int
	opened bool
	// deep says whether the command led to a file of instructions.
	deep bool
	// followed are the step files that were read, by the names they were read by.
	followed []string
}

func (p *player) Generate(_ context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		calls, text := p.reply(req)
		for i := range calls {
			if !yield(troupe.Chunk{Call: &calls[i]}, nil) {
				return
			}
		}
		finish := troupe.FinishCalls
		if len(calls) == 0 {
			finish = troupe.FinishStop
			if !yield(troupe.Chunk{Text: text}, nil) {
				return
			}
		}
		yield(troupe.Chunk{End: &troupe.End{Finish: finish}}, nil)
	}
}

func (p *player) call(needed, tool string, arguments map[string]any) troupe.ToolCall {
	data, err := json.Marshal(arguments)
	if err != nil {
		p.t.Fatal(err)
	}
	id := fmt.Sprintf("c%d-%d", p.stage, len(p.asked))
	p.asked[id] = needed
	return troupe.ToolCall{ID: id, Name: tool, Arguments: string(data)}
}

// hear takes down the results of the calls of the turn before.
func (p *player) hear(req *troupe.Request) {
	for _, m := range req.Messages {
		needed, open := p.asked[m.CallID]
		if m.Role != troupe.RoleTool || !open {
			continue
		}
		delete(p.asked, m.CallID)
		var result struct {
			Success               bool
			Content, Instructions string
			Template              string
			Entries               []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(m.Text), &result); err != nil {
			p.failed = append(p.failed, needed+": "+m.Text)
			continue
		}
		switch {
		case needed == "":
			continue // a probe
		case !result.Success:
			p.failed = append(p.failed, needed+": "+m.Text)
		case strings.HasPrefix(needed, "list ") && len(result.Entries) == 0:
			p.failed = append(p.failed, needed+" matches nothing")
		case strings.HasPrefix(needed, "back ") && result.Content != p.document():
			p.failed = append(p.failed, needed+": read back "+result.Content)
		case strings.HasPrefix(needed, "follow "):
			p.last = result.Content + result.Instructions
		}
	}
}

func (p *player) document() string { return "# " + p.act.agent + " " + p.act.command + "\n" }

// nextStep is a step file that a text names, and frontMatterStep the one above a text.
var (
	nextStep        = regexp.MustCompile("(?:^|[\\s`'\"(])((?:\\{[\\w-]+\\}/|\\.{1,2}/)?[\\w./-]*step-\\w[\\w-]*\\.md|\\./workflow\\.md)")
	frontMatterStep = regexp.MustCompile(`(?m)^nextStepFile: *['"]?([^'"\s]+)`)
)

// next returns the step that a text leads to, as it is written there.
func (p *player) next() string {
	if m := frontMatterStep.FindStringSubmatch(p.last); m != nil && !slices.Contains(p.followed, m[1]) {
		return m[1]
	}
	for _, m := range nextStep.FindAllStringSubmatch(p.last, -1) {
		if !slices.Contains(p.followed, m[1]) {
			return m[1]
		}
	}
	return ""
}

const maxSteps = 3

func (p *player) reply(req *troupe.Request) ([]troupe.ToolCall, string) {
	p.hear(req)
	p.stage++
	switch {
	case !p.opened:
		p.opened = true
		probes := []troupe.ToolCall{
			p.call("", "read_file", map[string]any{"file_path": "{project-root}/docs/nothing.md"}),
			p.call("", "read_file", map[string]any{"file_path": "project-context.md"}),
			p.call("", "list_files", map[string]any{"path": "{project-root}/docs/none"}),
			p.call("", "read_file", map[string]any{"file_path": "../nowhere/else.md", "limit": nil}),
		}
		return append(probes, p.target(req)...), ""
	case p.steps < maxSteps && p.next() != "":
		name := p.next()
		p.last = ""
		p.steps++
		p.followed = append(p.followed, name)
		return []troupe.ToolCall{p.call("follow "+name, "read_file", map[string]any{"file_path": name})}, ""
	case p.steps < 100:
		p.steps = 100
		var calls []troupe.ToolCall
		for _, name := range p.act.reads {
			tool, key, what := "read_file", "file_path", "read "
			if strings.Contains(name, "*") {
				tool, key, what = "list_files", "path", "list "
			}
			calls = append(calls, p.call(what+name, tool, map[string]any{key: name}))
		}
		return append(calls, p.call("save "+p.act.writes, "save_output", map[string]any{"file_path": p.act.writes, "content": p.document()})), ""
	case p.steps == 100:
		p.steps++
		return []troupe.ToolCall{p.call("back "+p.act.writes, "read_file", map[string]any{"file_path": p.act.writes})}, ""
	}
	return nil, "Done."
}

// target asks for what the prompt says of the command.
func (p *player) target(req *troupe.Request) []troupe.ToolCall {
	prompt := ""
	for _, m := range req.Messages {
		if m.Role == troupe.RoleSystem {
			prompt += m.Text + "\n"
		}
	}
	name := strings.TrimPrefix(p.act.command, "*")
	lines := strings.Split(prompt, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "*"+name) && !strings.Contains(line, "("+name+") - ") || !strings.HasPrefix(line, "*") {
			continue
		}
		for _, below := range lines[i+1:] {
			if !strings.HasPrefix(below, " ") {
				break
			}
			kind, path, _ := strings.Cut(strings.TrimSpace(below), ": ")
			switch kind {
			case "Workflow", "Skill":
				p.deep = true
				return []troupe.ToolCall{p.call("follow "+path, "execute_workflow", map[string]any{"workflow_path": path})}
			case "Read and follow":
				p.deep = true
				return []troupe.ToolCall{p.call("follow "+path, "read_file", map[string]any{"file_path": path})}
			case "Do":
				return nil
			}
		}
	}
	p.failed = append(p.failed, "the prompt does not say what "+p.act.command+" does")
	return nil
}

// A world is a project with its store, which can be closed and opened again.
type world struct {
	t       *testing.T
	dir     string
	inPlace bool
}

func (w *world) open() (*bundle.Catalog, *troupe.Engine, *sqlite.Store, func()) {
	w.t.Helper()
	catalog, err := bundle.Find(w.dir, bundle.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	store, err := sqlite.Open(w.t.Context(), filepath.Join(w.dir, "data", "troupe.db"), sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		w.t.Fatal(err)
	}
	return catalog, engine, store, func() {
		for _, closing := range []func() error{engine.Close, catalog.Close, store.Close} {
			if err := closing(); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// play plays one act in a session of its own and a process of its own.
func (w *world) play(a act, session string, messages ...string) (*player, string) {
	w.t.Helper()
	catalog, engine, store, closing := w.open()
	defer closing()
	p := &player{t: w.t, act: a, asked: map[string]string{}}
	agent, err := catalog.Agent(a.agent, bundle.Options{
		Model: p, Documents: bundle.Documents{InPlace: w.inPlace}, Events: store.Events,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, message := range messages {
		for e, err := range engine.Run(w.t.Context(), agent, troupe.Input{Session: session, Text: message}) {
			if err != nil {
				w.t.Fatalf("%s %s: %v", a.agent, a.command, err)
			}
			session = e.Session
		}
	}
	return p, session
}

// Real trees, one of each generation: from the brief to the review of a story, each piece
// of work in a session and a process of its own, with documents in their own folder and in
// the project.
func TestTheChainOfDocumentsRuns(t *testing.T) {
	for tree, acts := range chains {
		for _, inPlace := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/in-place=%v", tree, inPlace), func(t *testing.T) {
				t.Parallel()
				from := corpus.Path(t, "bmad/"+tree)
				w := &world{t: t, dir: t.TempDir(), inPlace: inPlace}
				if err := os.CopyFS(w.dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Join(w.dir, "data"), 0o755); err != nil {
					t.Fatal(err)
				}
				steps, followed := 0, 0
				for _, a := range acts {
					p, _ := w.play(a, "", a.command)
					for _, failed := range p.failed {
						t.Errorf("%s %s: %.600s", a.agent, a.command, failed)
					}
					if !p.deep {
						t.Errorf("%s %s leads nowhere", a.agent, a.command)
					}
					steps += p.stage
					followed += len(p.followed)
				}
				home := "data/documents"
				if inPlace {
					home = "."
				}
				last := acts[len(acts)-1]
				found := 0
				_ = filepath.WalkDir(filepath.Join(w.dir, home), func(name string, d os.DirEntry, err error) error {
					if err == nil && !d.IsDir() && filepath.Base(name) == filepath.Base(last.writes) && !strings.Contains(name, ".troupe") {
						found++
					}
					return nil
				})
				if found != 1 {
					t.Errorf("%s is there %d times", last.writes, found)
				}
				if isStepped := strings.HasPrefix(tree, "installed-6.") && tree != "installed-6.0.0-alpha.0"; isStepped && followed < 6 {
					t.Errorf("only %d step files were followed", followed)
				}
				t.Logf("%d turns in %d sessions, %d files followed by relative names", steps, len(acts), followed)
			})
		}
	}
}

// A workflow that is interrupted goes on after a restart: the next step is found by the
// name that stands in the step before, which nobody reads again, and what the workflow
// set has its value.
func TestAWorkflowGoesOnAfterARestart(t *testing.T) {
	w := &world{t: t, dir: t.TempDir()}
	if err := os.CopyFS(w.dir, os.DirFS(corpus.Path(t, "bmad/installed-6.0.4"))); err != nil {
		t.Fatal(err)
	}
	run := func(session string, calls ...troupe.ToolCall) (string, []string) {
		catalog, engine, store, closing := w.open()
		defer closing()
		script := &lines{calls: calls}
		agent, err := catalog.Agent("pm", bundle.Options{Model: script, Events: store.Events})
		if err != nil {
			t.Fatal(err)
		}
		var results []string
		for e, err := range engine.Run(t.Context(), agent, troupe.Input{Session: session, Text: "go on"}) {
			if err != nil {
				t.Fatal(err)
			}
			session = e.Session
			if body, ok := e.Body.(*troupe.ToolReturned); ok {
				results = append(results, body.Content)
			}
		}
		return session, results
	}
	const flow = "{project-root}/_bmad/bmm/workflows/2-plan-workflows/create-prd/workflow-create-prd.md"
	session, results := run("",
		troupe.ToolCall{ID: "1", Name: "execute_workflow", Arguments: `{"workflow_path":"` + flow + `","user_input":{"topic":"lamps"}}`},
		troupe.ToolCall{ID: "2", Name: "read_file", Arguments: `{"file_path":"./steps-c/step-01-init.md"}`},
		troupe.ToolCall{ID: "3", Name: "save_output", Arguments: `{"file_path":"{outputFile}","content":"---\nstepsCompleted: [step-01-init]\n---\n"}`})
	for _, r := range results {
		if !strings.Contains(r, `"success":true`) {
			t.Fatalf("%.300s", r)
		}
	}
	_, results = run(session,
		troupe.ToolCall{ID: "4", Name: "read_file", Arguments: `{"file_path":"{nextStepFile}"}`},
		troupe.ToolCall{ID: "5", Name: "read_file", Arguments: `{"file_path":"../templates/prd-template.md"}`},
		troupe.ToolCall{ID: "6", Name: "read_file", Arguments: `{"file_path":"{planning_artifacts}/prd.md"}`},
		troupe.ToolCall{ID: "7", Name: "save_output", Arguments: `{"file_path":"{session-folder}/{topic}.md","content":"x"}`})
	for _, r := range results {
		if !strings.Contains(r, `"success":true`) {
			t.Errorf("after the restart: %.300s", r)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "data", "agent-outputs", session, "lamps.md")); err != nil {
		t.Error("the workflow's variable is lost:", err)
	}
}

// lines is a model that makes its calls one by one and is done.
type lines struct {
	calls []troupe.ToolCall
	next  int
}

func (l *lines) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		if l.next == len(l.calls) {
			_ = yield(troupe.Chunk{Text: "Done."}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			return
		}
		call := l.calls[l.next]
		l.next++
		_ = yield(troupe.Chunk{Call: &call}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
	}
}

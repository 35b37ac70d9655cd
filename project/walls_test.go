package project_test

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
)

// A burglar is a model server whose model calls every tool that it is offered with
// everything it can think of, and remembers what comes back.
type burglar struct {
	*httptest.Server
	names []string // what it asks for
	// planted is what it writes wherever it can.
	planted string

	mu    sync.Mutex
	tools map[string]bool
	calls int
	heard []string // what tools said
	left  []any    // calls that were not made yet
	begun bool
}

// perTurn is how many calls one answer holds.
const perTurn = 100

type offeredTool struct {
	Function struct {
		Name       string
		Parameters struct {
			Properties map[string]struct{ Type any }
			Required   []string
		}
	}
}

func newBurglar(t *testing.T, names []string) *burglar {
	b := &burglar{names: names, planted: planted, tools: map[string]bool{}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.answer))
	t.Cleanup(b.Close)
	return b
}

func (b *burglar) answer(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	var request struct {
		Tools    []offeredTool
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(data, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range slices.Backward(request.Messages) {
		if m.Role != "tool" {
			break
		}
		b.heard = append(b.heard, fmt.Sprint(m.Content))
	}
	if !b.begun {
		b.begun = true
		for _, tool := range request.Tools {
			b.plan(&tool)
		}
	}
	message := map[string]any{"role": "assistant", "content": "I have tried it all."}
	finish := "stop"
	if n := min(perTurn, len(b.left)); n > 0 {
		message["tool_calls"], b.left, finish = b.left[:n], b.left[n:], "tool_calls"
	}
	choice := map[string]any{"index": 0, "delta": message, "finish_reason": finish}
	for i, call := range asList(message["tool_calls"]) {
		call.(map[string]any)["index"] = i
	}
	chunk, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": []any{choice}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// plan puts each name into each argument that takes a text, of whatever tool there is:
// one that is new is tried like all others.
func (b *burglar) plan(tool *offeredTool) {
	name := tool.Function.Name
	b.tools[name] = true
	if reason := map[string]string{"wikipedia": "it asks the network and takes no file", "web_search": "it asks a search engine and takes no file", "ask_user": "it asks a person, and ends the run"}[name]; reason != "" {
		return
	}
	properties := tool.Function.Parameters.Properties
	for argument, p := range properties {
		if kind := fmt.Sprint(p.Type); !strings.Contains(kind, "string") {
			continue
		}
		for _, attack := range b.names {
			arguments := map[string]any{argument: attack}
			for _, other := range tool.Function.Parameters.Required {
				if other != argument {
					arguments[other] = map[string]any{"content": b.planted, "command": []string{"cat", "x"}, "edits": []any{map[string]any{"search": "a", "replace": b.planted}}}[other]
				}
				if arguments[other] == nil {
					arguments[other] = b.planted
				}
			}
			if argument == "query" || argument == "pattern" {
				arguments[argument] = attack
			}
			if _, ok := properties["path"]; ok && (argument == "query" || argument == "pattern") {
				arguments[argument], arguments["path"] = "canary", attack
			}
			text, _ := json.Marshal(arguments)
			b.calls++
			b.left = append(b.left, map[string]any{"id": fmt.Sprintf("c%d", b.calls), "type": "function", "function": map[string]any{"name": name, "arguments": string(text)}})
		}
	}
}

const planted = "planted by the model"

// A house is a project with something to take in every closed place.
type house struct {
	dir, session string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: filepath.Join(t.TempDir(), "house"), session: "0f0e0d0c-0b0a-4908-8706-050403020100"}
	for name, content := range map[string]string{
		".env":       "KEY=canary-env\n",
		".env.local": "KEY=canary-env\n",
		"docs/a.md":  "a fine document\n",
		"data/agent-outputs/" + h.session + "/theirs.md":        "canary-session",
		"data/agent-outputs/" + h.session + "/canary-listed.md": "nobody names it",
		"data/agent-outputs/" + h.session + "/manifest.json":    `{"canary-session": 1}`,
		"data/deliveries/" + h.session + "/documents/plan.md":   "canary-delivery",
		"data/documents/docs/shared.md":                         "a shared document",
		"data/documents/.troupe-owners/anna/docs/hers.md":       "canary-document",
		"data/page/notes.json":                                  `{"canary-page": 1}`,
		"data/mcp-pins.json":                                    `{"canary-pins": 1}`,
		"data/knowledge.db":                                     "canary-knowledge",
		"skills/sum/SKILL.md":                                   "---\nname: sum\ndescription: Sums.\n---\nAdd.\n",
		"bmad/custom/bundles/desk/bundle.yaml":                  "type: bundle\nname: desk\nagents:\n  - id: desk\n    file: agents/desk.md\n    entry_point: true\n",
		"bmad/custom/bundles/desk/agents/desk.md":               "# Desk\n\n```xml\n<agent id=\"desk\" name=\"Desk\" title=\"Desk\">\n<persona><role>Clerk</role></persona>\n</agent>\n```\n",
		"bmad/custom/bundles/other/bundle.yaml":                 "type: bundle\nname: other\nagents: []\n",
		"bmad/custom/bundles/other/workflows/w/instructions.md": "Be good.\n",
	} {
		file := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"door": "data", "docs/window": "../data/agent-outputs", "docs/key": "../.env", "docs/yaml": "../troupe.yaml", "docs/team": "../bmad"} {
		if err := os.Symlink(target, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// everyAttack has each run try all names; else each tries some, and all runs together
// all of them.
var everyAttack = os.Getenv("TROUPE_EVERY_ATTACK") != ""

// attacks are names of closed things, as seen from roots: those that matter most, and of
// the others the part that is the run's.
func (h *house) attacks(run int, roots ...string) []string {
	var list []string
	for i, root := range append(roots, "{project-root}/", "", "{session-folder}/", "{bundle-root}/", "{skills}/") {
		for j, name := range []string{
			"troupe.yaml", "data/agent-outputs/" + h.session + "/theirs.md", "door/agent-outputs/" + h.session + "/theirs.md", "**/*", "data", ".env",
			".ENV", ".env.local", "docs/key", "TROUPE.yaml", "./docs/../troupe.yaml", "docs/yaml", "new/../troupe.yaml",
			"data/troupe.db", "data/troupe.db-wal", "door/troupe.db", "DATA/agent-outputs/" + h.session + "/theirs.md",
			"docs/window/" + h.session + "/theirs.md", "door", "data/", "data/.", ".", "*", "**", "data/**", "d*ta/**/*.md", "agent-outputs/" + h.session + "/theirs.md",
			"../" + h.session + "/theirs.md", h.session + "/theirs.md", "data/deliveries/" + h.session + "/documents/plan.md", "deliveries/" + h.session + "/documents/plan.md",
			"data/documents/.troupe-owners/anna/docs/hers.md", ".troupe-owners/anna/docs/hers.md", "data/mcp-pins.json", "mcp-pins.json", "data/knowledge.db", "data/page/notes.json",
			"skills/sum/SKILL.md", "Skills/sum/SKILL.md", "sum/SKILL.md", "skills/new/SKILL.md", "bmad/custom/bundles/desk/agents/desk.md", "BMAD/custom/bundles/desk/bundle.yaml",
			"docs/team/custom/bundles/other/workflows/w/instructions.md", "custom/bundles/evil/bundle.yaml", "_bmad/new/agents/x.md", ".bmad-core/agents/x.md", "house/troupe.yaml", "house/data/troupe.db",
			"house/data/agent-outputs/" + h.session + "/theirs.md",
		} {
			if everyAttack || i < 2 && j < 6 || (i*53+j+run)%12 == 0 {
				list = append(list, root+name)
			}
		}
	}
	return append(list, filepath.Join(h.dir, "troupe.yaml"), filepath.Join(h.dir, ".env"), filepath.Join(h.dir, "data/troupe.db"), "file://"+filepath.Join(h.dir, ".env"))
}

// print is what is in the closed places that nobody may change, by name.
func (h *house) print(t *testing.T, own string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(h.dir, func(file string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(h.dir, file)
		name = filepath.ToSlash(name)
		top, _, _ := strings.Cut(name, "/")
		kept := path.Join("data/documents/docs") // where documents go
		switch {
		case err != nil:
			return err
		case d.IsDir(), d.Type() == fs.ModeSymlink, strings.HasPrefix(name, "data/troupe.db"), strings.HasPrefix(name, "data/agent-outputs/"+own+"/") && own != "":
			return nil
		case strings.HasPrefix(name, "data/documents/") && !strings.Contains(name, ".troupe-owners/anna") && !strings.HasPrefix(name, kept+"/shared.md"):
			return nil
		case !slices.Contains([]string{"data", "bmad", "skills", "troupe.yaml", ".env", ".env.local", "_bmad", ".bmad-core", ".bmad", "TROUPE.yaml", ".ENV", "DATA", "BMAD", "Skills"}, top):
			return nil
		}
		content, err := os.ReadFile(file)
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every tool that there is, with everything that can be granted.
func TestNoGrantOpensWhatIsClosed(t *testing.T) {
	type object = map[string]any
	grants := map[string]struct {
		own   object
		roots []string
	}{
		"nothing":       {object{}, nil},
		"the project":   {object{"read_project": true}, nil},
		"reading all":   {object{"read": object{"all": "."}}, []string{"{all}/"}},
		"writing all":   {object{"read_project": true, "write": object{"all": "."}}, []string{"{all}/"}},
		"the parent":    {object{"write": object{"up": ".."}}, []string{"{up}/", "{up}/house/"}},
		"the data":      {object{"write": object{"data": "data", "outputs": "data/agent-outputs"}}, []string{"{data}/", "{outputs}/"}},
		"through links": {object{"write": object{"door": "door", "team": "docs/team"}}, []string{"{door}/", "{team}/"}},
		"the cage":      {object{"write": object{"bmad": "bmad", "own": "skills"}}, []string{"{bmad}/", "{own}/"}},
		"the documents": {object{"read_project": true, "write": object{"docs": "docs"}}, []string{"{docs}/"}},
	}
	run := 0
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		for _, of := range [][2]string{{"plain", "kept"}, {"desk", "kept"}, {"desk", "in-place"}} {
			run++
			run := run
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+of[0]+"/"+of[1], func(t *testing.T) {
				t.Parallel()
				h := newHouse(t)
				b := newBurglar(t, h.attacks(run, grants[name].roots...))
				h.isSafe(t, b, of[0], of[1], maps.Clone(grants[name].own))
			})
		}
	}
}

func (h *house) isSafe(t *testing.T, b *burglar, who, documents string, own map[string]any) {
	own["tools"] = []string{"*", "bundle"}
	if who == "plain" {
		own["tools"], own["instructions"] = []string{"*"}, "You break in."
	}
	agents, _ := json.Marshal(map[string]any{who: own})
	yaml := fmt.Sprintf("model: local/m\nproviders: {local: {base_url: %q}}\nlimits: {turns: -1, tool_calls: -1, model_tries: 1}\nweb: {search: {engine: searxng, base_url: \"http://127.0.0.1:1\"}}\ndocuments: %s\nagents: %s\n", b.URL, documents, agents)
	if err := os.WriteFile(filepath.Join(h.dir, project.Name), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	before := h.print(t, "")
	p := open(t, h.dir, project.Options{})
	outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, who), troupe.Input{Text: "Break in."}))
	if err != nil || outcome.Stop != "answered" {
		t.Fatalf("%s, %v", outcome.Stop, err)
	}
	for _, tool := range []string{"read_file", "list_files", "search_files", "write_file", "edit_file", "make_directory", "use_skill", "web_fetch"} {
		if !b.tools[tool] {
			t.Errorf("the agent has no %s: there are %v", tool, slices.Sorted(maps.Keys(b.tools)))
		}
	}
	if len(b.heard) != b.calls || b.calls < 200 {
		t.Errorf("%d calls were answered of %d", len(b.heard), b.calls)
	}
	for _, said := range b.heard {
		if i := strings.Index(said, "canary-"); i >= 0 {
			t.Errorf("it was told %q", said[max(0, i-100):min(len(said), i+200)])
			break
		}
	}
	after := h.print(t, outcome.Session)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			t.Errorf("%s was %.60q and is %.60q", name, before[name], after[name])
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s is gone", name)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

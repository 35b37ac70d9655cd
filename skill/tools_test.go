package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/files"
	"github.com/troupe-dev/troupe/troupetest"
	"github.com/troupe-dev/troupe/workspace"
)

// answer is what a tool told, of any of its fields.
type answer struct {
	Success                             bool
	Name, Description, Version, Content string
	Folder, Error                       string
	Resources, Suggestions, Categories  []string
	Requires                            []string
	Skills                              []Skill
	Total                               int
}

func call(t *testing.T, tools []troupe.Tool, name, arguments string) (a answer) {
	t.Helper()
	i := slices.IndexFunc(tools, func(tool troupe.Tool) bool { return tool.Spec().Name == name })
	result, err := tools[i].Call(t.Context(), &troupe.Invocation{Arguments: json.RawMessage(arguments)})
	if failure, ok := errors.AsType[*troupe.ToolError](err); ok {
		result.Content = failure.Content
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(result.Content), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestUseSkillGivesTheBodyAndNamesItsFiles(t *testing.T) {
	t.Attr("FR", "FR-012b FR-013")
	dir := t.TempDir()
	put(t, dir, "pdf/SKILL.md", text("pdf", "Fills forms.\nmetadata: {requires: office}", "\nRead {skill-root}/reference.md & <b>.\n"))
	put(t, dir, "pdf/reference.md", "The details.")
	put(t, dir, "pdf/scripts/fill.py", "print()")
	put(t, dir, "pdf/.env", "CANARY")
	put(t, dir, "notes.md", "label: notes\ndescription: Takes notes.\n\nWrite.")
	l := open(t, dir)
	tools := Tools(l)
	for _, tool := range tools {
		if spec := tool.Spec(); !spec.RepeatSafe || !spec.ReadOnly {
			t.Errorf("%s does not say that it only reads", spec.Name)
		}
	}
	a := call(t, tools, "use_skill", `{"name":" pdf "}`)
	if !a.Success || a.Name != "pdf" || a.Description != "Fills forms." || len(a.Version) != 64 || a.Folder != "{skills}/pdf" || a.Requires[0] != "office" ||
		a.Content != "Read {skills}/pdf/reference.md & <b>." || strings.Join(a.Resources, " ") != "{skills}/pdf/reference.md {skills}/pdf/scripts/fill.py" {
		t.Errorf("%+v", a)
	}
	if a := call(t, tools, "use_skill", `{"name":"notes"}`); !a.Success || a.Content != "Write." || a.Folder != "" || a.Resources == nil || len(a.Resources) != 0 {
		t.Errorf("%+v", a)
	}
	ws, err := workspace.Open(workspace.Config{Roots: l.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, name := range a.Resources {
		if loc, err := ws.Resolve(name); err != nil {
			t.Error(err)
		} else if _, err := ws.ReadFile(loc); err != nil {
			t.Error(err)
		}
	}
}

func TestUseSkillSuggestsWhatWasMeant(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pdf-forms", "systematic-debugging", "brainstorming"} {
		put(t, dir, name+"/SKILL.md", text(name, "x", ""))
	}
	tools := Tools(open(t, dir))
	for written, want := range map[string]string{
		"pdf-form": "pdf-forms", "PDF-Forms": "pdf-forms", "debugging": "systematic-debugging", "brainstroming": "brainstorming", "cooking": "", "": "",
		strings.Repeat("x", 10_000): "",
	} {
		a := call(t, tools, "use_skill", fmt.Sprintf(`{"name":%q}`, written))
		if a.Success || !strings.Contains(a.Error, "no such skill") || len(a.Error) > 300 || strings.Join(a.Suggestions, " ") != want {
			t.Errorf("%.20q: %+v", written, a)
		}
	}
}

func TestUseSkillTellsNoPathOfTheHost(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a/SKILL.md", text("a", "x", ""))
	tools := Tools(open(t, dir))
	put(t, dir, "a/SKILL.md", "---\nname: a\n---\n")
	if a := call(t, tools, "use_skill", `{"name":"a"}`); a.Success || !strings.Contains(a.Error, "no description") || strings.Contains(a.Error, dir) {
		t.Errorf("%+v", a)
	}
}

func TestSearchSkillsTellsOfAFewAndCountsAll(t *testing.T) {
	t.Attr("FR", "FR-015")
	dir := t.TempDir()
	for i := range 40 {
		put(t, dir, fmt.Sprintf("many/s%d/SKILL.md", i), text(fmt.Sprintf("s%d", i), "One of many.", ""))
	}
	tools := Tools(open(t, dir))
	if a := call(t, tools, "search_skills", `{}`); !a.Success || a.Total != 40 || len(a.Skills) != maxHits || a.Skills[0].Category != "many" {
		t.Errorf("%+v", a)
	}
	if a := call(t, tools, "search_skills", `{"query":"cooking"}`); !a.Success || a.Total != 0 || a.Skills == nil || strings.Join(a.Categories, " ") != "many" {
		t.Errorf("%+v", a)
	}
}

func TestTheVersionThatWasUsedIsInTheLog(t *testing.T) {
	t.Attr("FR", "FR-013 FR-016")
	dir := t.TempDir()
	put(t, dir, "pdf/SKILL.md", text("pdf", "Fills forms.", "Read reference.md."))
	put(t, dir, "pdf/reference.md", "The details.")
	l := open(t, dir)
	ws, err := workspace.Open(workspace.Config{Roots: l.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	read := files.Read(func(string) (*workspace.Workspace, error) { return ws, nil })
	model := troupetest.NewScript(t,
		troupetest.Call("search_skills", `{"query":"forms"}`),
		troupetest.Call("use_skill", `{"name":"pdf"}`),
		troupetest.Call("read_file", `{"file_path":"{skills}/pdf/reference.md"}`),
		troupetest.Say("done"),
	)
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "ada", Model: model, Tools: append(Tools(l), read)})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for event, err := range engine.Run(context.Background(), agent, troupe.Input{Text: "Fill it in."}) {
		if err != nil {
			t.Fatal(err)
		}
		if returned, ok := event.Body.(*troupe.ToolReturned); ok {
			told = append(told, returned.Content)
		}
	}
	if len(told) != 3 || !strings.Contains(told[0], `"name":"pdf"`) || !strings.Contains(told[1], load(t, l, "pdf").Version) || !strings.Contains(told[2], "The details.") {
		t.Errorf("%q", told)
	}
}

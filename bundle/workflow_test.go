package bundle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/workspace"
)

func TestAWorkflowIsResolved(t *testing.T) {
	b := bundleIn(t, find(t, project(t), Config{}), "bmad/custom/bundles/requirements")
	w, err := b.Workflow("{bundle-root}/workflows/intake/workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "intake-workflow" || w.Description != "Gather initial project requirements" || w.File != "bmad/custom/bundles/requirements/workflows/intake/workflow.yaml" {
		t.Errorf("%s, %s in %s", w.Name, w.Description, w.File)
	}
	contains(t, "instructions", w.Instructions,
		"# Intake for Ada\n", "Talk in English and save to {project-root}/docs/requirements-{{topic}}-{date}.md",
		"{{story_path}} is given", "Read {bundle-root}/workflows/intake/checklist.md and")
	if !w.HasTemplate {
		t.Error("there is no template")
	}
	contains(t, "template", w.Template, "# Requirements of Lighthouse", "{{problem}}")
	want := map[string]any{
		"name": "intake-workflow", "description": "Gather initial project requirements", "author": "Alex",
		"config_source": "{bundle-root}/config.yaml", "output_folder": "{project-root}/docs", "user_name": "Ada",
		"user_skill_level": "{config_source}:user_skill_level", "date": "{date}",
		"installed_path": "{bundle-root}/workflows/intake", "instructions": "{bundle-root}/workflows/intake/instructions.md",
		"template": "{bundle-root}/templates/initial-requirements.md", "validation": "{bundle-root}/workflows/intake/checklist.md",
		"style_guide":         "{bundle-root}/data/terms.csv",
		"default_output_file": "{project-root}/docs/requirements-{{topic}}-{date}.md",
		"variables":           map[string]any{"story_path": "", "rounds": "007", "non_interactive": false},
		"recommended_inputs": []any{
			map[string]any{"brief": "{project-root}/docs/brief-*.md"}, map[string]any{"terms": "{bundle-root}/data/terms.csv"},
		},
	}
	if diff := cmp.Diff(want, w.Config); diff != "" {
		t.Error(diff)
	}
	wantFiles := []File{
		{"validation", "{bundle-root}/workflows/intake/checklist.md", 35},
		{"style_guide", "{bundle-root}/data/terms.csv", 35},
	}
	if diff := cmp.Diff(wantFiles, w.Files); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(w.Unresolved, []string{"user_skill_level"}) {
		t.Errorf("unresolved: %q", w.Unresolved)
	}
	uses := map[Use]int{}
	for _, ref := range w.References {
		uses[ref.Use]++
		if ref.File != w.File || ref.Line == 0 {
			t.Errorf("%+v", ref)
		}
	}
	if diff := cmp.Diff(map[Use]int{UseConfig: 1, UseInstruct: 1, UseTemplate: 1, UseInput: 4}, uses); diff != "" {
		t.Error(diff)
	}
}

func TestAnInstalledWorkflowReadsItsModules(t *testing.T) {
	b := bundleIn(t, find(t, project(t), Config{}), "bmad/bmm")
	w, err := b.Workflow("{project-root}/bmad/bmm/workflows/prd/workflow.yaml")
	if err != nil || w.HasTemplate {
		t.Fatal(err)
	}
	contains(t, "instructions", w.Instructions, "Write for Ada to {project-root}/docs.")
	if w, err = b.Workflow("{project-root}/bmad/cis/workflows/party/workflow.yaml"); err != nil || w.Instructions != "Talk.\n" {
		t.Errorf("another module: %v", err)
	}
	if _, err = b.Workflow("{project-root}/bmad/custom/bundles/requirements/workflows/intake/workflow.yaml"); !errors.Is(err, workspace.ErrDenied) {
		t.Errorf("a custom bundle: %v", err)
	}
}

func TestAStepFileWorkflow(t *testing.T) {
	b := bundleIn(t, find(t, project(t), Config{}), "src/bmm")
	files, err := b.WorkflowFiles()
	if err != nil || !slices.Equal(files, []string{"{bundle-root}/workflows/quick/workflow.md"}) {
		t.Fatalf("%q %v", files, err)
	}
	for _, name := range []string{files[0], "{project-root}/_bmad/bmm/workflows/quick/workflow.md", "{bundle-root}/workflows/quick"} {
		w, err := b.Workflow(name)
		if err != nil {
			t.Fatal(err)
		}
		if w.Name != "quick" || w.Description != "Quick development" || !strings.HasPrefix(w.Instructions, "\n# Quick\n") {
			t.Errorf("%s: %+v", name, w)
		}
		contains(t, "instructions", w.Instructions, "follow: `{bundle-root}/workflows/quick/steps/step-01.md`")
		want := []File{{Path: "{bundle-root}/workflows/quick/steps/step-01.md", Size: 42}, {Path: "{bundle-root}/workflows/quick/steps/step-02.md", Size: 5}}
		if diff := cmp.Diff(want, w.Files); diff != "" {
			t.Error(diff)
		}
		if len(w.References) != 4 || w.References[3].Line != 10 || w.References[3].Path != "../gone.md" {
			t.Errorf("%s: %+v", name, w.References)
		}
		if len(w.Unresolved) != 1 || !strings.HasPrefix(w.Unresolved[0], "config_source: ") {
			t.Errorf("unresolved: %q", w.Unresolved)
		}
	}
}

func TestAWorkflowThatIsNotWhereItSaysItIs(t *testing.T) {
	_, b := alone(t, map[string]string{
		"workflows/new/workflow.yaml":   "name: n\ninstalled_path: '{bundle-root}/workflows/old'\ninstructions: '{installed_path}/instructions.md'\n",
		"workflows/new/instructions.md": "Here.",
	})
	w, err := b.Workflow("{bundle-root}/workflows/new/workflow.yaml")
	if err != nil || w.Instructions != "Here." || w.Config["installed_path"] != "{bundle-root}/workflows/new" {
		t.Fatalf("%+v %v", w, err)
	}
	if !slices.Equal(codes(w.Findings), []string{CodeMoved}) || w.Findings[0].Line != 2 {
		t.Errorf("%v", w.Findings)
	}
}

func TestWhatAWorkflowLacksIsSaid(t *testing.T) {
	_, b := alone(t, map[string]string{
		"a/workflow.yaml":   "name: a\ninstructions: ./i.md\ntemplate: ./gone.md\nconfig_source: '{bundle-root}/gone.yaml'\nx: '{config_source}:x'\n",
		"a/i.md":            "I {x} {y}",
		"b/workflow.yaml":   "name: b\ninstructions: ./gone.md\n",
		"c/workflow.yaml":   "name: c\na: '{b}'\nb: '{a}'\n",
		"d/workflow.yaml":   "name: d\n",
		"d/instructions.md": "D",
		"e/workflow.yaml":   "name: e\n",
		"f/workflow.yaml":   "name: [",
		"g/workflow.yaml":   "name: g\ninstructions: |\n  Do\n  this\n",
		"h/workflow.yaml":   "name: h\ninstructions: ./big.md\n",
		"h/big.md":          strings.Repeat("x", maxWorkflowText+1),
		"i/workflow.yaml":   "name: i\ninstructions: ../../../../../secret.md\n",
	})
	w, err := b.Workflow("{bundle-root}/a/workflow.yaml")
	if err != nil || w.Instructions != "I {config_source}:x {y}" || w.HasTemplate || len(w.Unresolved) != 3 {
		t.Errorf("a: %+v %v", w, err)
	}
	for name, want := range map[string]string{"d": "D", "e": "", "g": "Do\nthis"} {
		if w, err := b.Workflow("{bundle-root}/" + name + "/workflow.yaml"); err != nil || strings.TrimSpace(w.Instructions) != want {
			t.Errorf("%s: %+v %v", name, w, err)
		}
	}
	for name, want := range map[string]string{"b": "not found", "c": "a -> b -> a", "f": "not YAML", "h": "too large", "i": "Access denied", "gone": "not found"} {
		if _, err := b.Workflow("{bundle-root}/" + name + "/workflow.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAlternativesAreChosenByWhatExists(t *testing.T) {
	_, b := alone(t, map[string]string{
		"workflow.yaml": "name: n\ninstructions: '{first} || {bundle-root}/i.md'\nfirst: '{nobody}/i.md || {bundle-root}/gone.md'\n" +
			"word: '{nobody} || {known}'\nknown: yes it is\nboth: '{bundle-root}/i.md || {bundle-root}/workflow.yaml'\n",
		"i.md": "I",
	})
	w, err := b.Workflow("{bundle-root}/workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"instructions": "{bundle-root}/i.md", "first": "{nobody}/i.md", "word": "yes it is", "both": "{bundle-root}/i.md",
	} {
		if w.Config[key] != want {
			t.Errorf("%s is %v; want %s", key, w.Config[key], want)
		}
	}
}

func TestTheUsersInputFillsInVariables(t *testing.T) {
	_, b := alone(t, map[string]string{
		"workflow.yaml": "name: n\ninstructions: ./i.md\nlevel: '{config_source}:level'\nvariables:\n  story: ''\n",
		"i.md":          "{level} {{story}} {extra}",
	})
	ws, err := b.files()
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.workflow(ws, "{bundle-root}/workflow.yaml", map[string]any{
		"level": "expert", "story": "s1", "extra": "more", "instructions": "{bundle-root}/agent.md", "number": 3,
	})
	if err != nil || w.Instructions != "expert s1 more" || len(w.Unresolved) > 0 || w.Config["level"] != "expert" {
		t.Errorf("%+v %v", w, err)
	}
	if variables := w.Config["variables"].(map[string]any); variables["story"] != "s1" {
		t.Errorf("variables are %v", variables)
	}
}

func TestAWorkflowCannotGrowWithoutEnd(t *testing.T) {
	big := strings.Repeat("x", 200<<10)
	_, b := alone(t, map[string]string{
		"workflow.yaml": "big: " + big + "\nlist: [" + strings.Repeat("'{big}',", 5000) + "]\n",
		"agent.md":      `<agent id="one" name="One"><critical-actions><i>Load {bundle-root}/config.yaml</i>` + strings.Repeat("<i>{big}</i>", 10000) + `</critical-actions></agent>`,
		"config.yaml":   "big: " + big + "\n",
	})
	if _, err := b.Workflow("{bundle-root}/workflow.yaml"); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("a workflow: %v", err)
	}
	if _, err := b.catalog.Prompt("one"); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("critical actions: %v", err)
	}
}

func FuzzWorkflow(f *testing.F) {
	_, b := alone(f, map[string]string{"config.yaml": "user_name: Ada\n", "i.md": "{user_name}"})
	ws, err := b.files()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"name: n\nconfig_source: '{bundle-root}/config.yaml'\ninstructions: ./i.md\nx: '{config_source}:user_name || {y}'\n",
		"a: '{b}'\nb: '{a}'", "installed_path: '{installed_path}'\ntemplate: [x]\nvariables: {a: {b: c}}", "instructions: /etc/passwd",
	} {
		f.Add(seed)
	}
	loc, err := ws.Resolve("{bundle-root}/workflow.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		root, _, err := ParseYAML("f", 1, []byte(src))
		if err != nil {
			return
		}
		r := &resolver{Workflow: &Workflow{}, bundle: b, ws: ws, loc: loc, root: root}
		if err := r.resolve("", nil); err != nil && strings.Contains(err.Error(), b.host) {
			t.Errorf("%q: %v", src, err)
		}
		if strings.Contains(r.Instructions+r.Template, "root:x:0") {
			t.Errorf("%q reads what it must not", src)
		}
	})
}

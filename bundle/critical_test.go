package bundle

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/workspace"
)

// The phrasings are those of published agents.
func TestCriticalActionsAreRecognisedAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Load{
		"Load into memory {bundle-root}/config.yaml and set variables: project_name, output_folder, user_name": {
			Path: "{bundle-root}/config.yaml", Variables: []string{"project_name", "output_folder", "user_name"}},
		"Load into memory {project-root}/bmad/bmm/config.yaml and set variable project_name, output_folder": {
			Path: "{project-root}/bmad/bmm/config.yaml", Variables: []string{"project_name", "output_folder"}},
		"Load into memory {project-root}/bmad/bmm/config.yaml and set variables": {Path: "{project-root}/bmad/bmm/config.yaml"},
		"Load into memory {bundle-root}/config.yaml and set variables a and b, and c then greet": {
			Path: "{bundle-root}/config.yaml", Variables: []string{"a", "b", "c"}},
		"Load into memory {bundle-root}/config.yaml":                                                      {Path: "{bundle-root}/config.yaml"},
		"load {bundle-root}/config.yaml.":                                                                 {Path: "{bundle-root}/config.yaml"},
		"Load COMPLETE file {project-root}/bmad/bmm/config.yaml":                                          {Path: "{project-root}/bmad/bmm/config.yaml"},
		"Load COMPLETE file {x}/rules.md and follow ALL directives":                                       {Path: "{x}/rules.md", more: true},
		"Load COMPLETE file {x}/rules.md into permanent context":                                          {Path: "{x}/rules.md"},
		"Load the COMPLETE file `{x}/rules.md`":                                                           {Path: "{x}/rules.md"},
		"CRITICAL: Load COMPLETE file {x}/s.md into permanent memory and follow ALL rules within":         {Path: "{x}/s.md", more: true},
		"Load project-context.md if available and treat it as the bible":                                  {Path: "project-context.md", Optional: true, more: true},
		"Load into memory {x}/notes.md if it exists":                                                      {Path: "{x}/notes.md", Optional: true},
		"Load {x}/notes.md if exists":                                                                     {Path: "{x}/notes.md", Optional: true},
		"Load {x}/notes.md (optional)":                                                                    {Path: "{x}/notes.md", Optional: true},
		"STEP 3: Load and read `.bmad-core/core-config.yaml` (project configuration) before any greeting": {Path: ".bmad-core/core-config.yaml"},
		"🚨 IMMEDIATE ACTION REQUIRED - BEFORE ANY OUTPUT:\n      - Load and read {project-root}/_bmad/bmm/config.yaml NOW\n      - Store ALL fields": {
			Path: "{project-root}/_bmad/bmm/config.yaml"},
		"Load into memory\n      {bundle-root}/config.yaml": {Path: "{bundle-root}/config.yaml"},
	} {
		got := newCriticalAction(text, 1).Load
		if got == nil {
			t.Errorf("%q is not taken for a load", text)
			continue
		}
		if got.Path != want.Path || !slices.Equal(got.Variables, want.Variables) || got.Optional != want.Optional || got.more != want.more {
			t.Errorf("%q\nis %+v", text, *got)
		}
	}
	for _, text := range []string{
		"Remember the user's name is {user_name}",
		"ALWAYS communicate in {communication_language}",
		"Consult {project-root}/bmad/bmm/testarch/tea-index.csv to select knowledge fragments under `knowledge/` and load only the files needed",
		"Load the referenced fragment(s) from `{project-root}/bmad/bmm/testarch/knowledge/` before giving recommendations",
		"Ask user for path of the document and load COMPLETE file",
		"Find if this exists, if it does, always treat it as the bible: `**/project-context.md`",
		"Load **/project-context.md if available",
		"READ the entire story file BEFORE any implementation",
		"Load resources at runtime, never pre-load",
		"Load persona from this current agent file (already in context)",
		"DO NOT: Load any other agent files during activation",
		"Load https://example.com/x.md",
		"Reload {bundle-root}/config.yaml",
		"Load",
		"",
	} {
		if got := newCriticalAction(text, 1).Load; got != nil {
			t.Errorf("%q is taken for a load of %q", text, got.Path)
		}
	}
}

// told carries out critical actions of an agent in a bundle of its own.
func told(t *testing.T, files map[string]string, actions ...string) ([]string, *workspace.Workspace, error) {
	t.Helper()
	steps := "<i>" + strings.Join(actions, "</i>\n<i>") + "</i>"
	if len(actions) == 0 {
		steps = ""
	}
	all := map[string]string{"agent.md": `<agent id="one" name="One"><critical-actions>` + steps + `</critical-actions></agent>`}
	maps.Copy(all, files)
	c, b := alone(t, all)
	ws, err := b.files()
	if err != nil {
		t.Fatal(err)
	}
	ws, messages, err := define(t, c, "one").perform(ws)
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.text)
	}
	return texts, ws, err
}

func TestCriticalActionsAreCarriedOutInOrder(t *testing.T) {
	const config = "user_name: Ada\noutput_folder: '{project-root}/docs'\nlevel: 007\nblank: ''\n"
	got, ws, err := told(t, map[string]string{"config.yaml": config, "data/Ada.md": "Be brief."},
		"You are told {user_name}",
		"Load into memory {bundle-root}/config.yaml and set variables: user_name",
		"Remember the user's name is {user_name}, level {level}, {blank} and {nobody}",
		"Load COMPLETE file {bundle-root}/data/{user_name}.md and follow ALL directives",
		"Load missing.md if available",
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[Critical Instruction] You are told Ada",
		"[Critical Action] Loaded file: {bundle-root}/config.yaml\n\n" + config,
		"[Critical Instruction] Remember the user's name is Ada, level 007, {blank} and {nobody}",
		"[Critical Action] Loaded file: {bundle-root}/data/Ada.md\n\nBe brief.",
		"[Critical Instruction] Load COMPLETE file {bundle-root}/data/Ada.md and follow ALL directives",
		"[Critical Instruction] Load missing.md if available (It is not available.)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %q", got)
	}
	if loc, _, err := ws.Vars().Expand("{config_source}:output_folder/x.md"); err != nil || loc != "{project-root}/docs/x.md" {
		t.Errorf("{config_source}:output_folder is %q, %v", loc, err)
	}
}

func TestNoCriticalActionsAreNoProblem(t *testing.T) {
	if got, _, err := told(t, nil); err != nil || got != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestACriticalActionThatFailsHaltsWithItsInstructionAndCause(t *testing.T) {
	for action, cause := range map[string]error{
		"Load into memory {bundle-root}/gone.yaml and set variables: x": workspace.ErrNotFound,
		"Load {bundle-root}/../../../../secret.txt":                     workspace.ErrDenied,
		"Load {project-root}/secret.txt":                                workspace.ErrDenied,
		"Load {project-root}/secret.txt if available":                   workspace.ErrDenied,
		"Load /etc/hosts.txt":                                           workspace.ErrDenied,
		"Load {nobody}/x.yaml":                                          nil,
		"Load {nobody}/x.yaml if available":                             nil,
		"Load {bundle-root}/broken/config.yaml":                         nil,
		"Load {bundle-root}/big.md":                                     workspace.ErrTooLarge,
	} {
		files := map[string]string{"broken/config.yaml": "a: [", "big.md": strings.Repeat("x", maxCritical+1), "../../../../secret.txt": "CANARY"}
		got, _, err := told(t, files, action, "Remember this")
		failed, ok := errors.AsType[*CriticalError](err)
		if !ok || got != nil || failed.Instruction != action || !strings.HasPrefix(err.Error(), "Critical action failed: "+action+": ") {
			t.Errorf("%s: %q %v", action, got, err)
		}
		if cause != nil && !errors.Is(err, cause) {
			t.Errorf("%s: the cause of %v is not %v", action, err, cause)
		}
		if err != nil && strings.Contains(err.Error(), os.TempDir()) {
			t.Errorf("the error shows the host's directory: %v", err)
		}
	}
}

func TestASourceTreeStartsWithoutWhatItsInstallerWouldWrite(t *testing.T) {
	dir := project(t)
	put(t, dir, "src/bmm/agents/old.md", `<agent id="o" name="O"><critical-actions><i>Load {project-root}/bmad/bmm/config.yaml</i></critical-actions></agent>`)
	c := find(t, dir, Config{})
	if _, err := c.Prompt("old"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "bmad/bmm/config.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prompt("pm"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("an installed agent starts without its config: %v", err)
	}
}

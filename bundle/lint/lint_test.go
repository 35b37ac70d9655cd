package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe/bundle"
)

func lint(t testing.TB, dir string, o Options) *Report {
	t.Helper()
	report, err := Run(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// summary shows a report without messages: what was counted, then a line for each
// finding, sorted.
func summary(r *Report) string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %s:%d\n", f.Severity, f.Code, f.File, f.Line))
	}
	slices.Sort(lines)
	return fmt.Sprintf("agents %d, workflows %d, tasks %d, skills %d\n", r.Agents, r.Workflows, r.Tasks, r.Skills) + strings.Join(lines, "")
}

// extract writes the files of an archive below a new directory, and returns what
// linting it should come to.
func extract(t testing.TB, name string) (dir, want string) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range archive.Files {
		if f.Name != "want" {
			put(t, dir, f.Name, string(f.Data))
			continue
		}
		counts, findings, _ := strings.Cut(string(f.Data), "\n")
		lines := slices.Sorted(strings.Lines(findings))
		want = counts + "\n" + strings.Join(lines, "")
	}
	return dir, want
}

func archives(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no archives", err)
	}
	return names
}

// Each archive is a project, and says which findings it should come to.
func TestLintFindsWhatIsWrongAndNothingElse(t *testing.T) {
	for _, name := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			dir, want := extract(t, name)
			report := lint(t, dir, Options{Tools: []string{"read_file"}})
			if diff := cmp.Diff(want, summary(report)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
				for _, f := range report.Findings {
					t.Log(f.Code, f.Error())
				}
			}
		})
	}
}

func TestMessagesSayWhatIsWrongAndWhatToDo(t *testing.T) {
	dir, _ := extract(t, "testdata/source.txtar")
	put(t, dir, "src/modules/bmm/agents/lost.md", `<agent id="lost" name="L" title="L" icon="l">
  <persona><role>r</role><identity>i</identity><communication_style>s</communication_style><principles>p</principles></persona>
  <cmds><c cmd="*help">Help</c><c cmd="*exit">Exit</c>
  <c cmd="*plan" run-workflow="{project-root}/bmad/cis/workflows/plan/workflow.yaml">Plan</c>
  <c cmd="*paced" run-workflow="{project-root}/bmad/bmm/workflows/paced.md">Paced</c></cmds>
</agent>`)
	report := lint(t, filepath.Join(dir, "src/modules/bmm/agents/lost.md"), Options{})
	want := []bundle.Finding{
		{Severity: bundle.Warning, Code: CodeOutside, File: "lost.md", Line: 4, Message: "*plan (workflow): {project-root}/bmad/cis/workflows/plan/workflow.yaml lies outside of the bundle, where agents read only what the operator grants; move it into the bundle"},
		{Severity: bundle.Warning, Code: "dangling-workflow", File: "lost.md", Line: 5, Message: "*paced (workflow): there is no {project-root}/bmad/bmm/workflows/paced.md; src/modules/bmm/workflows/paced/workflow.md is used instead: correct the path"},
	}
	if diff := cmp.Diff(want, report.Findings); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	put(t, dir, "src/modules/bmm/workflows/paced/workflow.yaml", "name: paced\ninstructions: workflow.md\n")
	report = lint(t, filepath.Join(dir, "src/modules/bmm/agents/lost.md"), Options{})
	if got := report.Findings[1].Message; !strings.HasSuffix(got, "; src/modules/bmm/workflows/paced/workflow.yaml is used instead: correct the path") {
		t.Errorf("no advice: %s", got)
	}
}

func TestReportIsJSONAsPromised(t *testing.T) {
	report := &Report{Agents: 1, Workflows: 2, Tasks: 3, Skills: 4, Findings: []bundle.Finding{{
		Severity: bundle.Error, Code: "dangling-exec", File: "a.md", Line: 5, Message: "gone",
	}}}
	got, err := json.Marshal(report)
	const want = `{"agents":1,"workflows":2,"tasks":3,"skills":4,"findings":[{"severity":"error","code":"dangling-exec","file":"a.md","line":5,"message":"gone"}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	dir := t.TempDir()
	put(t, dir, "skills/good/SKILL.md", "---\nname: good\ndescription: Good.\n---\n")
	if got, err = json.Marshal(lint(t, dir, Options{})); err != nil || !strings.HasSuffix(string(got), `"skills":1,"findings":[]}`) {
		t.Errorf("without findings: %s, %v", got, err)
	}
}

// A part of a project refers to the rest of it.
func TestLintOfAPartSeesTheWholeProject(t *testing.T) {
	dir, _ := extract(t, "testdata/source.txtar")
	for part, want := range map[string]string{
		"src/modules/bmm":                       "agents 2, workflows 2, tasks 0, skills 0\nwarning not-installed .:1\nwarning unreached-files .:1\n",
		"src/modules/bmm/workflows/plan":        "agents 0, workflows 1, tasks 0, skills 0\n",
		"src/modules/bmm/agents/pm.agent.yaml":  "agents 1, workflows 0, tasks 0, skills 0\n",
		"src/core":                              "agents 0, workflows 0, tasks 2, skills 0\n",
		"expansion-packs":                       "agents 1, workflows 0, tasks 0, skills 0\nerror dangling-dependency pack/agents/old.md:12\n",
		"src/modules/bmm/workflows/paced/steps": "agents 0, workflows 0, tasks 0, skills 0\nwarning nothing-found .:1\n",
	} {
		if got := summary(lint(t, filepath.Join(dir, part), Options{})); got != want {
			t.Errorf("%s:\n%s", part, got)
		}
	}
}

// Projects inside a directory are judged each by itself.
func TestLintFindsProjectsBelow(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "deep/two"} {
		put(t, dir, name+"/bmad/core/tasks/stir.md", "<task></task>")
		put(t, dir, name+"/bmad/bmm/config.yaml", "a: b")
		put(t, dir, name+"/bmad/bmm/agents/ann.agent.yaml", `agent:
  metadata: {name: Ann}
  persona: {role: r, identity: i, communication_style: s, principles: p}
  menu: [{trigger: stir, exec: "{project-root}/bmad/core/tasks/stir.md", description: S},
         {trigger: sip, exec: "{project-root}/bmad/core/tasks/sip.md", description: S}]`)
	}
	put(t, dir, "node_modules/three/bmad/core/tasks/stir.md", "<task></task>")
	const want = "agents 2, workflows 0, tasks 2, skills 0\n" +
		"error dangling-exec deep/two/bmad/bmm/agents/ann.agent.yaml:5\nerror dangling-exec one/bmad/bmm/agents/ann.agent.yaml:5\n"
	if got := summary(lint(t, dir, Options{})); got != want {
		t.Error(got)
	}
}

func TestLintOfBundlesElsewhere(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	put(t, elsewhere, "bundle.yaml", "type: standalone\nname: far\nversion: 1.0.0\nagent: {id: far, file: agent.md}\n")
	put(t, elsewhere, "agent.md", `<agent id="far" name="F"><cmds><c cmd="*go" exec="{core-root}/tasks/go.md">Go</c></cmds></agent>`)
	put(t, elsewhere, "workflows/x/workflow.yaml", "name: x\ninstructions: gone.md\n")
	put(t, dir, "core/tasks/stay.md", "<task></task>")
	report := lint(t, dir, Options{Config: bundle.Config{Core: "core", Bundles: []string{elsewhere}}})
	if report.Agents != 1 || report.Workflows != 1 || report.Errors() != 2 {
		t.Errorf("%+v", report)
	}
}

func TestLintOfNothing(t *testing.T) {
	report := lint(t, t.TempDir(), Options{})
	if got := summary(report); got != "agents 0, workflows 0, tasks 0, skills 0\nwarning nothing-found .:1\n" {
		t.Error(got)
	}
	if _, err := Run(filepath.Join(t.TempDir(), "gone"), Options{}); err == nil {
		t.Error("a directory that is not there has no report")
	}
}

func TestWhatIsTooLargeIsAnError(t *testing.T) {
	dir := t.TempDir()
	large := strings.Repeat("All work and no play.\n", 1<<20/22)
	put(t, dir, "bmad/bmm/agents/ann.md", `<agent id="ann" name="A"><critical-actions><i>Load COMPLETE file {bundle-root}/facts.md</i></critical-actions>
<menu><item cmd="*go" exec="{bundle-root}/tasks/go.md">Go</item></menu></agent>`)
	put(t, dir, "bmad/bmm/facts.md", large)
	put(t, dir, "bmad/bmm/tasks/go.md", large+large)
	put(t, dir, "bmad/bmm/tasks/deep.md", strings.Repeat("<step>", 80)+strings.Repeat("</step>", 80))
	put(t, dir, "bmad/bmm/workflows/a/workflow.yaml", "name: a\ninstructions: facts.md\n")
	put(t, dir, "bmad/bmm/workflows/a/facts.md", large)
	put(t, dir, "bmad/bmm/workflows/b/workflow.yaml", "name: b\ninstructions: i.md\ntemplate: ../a/facts.md\n")
	put(t, dir, "bmad/bmm/workflows/b/i.md", "Do.")
	put(t, dir, "bmad/bmm/workflows/"+strings.Repeat("d/", 30)+"x.md", "Deep.")
	var got []string
	for _, f := range lint(t, dir, Options{}).Findings {
		if f.Code == CodeTooLarge || f.Code == CodeTooMuch {
			got = append(got, fmt.Sprintf("%s %s:%d", f.Severity, f.File, f.Line))
		}
	}
	want := []string{
		"error bmad/bmm/agents/ann.md:1", "error bmad/bmm/tasks/deep.md:1", "error bmad/bmm/tasks/go.md:1",
		"error bmad/bmm/workflows/a/workflow.yaml:2", "error bmad/bmm/workflows/b/workflow.yaml:3",
		"warning bmad/bmm/workflows/" + strings.TrimSuffix(strings.Repeat("d/", 21), "/") + ":1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "bmad/bmm/agents/ann.md", "<agent/>")
	if err := os.Link(filepath.Join(dir, "bmad/bmm/agents/ann.md"), filepath.Join(dir, "bmad/bmm/agents/bob.md")); err != nil {
		t.Skip("no hard links: ", err)
	}
	const want = "agents 0, workflows 0, tasks 0, skills 0\n" +
		"error unreadable bmad/bmm/agents/ann.md:1\nerror unreadable bmad/bmm/agents/bob.md:1\n"
	if got := summary(lint(t, dir, Options{})); got != want {
		t.Error(got)
	}
}

func TestTagLike(t *testing.T) {
	for name, want := range map[string]string{
		"acton": "action", "actions": "action", "axtion": "action", "atcion": "action", "Template_Output": "template-output",
		"crtical": "critical", "": "", "ax": "", "banana": "", "invoke-workflo": "invoke-workflow",
	} {
		if got := tagLike(name); got != want {
			t.Errorf("%q resembles %q, not %q", name, got, want)
		}
	}
}

// A directory called src/modules does not make its surroundings a BMAD tree.
func TestLintOfABundleInAnUnrelatedProject(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "app/src/modules/tea/bundle.yaml", "type: standalone\nname: tea\nversion: 1.0.0\nagent: {id: tea, file: agent.md}\n")
	put(t, dir, "app/src/modules/tea/agent.md", `<agent id="tea" name="T"><cmds><c cmd="*go" exec="{bundle-root}/go.md">Go</c></cmds></agent>`)
	report := lint(t, filepath.Join(dir, "app/src/modules/tea"), Options{})
	if report.Agents != 1 || report.Errors() != 1 || report.Findings[0].File != "agent.md" {
		t.Errorf("%+v", report)
	}
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What runs finds in spite of its name is no error: a step below the workflow that names
// it, a step beside another, the workflow.md of a newer version, a pack that is installed
// under a name with a dot.
func TestWhatIsFoundAnotherWayIsNoError(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"_bmad/core/config.yaml":                        "user_name: Ada\n",
		"_bmad/bmm/config.yaml":                         "user_name: Ada\n",
		"_bmad/core/workflows/storm/workflow.md":        "---\nname: storm\ndescription: d\n---\nTalk.\n",
		"_bmad/bmm/agents/pm.md":                        "<agent id=\"pm\" name=\"Jo\" title=\"PM\"><persona><role>r</role></persona><menu><item cmd=\"*go\" exec=\"{project-root}/_bmad/bmm/workflows/go/workflow.md\">Go</item></menu></agent>\n",
		"_bmad/bmm/workflows/go/workflow.md":            "---\nname: go\ndescription: d\n---\nLoad and execute `./step-01-init.md` to begin.\n",
		"_bmad/bmm/workflows/go/steps/step-01-init.md":  "---\nname: step-01-init\nworkflow_path: '{project-root}/_bmad/bmm/workflows/go'\nstorm: '{project-root}/_bmad/core/workflows/storm/workflow.yaml'\n---\nThen load `{workflow_path}/step-02-end.md`.\n",
		"_bmad/bmm/workflows/go/steps/step-02-end.md":   "The end.\n",
		"expansion-packs/bmad-godot/config.yaml":        "name: bmad-godot\n",
		"expansion-packs/bmad-godot/tasks/x.md":         "# X\n",
		"expansion-packs/bmad-godot/agents/game-dev.md": "# game-dev\n\n```yaml\nactivation-instructions:\n  - STEP 1: Load and read `.bmad-godot/config.yaml` before any greeting\nagent:\n  name: G\n  id: game-dev\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n```\n",
	} {
		put(t, dir, name, content)
	}
	instead := 0
	for _, f := range lint(t, dir, Options{}).Findings {
		if f.Severity == bundle.Error {
			t.Errorf("%s:%d: %s", f.File, f.Line, f.Message)
		}
		if strings.Contains(f.Message, "is used instead") {
			instead++
		}
	}
	if instead != 3 {
		t.Errorf("%d paths are said to be found another way, want 3", instead)
	}
}

// A file that is missing is an error where something would read it: a text, a step that
// follows, a command that validates. Else it is a line too many, and a warning.
func TestOnlyWhatWouldBeReadIsMissedAsAnError(t *testing.T) {
	dir := t.TempDir()
	menu := `<item cmd="*go" workflow="{project-root}/_bmad/bmm/workflows/go/workflow.yaml">Go</item>` +
		`<item cmd="*check" validate-workflow="{project-root}/_bmad/bmm/workflows/checked/workflow.yaml">Check</item>`
	for name, content := range map[string]string{
		"_bmad/core/config.yaml":             "user_name: Ada\n",
		"_bmad/bmm/config.yaml":              "user_name: Ada\n",
		"_bmad/bmm/agents/pm.md":             `<agent id="pm" name="Jo" title="PM"><persona><role>r</role></persona><menu>` + menu + "</menu></agent>\n",
		"_bmad/bmm/workflows/go/workflow.md": "---\nname: go\ndescription: d\n---\nLoad `./steps/step-01-init.md`.\n",
		"_bmad/bmm/workflows/go/steps/step-01-init.md": "---\nname: step-01-init\nunreadTemplate: ../unread.md\nreadTemplate: ../read.md\nnextStepFile: ../end.md\n" +
			"---\nWrite it like {readTemplate}.\n",
		"_bmad/bmm/workflows/go/workflow.yaml": "name: go\ninstalled_path: '{project-root}/_bmad/bmm/workflows/go'\ninstructions: '{installed_path}/instructions.md'\n" +
			"unread_data: '{installed_path}/unread.csv'\nread_data: '{installed_path}/read.csv'\nvalidation: '{installed_path}/checklist.md'\n",
		"_bmad/bmm/workflows/go/instructions.md": "<critical>You MUST have already loaded and processed: {project-root}/_bmad/bmm/workflows/gone/workflow.yaml</critical>\n" +
			"<critical>Read {project-root}/_bmad/bmm/rules.md</critical>\n<workflow><step n=\"1\"><action>Look into {read_data}; the validation comes later</action></step></workflow>\n",
		"_bmad/bmm/workflows/checked/workflow.yaml": "name: checked\ninstalled_path: '{project-root}/_bmad/bmm/workflows/checked'\ninstructions: '{installed_path}/instructions.md'\n" +
			"validation: '{installed_path}/checklist.md'\n",
		"_bmad/bmm/workflows/checked/instructions.md": "<workflow><step n=\"1\">Go.</step></workflow>\n",
	} {
		put(t, dir, name, content)
	}
	got := make(map[bundle.Severity][]string)
	for _, f := range lint(t, dir, Options{}).Findings {
		if strings.HasPrefix(f.Code, "dangling-") {
			got[f.Severity] = append(got[f.Severity], fmt.Sprintf("%s:%d", strings.TrimPrefix(f.File, "_bmad/bmm/workflows/"), f.Line))
		}
	}
	want := map[bundle.Severity][]string{
		bundle.Error:   {"checked/workflow.yaml:4", "go/instructions.md:2", "go/steps/step-01-init.md:4", "go/steps/step-01-init.md:5", "go/workflow.yaml:5"},
		bundle.Warning: {"go/instructions.md:1", "go/steps/step-01-init.md:3", "go/workflow.yaml:4", "go/workflow.yaml:6"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A core of version 4 without the dot is that of its packs, and of agents that only an editor
// has a copy of.
func TestTheCoreOfVersionFourIsFoundByPacksAndCopies(t *testing.T) {
	agent := func(id string) string {
		return "# " + id + "\n\n```yaml\nactivation-instructions:\n  - STEP 3: Load and read `bmad-core/core-config.yaml` before any greeting\nagent:\n  name: N\n  id: " + id +
			"\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n  - do: use task do.md\n  - exit: Exit\ndependencies:\n  tasks:\n    - do.md\n```\n"
	}
	for _, core := range []string{".bmad-core", "bmad-core", "apps/web/.bmad-core"} {
		dir := t.TempDir()
		above := strings.TrimSuffix(strings.TrimSuffix(core, "bmad-core"), ".")
		put(t, dir, core+"/core-config.yaml", "prd:\n  prdFile: docs/prd.md\n")
		put(t, dir, core+"/tasks/do.md", "# Do\n")
		put(t, dir, core+"/agents/pm.md", agent("pm"))
		put(t, dir, above+".bmad-godot/config.yaml", "name: bmad-godot\n")
		put(t, dir, above+".bmad-godot/agents/gamer.md", agent("gamer"))
		put(t, dir, above+".claude/commands/BMad/agents/copied.md", agent("copied"))
		report := lint(t, dir, Options{})
		if report.Agents != 3 {
			t.Errorf("%s: %d agents", core, report.Agents)
		}
		for _, f := range report.Findings {
			if f.Severity == bundle.Error {
				t.Errorf("%s: %s:%d: %s", core, f.File, f.Line, f.Message)
			}
		}
	}
}

// An agent and tasks at the top of a project make a bundle of all of it. What an installation inside
// has is that one's, and its documents are not missed.
func TestAnAgentAtTheTopJudgesNoInstallation(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"tasks/rise.md":          "# Rise\n",
		"agents/top.agent.yaml":  "agent:\n  metadata: {name: Top, title: T, icon: i}\n  persona: {role: r, identity: i, communication_style: c, principles: p}\n  menu:\n    - {trigger: rise, description: Rise, action: rise}\n",
		"_bmad/core/config.yaml": "user_name: Ada\noutput_folder: '{project-root}/out'\n",
		"_bmad/bmm/config.yaml":  "user_name: Ada\noutput_folder: '{project-root}/out'\nimplementation_artifacts: '{project-root}/out/impl'\n",
		"_bmad/bmm/agents/sm.md": `<agent id="sm" name="Bob" title="SM"><persona><role>r</role></persona><menu><item cmd="*go" workflow="{project-root}/_bmad/bmm/workflows/go/workflow.yaml">Go</item></menu></agent>` + "\n",
		"_bmad/bmm/workflows/go/workflow.yaml": "name: go\nconfig_source: '{project-root}/_bmad/bmm/config.yaml'\nimplementation_artifacts: '{config_source}:implementation_artifacts'\n" +
			"installed_path: '{project-root}/_bmad/bmm/workflows/go'\ninstructions: '{installed_path}/instructions.md'\nsprint_status: '{implementation_artifacts}/sprint-status.yaml'\n",
		"_bmad/bmm/workflows/go/instructions.md": "<workflow><step n=\"1\"><action>Read {sprint_status}</action></step></workflow>\n",
	} {
		put(t, dir, name, content)
	}
	report := lint(t, dir, Options{})
	if report.Agents != 2 || report.Workflows != 1 {
		t.Errorf("%d agents, %d workflows", report.Agents, report.Workflows)
	}
	for _, f := range report.Findings {
		if f.Severity == bundle.Error {
			t.Errorf("%s:%d: %s", f.File, f.Line, f.Message)
		}
	}
}

// What a team of version 4 names is used, although another pack has a file of that name.
func TestWhatATeamNamesIsNotUnused(t *testing.T) {
	dir := t.TempDir()
	for _, pack := range []string{".bmad-one", ".bmad-two"} {
		put(t, dir, pack+"/config.yaml", "name: "+pack[1:]+"\n")
		put(t, dir, pack+"/agents/dev.md", "# dev\n\n```yaml\nagent:\n  name: D\n  id: dev\n  title: T\npersona:\n  role: R\ncommands:\n  - help: Help\n  - exit: Exit\n```\n")
		put(t, dir, pack+"/workflows/build.yaml", "workflow:\n  id: build\n  name: Build\n  sequence: []\n")
		put(t, dir, pack+"/workflows/spare.yaml", "workflow:\n  id: spare\n  name: Spare\n  sequence: []\n")
		put(t, dir, pack+"/agent-teams/all.yaml", "bundle: {name: All}\nagents: [dev]\nworkflows:\n  - build.yaml\n")
	}
	unused := 0
	for _, f := range lint(t, dir, Options{}).Findings {
		if f.Code != CodeUnused {
			continue
		}
		unused++
		if strings.Contains(f.Message, "build.yaml") || !strings.Contains(f.Message, "spare.yaml") {
			t.Error(f.Message)
		}
	}
	if unused != 2 {
		t.Errorf("%d findings", unused)
	}
}

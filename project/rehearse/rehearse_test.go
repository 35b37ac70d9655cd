package rehearse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/project/rehearse"
	"github.com/troupe-dev/troupe/workspace"
)

// open finds the agents of a project and prepares to play their commands.
func open(t testing.TB, dir string) (*bundle.Catalog, *rehearse.Theatre) {
	t.Helper()
	catalog, err := bundle.Find(dir, bundle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	theatre, err := rehearse.Open(catalog, dir, func(string) bundle.Options {
		return bundle.Options{Roots: []workspace.Root{{Name: "shared", Dir: shared, Access: workspace.ReadWrite}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if found, _ := os.ReadDir(shared); len(found) > 0 {
			t.Errorf("a rehearsal wrote %v", found)
		}
		if err := theatre.Close(); err != nil {
			t.Error(err)
		}
		if err := catalog.Close(); err != nil {
			t.Error(err)
		}
	})
	return catalog, theatre
}

// project writes a bundle with one agent, whose command *go runs a workflow with
// these instructions.
func project(t *testing.T, instructions string) string {
	t.Helper()
	dir := t.TempDir()
	bundle := filepath.Join(dir, "bmad", "custom", "bundles", "b")
	for name, content := range map[string]string{
		"bundle.yaml":       "type: bundle\nname: b\nversion: 1.0.0\ndescription: x\nagents: [{id: a, name: A, title: T, file: a.md, entry_point: true}]\n",
		"config.yaml":       "user_name: X\n",
		"a.md":              "<agent id=\"a\" name=\"A\" title=\"T\"><persona><role>R</role></persona><cmds><c cmd=\"*go\" run-workflow=\"{bundle-root}/w/workflow.yaml\">Go</c><c cmd=\"*later\" run-workflow=\"todo\">Later</c></cmds></agent>",
		"w/workflow.yaml":   "name: w\ndescription: d\ninstalled_path: \"{bundle-root}/w\"\ninstructions: \"{installed_path}/instructions.md\"\nextra: \"{installed_path}/extra.md\"\nother: \"{installed_path}/other.md\"\n",
		"w/instructions.md": instructions,
		"w/extra.md":        "# Extra\n\n" + strings.Repeat("More to read. ", 100),
		"w/other.md":        "# Other",
	} {
		path := filepath.Join(bundle, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func play(t *testing.T, dir, command string) rehearse.Report {
	t.Helper()
	catalog, theatre := open(t, dir)
	d, err := catalog.Definition("a")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(d.Commands, func(c bundle.Command) bool { return c.Cmd == command })
	report, err := theatre.Play(t.Context(), d, d.Commands[i])
	if err != nil {
		t.Fatal(err)
	}
	reports := []rehearse.Report{report}
	theatre.Settle(reports)
	return reports[0]
}

func TestAReportSaysWhatWasDone(t *testing.T) {
	dir := project(t, "<workflow><step n=\"1\" goal=\"Ask\"><ask>Name?</ask><ask>Colour?</ask></step>"+
		"<step n=\"2\" goal=\"Load\"><action>LOAD {installed_path}/extra.md</action><template-output>x</template-output></step></workflow>")
	r := play(t, dir, "*go")
	if r.Result != rehearse.Complete || r.Questions != 2 || r.Steps < 2 || len(r.Written) != 1 || len(r.DeadEnds) != 0 {
		t.Errorf("%+v", r)
	}
	for _, file := range []string{"workflow.yaml", "instructions.md", "extra.md"} {
		if !slices.Contains(r.Read, "bmad/custom/bundles/b/w/"+file) {
			t.Errorf("%s is not among the files read: %q", file, r.Read)
		}
	}
	if !slices.Equal(r.Unreached, []string{"bmad/custom/bundles/b/w/other.md"}) {
		t.Errorf("unreached %q", r.Unreached)
	}
	if r.Tokens.Start == 0 || r.Tokens.End <= r.Tokens.Start || r.Tokens.UpFront < r.Tokens.Start+350 {
		t.Errorf("tokens %+v", r.Tokens)
	}
}

func TestARehearsalWritesNowhere(t *testing.T) {
	r := play(t, project(t, "<workflow><step n=\"1\" goal=\"Write\"><template-output file=\"{shared}/x.md\">x</template-output></step></workflow>"), "*go")
	if r.Result != rehearse.Complete || len(r.Written) == 0 {
		t.Errorf("%+v", r)
	}
}

func TestAFileThatIsMissingOnTheWayIsADeadEnd(t *testing.T) {
	r := play(t, project(t, "<workflow><step n=\"1\" goal=\"Load\"><action>LOAD {bundle-root}/nowhere.md</action></step></workflow>"), "*go")
	if r.Result != rehearse.DeadEnd || len(r.DeadEnds) != 1 || !strings.Contains(r.DeadEnds[0], "nowhere.md") {
		t.Errorf("%+v", r)
	}
}

func TestEndlessQuestionsAreADeadEnd(t *testing.T) {
	var asks strings.Builder
	for i := range 200 {
		fmt.Fprintf(&asks, "<ask>Question %d?</ask>\n", i)
	}
	r := play(t, project(t, "<workflow><step n=\"1\" goal=\"Ask\">"+asks.String()+"</step></workflow>"), "*go")
	if r.Result != rehearse.DeadEnd || !strings.Contains(strings.Join(r.DeadEnds, " "), "it still asks after 150 answers") {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsYetToBeWrittenIsNoDeadEnd(t *testing.T) {
	if r := play(t, project(t, "<workflow></workflow>"), "*later"); r.Result != rehearse.Unbegun || len(r.DeadEnds) != 0 {
		t.Errorf("%+v", r)
	}
}

// An installed tree has all its files, so every command of it leads somewhere.
func TestAnInstalledTreeHasNoDeadEnds(t *testing.T) {
	dir := corpus.Path(t, "bmad/v6-alpha5-installed")
	catalog, theatre := open(t, dir)
	d, err := catalog.Definition("analyst")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Commands {
		r, err := theatre.Play(t.Context(), d, c)
		if err != nil || r.Result != rehearse.Complete {
			t.Errorf("%s: %+v, %v", c.Cmd, r, err)
		}
	}
}

// missing is the path in a dead end of a file that is not there.
var missing = regexp.MustCompile(`(?:read|resolve) (\S+): not found`)

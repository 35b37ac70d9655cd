package troupetest_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

var updating = troupetest.UpdateFlag()

func TestConversations(t *testing.T) {
	troupetest.Transcript(t, "testdata/conversations/*.txtar", stage)
}

// stage builds an adder, or a lead with two of them where there is one. The file
// turns limits the turns.
func stage(t *testing.T, scene *troupetest.Scene) troupe.Step {
	if text := strings.TrimSpace(scene.Files["turns"]); text != "" {
		turns, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		scene.Config.Limits.Turns = turns
	}
	agent := func(id string) *troupe.Agent { return adder(t, id, scene.Instructions(id), scene.Model(id)) }
	if scene.Instructions("lead") == scene.Instructions("calc") {
		return agent("calc")
	}
	lead, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "lead", Instructions: scene.Instructions("lead"), Model: scene.Model("lead"),
		Tools: []troupe.Tool{troupe.AsTool(agent("one"), "Adds."), troupe.AsTool(agent("two"), "Adds, too.")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return lead
}

// inChild runs tests of this binary in a process of its own, where they may fail.
// There conversations are those of dir.
func inChild(t *testing.T, pattern, dir string, args ...string) (output string, passed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=" + pattern}, args...)...)
	cmd.Env = append(os.Environ(), "TROUPETEST_CHILD="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestConversationsOfAChild plays the conversations that another test wrote.
func TestConversationsOfAChild(t *testing.T) {
	dir := os.Getenv("TROUPETEST_CHILD")
	if dir == "" {
		t.Skip("it is run by other tests")
	}
	troupetest.Transcript(t, filepath.Join(dir, "*.txtar"), stage)
}

const conversation = `A comment that stays.
-- agent --
You add numbers.
-- input --
hi
-- replies --
say Hello.
`

func TestTranscriptReportsAndUpdatesWhatDiffers(t *testing.T) {
	const test = "^TestConversationsOfAChild$"
	dir := t.TempDir()
	file := filepath.Join(dir, "hello.txtar")
	if err := os.WriteFile(file, []byte(conversation+"-- events --\nrun_started calc \"bye\"\n-- notes --\nkept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	output, passed := inChild(t, test, dir)
	for _, want := range []string{"hello.txtar: the events differ", " -run_started calc \"bye\"\n", " +run_started calc \"hi\"\n"} {
		if passed || !strings.Contains(output, want) {
			t.Errorf("want %q in\n%s", want, output)
		}
	}
	if output, passed = inChild(t, test, dir, "-update"); !passed {
		t.Errorf("updating:\n%s", output)
	}
	updated, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	events := `-- events --
run_started calc "hi"
user_said "hi"
context_loaded system from instructions "You add numbers."
model_replied stop "Hello."
run_finished answered "Hello." turns=1
`
	if want := conversation + events + "-- notes --\nkept\n"; string(updated) != want {
		t.Errorf("updated to\n%s\nwant\n%s", updated, want)
	}
	if output, passed = inChild(t, test, dir); !passed {
		t.Errorf("after updating:\n%s", output)
	}
}

func TestTranscriptReportsWhatCannotBePlayed(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ text, want string }{
		{"-- replies --\nsay \"x\"\nshout x\n", `replies: line 2: "shout" is none of say`},
		{"-- replies --\nsay \"x\n", `line 1: "x is not a Go string`},
		{"-- input --\nhi\n", "agent calc: the transcript has no replies for it"},
		{conversation + "\nsay And more.\n", "replies: 1 of 2 turns were never played"},
		{strings.Replace(conversation, "say", "wait", 1), "time: invalid duration"},
		{strings.Replace(conversation, "say", "usage", 1), "want the numbers of input and output tokens"},
	}
	for i, test := range tests {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".txtar")), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output, _ := inChild(t, "^TestConversationsOfAChild$", dir, "-update")
	for i, test := range tests {
		if !strings.Contains(output, fmt.Sprint("--- FAIL: TestConversationsOfAChild/", i)) || !strings.Contains(output, test.want) {
			t.Errorf("want %q in\n%s", test.want, output)
		}
	}
	if output, passed := inChild(t, "^TestConversationsOfAChild$", t.TempDir()); passed || !strings.Contains(output, "there are none") {
		t.Errorf("without a file:\n%s", output)
	}
}

func TestUpdateFlagIsDeclaredOnce(t *testing.T) {
	again := troupetest.UpdateFlag()
	if again() != updating() || flag.Lookup("update") == nil {
		t.Error("a second declaration differs from the first")
	}
}

package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
)

// inRun carries out something that calls tools, as a run does.
func inRun(t *testing.T, do func(ctx context.Context, run *troupe.Run) error) {
	t.Helper()
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	step := troupe.NewStep("test", func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		return in, do(ctx, run)
	})
	if _, err := troupe.Collect(engine.Run(t.Context(), step, troupe.Input{Text: "x"})); err != nil {
		t.Fatal(err)
	}
}

// moved lets a run work on a site.
func (o *openSite) moved(t *testing.T, run *troupe.Run) {
	t.Helper()
	if err := os.Rename(o.folder, o.workshop.folder(run.Session())); err != nil {
		t.Fatal(err)
	}
	o.folder = o.workshop.folder(run.Session())
}

// The nearest documents are read whole; where there is no room left, older ones are named only.
func TestDocumentsOfEarlierPhasesHaveARoom(t *testing.T) {
	s := &workshop{Repository: Repository{Data: t.TempDir()}}
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		write(t, filepath.Join(s.folder(run.Session()), DocumentsDir), map[string]string{
			"a.md": "A", "b.md": strings.Repeat("b", maxDocument+10), "c.md": strings.Repeat("c", maxDocument), "d.md": strings.Repeat("d", 40<<10), "e.md": "E",
		})
		in := documentsRequest{}
		for _, name := range []string{"a.md", "gone.md", "b.md", "c.md", "d.md", "e.md"} {
			in.Documents = append(in.Documents, document{Phase: "p", Path: name})
		}
		out, err := call[documentsResult](ctx, run, s.documentsTool(), in)
		var got []string
		for _, d := range out.Documents {
			got = append(got, fmt.Sprintf("%s %s %d", d.Path, d.Content[:1], len(d.Content)))
		}
		rest := maxDocuments - 1 - 40<<10 - maxDocument
		want := []string{"a.md ( 54", fmt.Sprintf("b.md b %d", rest+len("…")), fmt.Sprintf("c.md c %d", maxDocument), "d.md d 40960", "e.md E 1"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		return err
	})
}

func TestAPlanIsWrittenStepByStep(t *testing.T) {
	s := &workshop{Repository: Repository{Data: t.TempDir()}}
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		if p, err := call[Plan](ctx, run, s.readPlanTool(), struct{}{}); err != nil || len(p.Steps) != 0 {
			t.Errorf("%+v, %v", p, err)
		}
		for _, c := range []struct {
			update planUpdate
			want   string
		}{
			{planUpdate{Plan: planOfSteps(PlanStep{ID: "1"}, PlanStep{ID: "2"})}, "1 todo 0, 2 todo 0"},
			{planUpdate{Step: &PlanStep{ID: "1", Status: StepDone, Commit: "c", Rounds: 3, Reason: "r"}}, "1 done c3r, 2 todo 0"},
			{planUpdate{Add: []PlanStep{{ID: "wish-1"}}, After: "1"}, "1 done c3r, wish-1 todo 0, 2 todo 0"},
			{planUpdate{Add: []PlanStep{{ID: "fix-1"}, {ID: "1", Title: "again"}}}, "1 done c3r, wish-1 todo 0, 2 todo 0, fix-1 todo 0"},
			{planUpdate{Step: &PlanStep{ID: "gone", Status: StepDone}}, "1 done c3r, wish-1 todo 0, 2 todo 0, fix-1 todo 0"},
		} {
			if _, err := call[Plan](ctx, run, s.writePlanTool(), c.update); err != nil {
				return err
			}
			p, err := call[Plan](ctx, run, s.readPlanTool(), struct{}{})
			var got []string
			for _, step := range p.Steps {
				got = append(got, fmt.Sprintf("%s %s %s%d%s", step.ID, step.Status, step.Commit, step.Rounds, step.Reason))
			}
			if text := strings.Join(got, ", "); err != nil || text != c.want {
				t.Errorf("got %s, %v; want %s", text, err, c.want)
			}
		}
		return nil
	})
}

func TestFilesAreShownWithNumbersWhileThereIsRoom(t *testing.T) {
	o, at := filled(t, map[string]string{
		"a.txt": "one\ntwo\n", "sub/b.txt": "b\n", "large.txt": strings.Repeat("0123456789abcdef\n", 1900), "larger.txt": strings.Repeat("0123456789abcdef\n", 1900), "long.txt": strings.Repeat("x\n", 3000), "bin": "\x00", "a_test.go": "func TestA() {}\n",
	}, Repository{})
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		o.moved(t, run)
		look := func(in lookRequest) lookResult {
			t.Helper()
			in.state = at
			out, err := call[lookResult](ctx, run, o.lookTool(), in)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		got := look(lookRequest{Paths: []string{"a.txt", "gone.txt", "b.txt", "large.txt", "larger.txt", "bin"}, Run: "r", Tests: []string{"TestA", "TestX"}})
		if !strings.Contains(got.Files, "two\n") || !strings.Contains(got.Files, "larger.txt is not shown: there is no room left") || strings.Contains(got.Files, "\x00") || got.Diff != "" {
			t.Errorf("got %.300s", got.Files)
		}
		if !slices.Equal(got.Missing, []string{"gone.txt", "b.txt"}) || !slices.Equal(got.MissingTests, []string{"TestX"}) {
			t.Errorf("missing are %q and %q", got.Missing, got.MissingTests)
		}
		if got := o.shown([]string{"r"}); len(got) != 2 || !strings.HasPrefix(got[0], "a.txt ") || !strings.HasPrefix(got[1], "large.txt ") {
			t.Errorf("shown are %q", got)
		}
		if look(lookRequest{Paths: []string{"long.txt"}, Run: "other"}); o.shown([]string{"other"}) != nil {
			t.Error("a part of a file is taken for the whole")
		}
		if got := look(lookRequest{Paths: []string{"b.txt", "a.txt", "gone.txt", "xt"}, ByName: true, OnlyMissing: true}); got.Files != "" || !slices.Equal(got.Missing, []string{"gone.txt", "xt"}) {
			t.Errorf("got %+v", got)
		}
		write(t, o.Worktree, map[string]string{"a.txt": "three\n"})
		now, err := o.worktree.Snapshot(ctx)
		if err != nil {
			return err
		}
		since := at.Head
		at.Tree = now
		if got := look(lookRequest{Since: since}); !strings.Contains(got.Diff, "+three") {
			t.Errorf("got %q", got.Diff)
		}
		return nil
	})
}

// Changes are applied all or none, and what was not there before is said to be made.
func TestChangesAreAppliedAllOrNone(t *testing.T) {
	o, at := filled(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"}, Repository{Protect: []string{"secret/**"}, Version: "v1"})
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		o.moved(t, run)
		apply := func(own []string, changes ...edit.Change) applyResult {
			t.Helper()
			out, err := call[applyResult](ctx, run, o.applyTool(), applyRequest{state: at, At: time.Unix(0, 0), Step: "1", Changes: changes, Own: own})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		fits, not := edit.Change{Path: "new", Type: edit.TypeFile, Content: "x\n"}, edit.Change{Path: "b", Type: edit.TypeEdit, Edits: []edit.Edit{{Search: "nothing", Replace: "x"}}}
		if got := apply(nil, fits, not); len(got.Problems) != 1 || !slices.Equal(got.Fits, []string{"new"}) || got.Tree != at.Tree || got.Made != nil || got.Files != nil {
			t.Errorf("got %+v", got)
		}
		whole := edit.Change{Path: "a", Type: edit.TypeFile, Content: "2\n"}
		if got := apply(nil, whole); len(got.Problems) != 1 {
			t.Errorf("one that nobody has seen: %+v", got)
		}
		got := apply([]string{"a"}, whole, fits, edit.Change{Path: "c", Type: edit.TypeDelete})
		if len(got.Problems) != 0 || !slices.Equal(got.Made, []string{"new"}) || len(got.Files) != 3 || got.Tree == at.Tree {
			t.Errorf("got %+v", got)
		}
		if text := shell(t, o.Worktree, "cat a new; ls"); text != "2\nx\na\nb\nnew" {
			t.Errorf("got %q", text)
		}
		committed, err := call[commitResult](ctx, run, o.commitTool(), commitRequest{state: got.state, At: time.Unix(0, 0), Step: "1", Message: " Do it \n"})
		if err != nil || committed.Head != committed.Commit || len(committed.Files) != 3 {
			t.Errorf("%+v, %v", committed, err)
		}
		if text := shell(t, o.Worktree, "git log -1 --format=%B"); text != "Do it\n\nDelivered-by: Troupe v1, delivery id, step 1" {
			t.Errorf("got %q", text)
		}
		at = committed.state
		tried := apply([]string{"a"}, edit.Change{Path: "a", Type: edit.TypeFile, Content: "3\n"})
		reset, err := call[resetResult](ctx, run, o.resetTool(), resetRequest{state: tried.state, At: time.Unix(0, 0), Step: "Two", Try: 1})
		if err != nil || reset.Ref != "refs/troupe/id/attempts/two-1" || reset.Tree == tried.Tree || shell(t, o.Worktree, "cat a; git show "+reset.Ref+":a") != "2\n3" {
			t.Errorf("%+v, %v", reset, err)
		}
		again, err := call[resetResult](ctx, run, o.resetTool(), resetRequest{state: reset.state, At: time.Unix(0, 0), Step: "Two", Try: 2})
		if err != nil || again.Ref != "" || again.Tree != reset.Tree {
			t.Errorf("%+v, %v", again, err)
		}
		change, err := call[diffResult](ctx, run, o.diffTool(), diffRequest{From: o.Base, To: committed.Commit})
		if err != nil || !strings.Contains(change.Diff, "+2") || len(change.Files) != 3 {
			t.Errorf("%+v, %v", change, err)
		}
		stat, err := call[diffResult](ctx, run, o.statTool(), diffRequest{From: o.Base, To: o.Base})
		if err != nil || stat.Files == nil || len(stat.Files) != 0 {
			t.Errorf("%+v, %v", stat, err)
		}
		return nil
	})
}

// shell is run, where a run has that name.
func shell(t *testing.T, dir, line string) string { t.Helper(); return run(t, dir, line) }

func TestDocumentsAreCommittedAtTheirPaths(t *testing.T) {
	o, at := filled(t, map[string]string{"same.md": "S", "old.md": "old", ".gitignore": "ignored.md\n"}, Repository{})
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		o.moved(t, run)
		write(t, filepath.Join(o.folder, DocumentsDir), map[string]string{"specs/a.md": "A", "same.md": "S", "old.md": "new", "ignored.md": "I", "bin": "\x00", ".git/x": "no"})
		in := keepDocsRequest{state: at, At: time.Unix(0, 0), Feature: "todo-app", Paths: []string{"same.md", "ignored.md", "bin", ".git/x", "gone.md"}}
		out, err := call[commitResult](ctx, run, o.keepDocsTool(), in)
		if err != nil || out.Commit != "" || out.Head != at.Head {
			t.Errorf("%+v, %v", out, err)
		}
		in.Paths = append(in.Paths, "specs/a.md", "old.md")
		out, err = call[commitResult](ctx, run, o.keepDocsTool(), in)
		if err != nil || out.Head != out.Commit || shell(t, o.Worktree, "git show --stat --format=%s "+out.Commit+" | sed '/^$/d;s/|.*//'; cat old.md specs/a.md") != "docs: specification of todo app\n old.md     \n specs/a.md \n 2 files changed, 2 insertions(+), 1 deletion(-)\nnewA" {
			t.Errorf("%+v, %v, %s", out, err, shell(t, o.Worktree, "git show --stat --format=%s "+out.Commit+"; cat old.md specs/a.md"))
		}
		return nil
	})
}

func TestPassagesOfTheKnowledgeBaseAreClipped(t *testing.T) {
	base := passages{{Document: "a.md", Text: strings.Repeat("x", 2100)}, {Document: "b.md", Text: "short"}}
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		tool := knowledgeTool(func(string) Knowledge { return base })
		out, err := call[knowledgeResult](ctx, run, tool, knowledgeRequest{Question: "todo app step 2", Limit: maxPassages})
		if len(out.Passages) != 2 || out.Passages[0].Document != "a.md" || len(out.Passages[0].Text) != 2000+len("…") || out.Passages[1].Text != "short" {
			t.Errorf("got %+v", out.Passages)
		}
		if _, err := run.Call(ctx, knowledgeTool(func(string) Knowledge { return nil }), knowledgeRequest{}); err == nil || !strings.Contains(err.Error(), "there is no knowledge base") {
			t.Error(err)
		}
		return err
	})
}

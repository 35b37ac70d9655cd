package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// A mortal store takes so many events and then nothing more, as that of a process that
// was killed.
type mortal struct {
	troupe.Store
	left int
	// isLate is for one that takes the last event and dies at the next: what comes of
	// the last event is done, and not on record.
	isLate bool
}

var errDead = errors.New("the process was killed")

func (m *mortal) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if m.left < len(events) {
		events = events[:m.left]
	}
	if len(events) > 0 {
		if err := m.Store.Append(ctx, session, events...); err != nil {
			return err
		}
	}
	if m.left -= len(events); m.left > 0 || m.isLate && len(events) > 0 {
		return nil
	}
	return errDead
}

// killed runs a delivery whose process is killed after so many events.
func (y *yard) killed(after int) {
	y.t.Helper()
	y.die(&mortal{Store: y.store, left: after})
}

// die runs a delivery in a process that is killed.
func (y *yard) die(store troupe.Store) {
	y.t.Helper()
	engine := newEngine(y.t, store)
	for e, err := range engine.Run(y.t.Context(), deliver(y.t, y.config), troupe.Input{Text: "Add a median to the stats package", Limits: troupe.Limits{Turns: 300}}) {
		if err != nil {
			break
		}
		y.session = e.Session
	}
	engine.Close()
	if y.session == "" {
		for info, err := range y.store.Sessions(y.t.Context(), troupe.SessionFilter{}) {
			if err != nil {
				y.t.Fatal(err)
			}
			y.session = info.ID
		}
	}
	y.engine = newEngine(y.t, y.store)
}

// roundabout is a story with a failing round, a file that does not fit, and a finding.
func roundabout(t testing.TB) *yard {
	y := shellYard(t)
	return y.with("implementation", func(step, prompt string, _ int) string {
		if step == "1" && !strings.Contains(prompt, "YOUR LAST ANSWER") {
			return built(fileOf("step1.ok", "bad\n"), edited("notes.txt", "two\n", "2\n"))
		}
		if step == "1" {
			return built(edited("step1.ok", "bad", "good"))
		}
		return built(fileOf("step"+step+".ok", "good\n"))
	}).with("qa", func(_, prompt string, _ int) string {
		if !strings.Contains(prompt, "YOUR LAST REVIEW") {
			return reviewed("changes_required", nil, []object{{"id": "F1", "severity": "major", "path": "notes.txt", "problem": "one more"}})
		}
		return y.usual("qa", "")
	})
}

func (y *yard) result(r *pipeline.Report) string {
	return y.sh("git rev-parse " + r.Branch + "^{tree}; git log --format='%s' " + r.Branch + "; git status --porcelain")
}

// Killed after any event, a delivery comes to the same tree and the same commits, each once.
func TestADeliveryIntoARepositoryIsKilledAnywhere(t *testing.T) {
	whole := roundabout(t)
	r := whole.mustRun(pipeline.OutcomeDelivered)
	want, events, asked := whole.result(r), len(whole.events()), len(whole.asked)
	stride := 40
	if testing.Short() {
		stride = 25
	}
	if os.Getenv("TROUPE_EVERY_EVENT") != "" {
		stride = 1
	}
	for after := 2; after < events; after += stride {
		y := roundabout(t)
		y.killed(after)
		got, end, err := y.resume()
		if err != nil || got == nil {
			t.Fatalf("killed after %d of %d events: %v %+v", after, events, err, end)
		}
		if got.Outcome != pipeline.OutcomeDelivered || y.result(got) != want {
			t.Fatalf("killed after %d of %d events: %s %q\n%s\nwant\n%s", after, events, got.Outcome, got.Reasons, y.result(got), want)
		}
		if n := len(y.asked); n > asked+1 {
			t.Errorf("killed after %d events: the models were asked %d times, want %d", after, n, asked)
		}
	}
	t.Logf("%d events, every %dth", events, stride)
}

// Killed between what a tool did to the worktree and the record of it, a delivery does
// not take its own work for a person's.
func TestADeliveryKnowsItsOwnWorkAgain(t *testing.T) {
	whole := roundabout(t)
	want := whole.result(whole.mustRun(pipeline.OutcomeDelivered))
	tried := map[string]int{}
	for i, e := range whole.events() {
		called, ok := e.Body.(*troupe.ToolCalled)
		isChange := ok && (called.Tool == "apply_changes" || called.Tool == "keep_attempt" || called.Tool == "commit_step")
		if !ok || os.Getenv("TROUPE_EVERY_EVENT") == "" && (!isChange || tried[called.Tool] == 2) {
			continue
		}
		tried[called.Tool]++
		y := roundabout(t)
		y.die(&mortal{Store: y.store, left: i + 1, isLate: true})
		got, end, err := y.resume()
		if err != nil || got == nil || got.Outcome != pipeline.OutcomeDelivered || y.result(got) != want || len(y.warnings("by_hand")) > 0 {
			t.Errorf("killed in %s: %v %+v %+v", called.Tool, err, got, end)
		}
	}
	if len(tried) < 2 {
		t.Errorf("only %v were tried", tried)
	}
}

// resumeChangedByHand resumes a delivery to its end after somebody has put a file into its
// worktree.
func (y *yard) resumeChangedByHand() *pipeline.Report {
	y.t.Helper()
	site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
	if err != nil {
		y.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site.Worktree, "hand.ok"), []byte("good\n"), 0o644); err != nil {
		y.t.Fatal(err)
	}
	r, _, err := y.resume()
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered {
		y.t.Fatalf("%+v %v", r, err)
	}
	return r
}

// What a person changes after such a kill is kept, without what the tool did.
func TestWhatIsChangedByHandOverOurOwnWorkSurvives(t *testing.T) {
	first := shellYard(t)
	first.mustRun(pipeline.OutcomeDelivered)
	at := slices.IndexFunc(first.events(), func(e troupe.Event) bool {
		called, ok := e.Body.(*troupe.ToolCalled)
		return ok && called.Tool == "apply_changes"
	})
	y := shellYard(t)
	y.die(&mortal{Store: y.store, left: at + 1, isLate: true})
	r := y.resumeChangedByHand()
	if files := y.sh("git log --format= --name-only --grep='^By hand' " + r.Branch); strings.TrimSpace(files) != "hand.ok" {
		t.Errorf("by hand are %q", files)
	}
}

// What a person changes in the worktree while the delivery is down survives.
func TestWhatIsChangedByHandSurvives(t *testing.T) {
	first := shellYard(t)
	first.mustRun(pipeline.OutcomeDelivered)
	at := 0
	for i, e := range first.events() {
		if b, ok := e.Body.(*troupe.ToolReturned); ok && b.Tool == "commit_step" {
			at = i + 1
			break
		}
	}
	y := shellYard(t)
	y.killed(at + 4)
	r := y.resumeChangedByHand()
	log := y.sh("git log --format=%s " + r.Branch)
	if !strings.Contains(log, "By hand") || !strings.Contains(y.sh("git ls-tree -r --name-only "+r.Branch), "hand.ok") {
		t.Errorf("it is lost: %s", log)
	}
	if len(y.warnings("by_hand")) == 0 {
		t.Error("nobody was told")
	}
}

// A worktree that was removed is made anew.
func TestAWorktreeThatIsGoneIsMadeAnew(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApproveDiff
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(site.Worktree); err != nil {
		t.Fatal(err)
	}
	if r, _, err := y.say("go on"); err != nil || r.Outcome != pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
}

// A model that is gone stops the delivery, and it goes on at that very round.
func TestAModelThatIsGone(t *testing.T) {
	y, isGone := shellYard(t), true
	y.with("implementation", func(step, _ string, _ int) string {
		if step == "2" && isGone {
			return "FAIL 401 no such key"
		}
		return built(fileOf("step"+step+".ok", "good\n"))
	})
	if _, _, err := y.run(nil); err == nil {
		t.Fatal("it came to its end")
	}
	if s := pipeline.Summarize(y.events()); s.State != "failed" || len(s.Errors) != 1 {
		t.Errorf("it is %s: %q", s.State, s.Errors)
	}
	isGone = false
	r, _, err := y.resume()
	if err != nil || r.Outcome != pipeline.OutcomeDelivered || len(r.Commits) != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	if s := pipeline.Summarize(y.events()); len(s.Errors) > 0 || !s.Success {
		t.Errorf("delivered, and it still says %q", s.Errors)
	}
}

// Killed while the worktree is filled, at whatever point, a delivery fills it anew, and
// takes nothing that is missing there for a person's doing.
func TestAWorktreeThatIsFilledByHalves(t *testing.T) {
	whole := shellYard(t)
	want := whole.result(whole.mustRun(pipeline.OutcomeDelivered))
	index := func(tool string) int {
		return slices.IndexFunc(whole.events(), func(e troupe.Event) bool {
			called, ok := e.Body.(*troupe.ToolCalled)
			return ok && called.Tool == tool
		}) + 1
	}
	for _, c := range []struct{ name, tool, damage string }{
		{"nothing is there", "open_worktree", "find $W -mindepth 1 -not -name .git -delete; rm -f $G/index"},
		{"half of it is there", "run_check", "rm -f $G/index; find $W -type f -not -name .git | sort | head -1 | xargs rm; : >$G/filling.index.lock"},
		{"a file is half written", "run_check", "rm -f $G/index; for f in $W/*; do printf x >$f; done"},
		{"it is emptied later", "apply_changes", "find $W -mindepth 1 -not -name .git -delete; rm -f $G/index"},
	} {
		y := shellYard(t)
		y.die(&mortal{Store: y.store, left: index(c.tool), isLate: true})
		site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
		if err != nil {
			t.Fatal(err)
		}
		y.sh("W=" + site.Worktree + " G=$(git rev-parse --git-common-dir)/worktrees/" + filepath.Base(site.Worktree) + "; test -d $G && " + c.damage)
		got, end, err := y.resume()
		if err != nil || got == nil || got.Outcome != pipeline.OutcomeDelivered || y.result(got) != want || len(y.warnings("by_hand")) > 0 {
			t.Errorf("%s, killed in %s: %v %+v %+v", c.name, c.tool, err, got, end)
		}
	}
}

// What a person changes in the worktree while they are asked about the plan is kept.
func TestWhatIsChangedByHandAtTheGateSurvives(t *testing.T) {
	y := shellYard(t)
	y.config.Approve = pipeline.ApprovePlan
	if _, _, err := y.run(nil); err != nil {
		t.Fatal(err)
	}
	site, err := pipeline.ReadSite(filepath.Join(y.data, y.session))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site.Worktree, "hand.ok"), []byte("good\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _, err := y.say("go on")
	if err != nil || r == nil || r.Outcome != pipeline.OutcomeDelivered || !strings.Contains(y.sh("git ls-tree -r --name-only "+r.Branch), "hand.ok") {
		t.Fatalf("%+v %v", r, err)
	}
}

// What a person changes while a step fails is kept beside the attempt.
func TestWhatIsChangedByHandInAFailingStepSurvives(t *testing.T) {
	y := shellYard(t)
	y.with("implementation", func(step, _ string, n int) string {
		if step != "1" {
			return built(fileOf("step"+step+".ok", "good\n"))
		}
		if site, err := pipeline.ReadSite(filepath.Join(y.data, y.session)); err == nil && n == 2 {
			if err := os.WriteFile(filepath.Join(site.Worktree, "hand.ok"), []byte("good\n"), 0o644); err != nil {
				t.Error(err)
			}
		}
		return "I would rather not say."
	})
	r, _, err := y.run(nil)
	if err != nil || r == nil || r.Outcome == pipeline.OutcomeDelivered {
		t.Fatalf("%+v %v", r, err)
	}
	if !strings.Contains(y.sh("git ls-tree -r --name-only "+r.Branch), "hand.ok") {
		t.Errorf("it is lost: %s", y.sh("git log --stat "+r.Branch))
	}
}

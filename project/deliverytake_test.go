package project_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofrs/flock"

	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

// Whoever takes a delivery back that was taken back already, or drops one that was taken, has
// not seen how it stands: nothing is done.
func TestADeliveryIsTakenBackOnceAndDroppedOnlyThen(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	tip := git(t, d.repo, "rev-parse", site.Branch)
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if git(t, d.repo, "rev-parse", site.Branch) != tip {
			t.Fatal("the branch is another one")
		}
	}
	_, err := d.RevertDelivery(t.Context(), site)
	refused(err, "it was not taken")
	behind := *site
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil {
		t.Fatal(err)
	}
	refused(d.DropDelivery(t.Context(), &behind), "it was taken: take it back first")
	behind = *site
	if _, err := d.RevertDelivery(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	_, err = d.RevertDelivery(t.Context(), &behind)
	refused(err, "it was taken back already")
}

// What was taken back can be taken again, with all that it was, as often as somebody likes.
func TestADeliveryThatWasTakenBackIsTakenAgain(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	whole := git(t, d.repo, "rev-parse", site.Branch+"^{tree}")
	empty := git(t, d.repo, "rev-parse", "main^{tree}")
	for n := range 3 {
		before := git(t, d.repo, "rev-parse", "main")
		_, after, err := d.ApplyDelivery(t.Context(), site, n == 1)
		if err != nil || after == before || git(t, d.repo, "rev-parse", "main^{tree}") != whole || git(t, d.repo, "status", "--porcelain", "--untracked-files=no") != "" {
			t.Fatalf("take %d: %s, %v", n+1, after, err)
		}
		if site, err = d.Site(site.ID); err != nil || len(site.Brought) != 1 || site.Brought[0].Before != before {
			t.Fatalf("take %d: %+v, %v", n+1, site, err)
		}
		if _, err := d.RevertDelivery(t.Context(), site); err != nil || git(t, d.repo, "rev-parse", "main^{tree}") != empty {
			t.Fatalf("back %d: %v", n+1, err)
		}
	}
}

// What has come to a branch since it was taken can be taken, too; and what was taken into one
// branch is not taken back in another.
func TestADeliveryIsTakenWholeAndTakenBackWhereItWasTaken(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	web, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	show := func() (view struct {
		Applied, Untaken bool
		Elsewhere, Acts  []string
	}) {
		t.Helper()
		if status, text := request(web, "GET", "/api/deliveries/"+site.Session, ""); status != http.StatusOK || json.Unmarshal([]byte(text), &view) != nil {
			t.Fatal(status, text)
		}
		return view
	}
	if _, _, err := d.ApplyDelivery(t.Context(), site, true); err != nil || show().Untaken {
		t.Fatalf("all of it was taken: %+v, %v", show(), err)
	}
	if err := os.WriteFile(filepath.Join(site.Worktree, "walrus.txt"), []byte("walrus\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, site.Worktree, "add", "-A")
	git(t, site.Worktree, "commit", "-qm", "walrus")
	if view := show(); !view.Applied || !view.Untaken || !slices.Contains(view.Acts, "apply") {
		t.Errorf("the walrus was not taken: %+v", view)
	}
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil || show().Untaken || git(t, d.repo, "show", "main:walrus.txt") != "walrus" {
		t.Errorf("the walrus is not there: %v", err)
	}

	taken := git(t, d.repo, "rev-parse", "main")
	git(t, d.repo, "checkout", "-qb", "other", site.Base)
	if _, err := d.RevertDelivery(t.Context(), site); err == nil || !strings.Contains(err.Error(), "it was taken into main, which is not checked out") || git(t, d.repo, "rev-parse", "other") != site.Base {
		t.Errorf("in another branch it is taken back: %v", err)
	}
	if view := show(); view.Applied || !slices.Equal(view.Elsewhere, []string{"main"}) || !slices.Contains(view.Acts, "apply") || slices.Contains(view.Acts, "drop") {
		t.Errorf("in another branch: %+v", view)
	}
	git(t, d.repo, "checkout", "-q", "main")
	git(t, d.repo, "branch", "-qD", "other")
	git(t, d.repo, "reset", "-q", "--hard", site.Base) // and where somebody has taken it back, no commit says so
	if back, err := d.RevertDelivery(t.Context(), site); err == nil || !strings.Contains(err.Error(), "it was taken back already") || show().Applied {
		t.Errorf("taken back by hand: %s, %v", back, err)
	}
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil || git(t, d.repo, "rev-parse", "main^{tree}") != git(t, d.repo, "rev-parse", taken+"^{tree}") {
		t.Errorf("it is not taken again: %v", err)
	}
}

// Lists say what was done with what a delivery has built, and whether there is more since.
func TestTheResultOfADeliveryIsListed(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	web, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := func(want string) {
		t.Helper()
		var all []struct{ ID, Result string }
		status, text := request(web, "GET", "/api/deliveries", "")
		if status != http.StatusOK || json.Unmarshal([]byte(text), &all) != nil || len(all) != 1 || all[0].Result != want {
			t.Errorf("want %q: %d %s", want, status, text)
		}
	}
	apply := func() {
		t.Helper()
		if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil {
			t.Fatal(err)
		}
	}
	listed("")
	apply()
	listed("taken")
	if err := os.WriteFile(filepath.Join(site.Worktree, "walrus.txt"), []byte("walrus\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, site.Worktree, "add", "-A")
	git(t, site.Worktree, "commit", "-qm", "walrus")
	if status, text := request(web, "PATCH", "/api/sessions/"+site.Session, `{"title":"walrus"}`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	listed("partly_taken")
	apply()
	listed("taken")
	if _, err := d.RevertDelivery(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	listed("taken_back")
	if err := d.DropDelivery(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	listed("dropped")
}

// What somebody has put back by hand is not called taken: it can be taken, or dropped.
func TestADeliveryThatWasPutBackByHandIsNotTaken(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	web, err := d.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	acts := func() (view struct {
		Applied bool
		Acts    []string
	}) {
		t.Helper()
		if status, text := request(web, "GET", "/api/deliveries/"+site.Session, ""); status != http.StatusOK || json.Unmarshal([]byte(text), &view) != nil {
			t.Fatal(status, text)
		}
		return view
	}
	for _, act := range []string{"apply", "squash"} {
		for _, undo := range []string{"reset", "revert"} {
			before := git(t, d.repo, "rev-parse", "main")
			status, said := request(web, "POST", "/api/deliveries/"+site.Session+"/act", `{"act":"`+act+`"}`)
			if status != http.StatusOK || !strings.Contains(said, "in the project now") {
				t.Fatal(status, said)
			}
			if view := acts(); !view.Applied || slices.Contains(view.Acts, "drop") || !slices.Contains(view.Acts, "revert") {
				t.Errorf("taken: %+v", view)
			}
			if undo == "reset" {
				git(t, d.repo, "branch", "-f", "troupe/another", "main") // which another delivery began from
				git(t, d.repo, "reset", "-q", "--hard", before)
			} else {
				git(t, d.repo, "revert", "--no-edit", before+"..main")
			}
			if view := acts(); view.Applied || !slices.Contains(view.Acts, "apply") || slices.Contains(view.Acts, "revert") {
				t.Errorf("put back with %s: %+v", undo, view)
			}
		}
	}
	if err := d.DropDelivery(t.Context(), site); err != nil {
		t.Error(err)
	}
}

// Of two who take a delivery back, or drop it, at the same moment one does it.
func TestWhatIsDoneWithADeliveryIsDoneOnce(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil {
		t.Fatal(err)
	}
	once := func(act func(*pipeline.Site) error) {
		t.Helper()
		var group sync.WaitGroup
		var done atomic.Int32
		for range 4 {
			own := *site
			group.Go(func() {
				if act(&own) == nil {
					done.Add(1)
				}
			})
		}
		if group.Wait(); done.Load() != 1 {
			t.Errorf("it was done %d times", done.Load())
		}
	}
	taken := git(t, d.repo, "rev-parse", "main")
	once(func(s *pipeline.Site) error { _, err := d.RevertDelivery(t.Context(), s); return err })
	if n := git(t, d.repo, "rev-list", "--count", taken+"..main"); n != "1" {
		t.Errorf("it was reverted by %s commits", n)
	}
	once(func(s *pipeline.Site) error { return d.DropDelivery(t.Context(), s) })
}

// What was built is gone once it is dropped, and nothing makes it anew. Plan and documents are
// there for as long as the session.
func TestADeliveryThatWasDroppedSaysSo(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	if err := d.DropDelivery(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo, "branch", "--list", site.Branch) + git(t, d.repo, "for-each-ref", "refs/troupe/"); got != "" {
		t.Errorf("left is %s", got)
	}
	site, err := d.Site(site.ID)
	if err != nil || site.Dropped.IsZero() {
		t.Fatalf("%+v, %v", site, err)
	}
	plan, err := d.DeliveryPlan(site)
	if err != nil || len(plan.Steps) == 0 {
		t.Errorf("the plan is gone: %v", err)
	}
	if documents, err := os.ReadDir(filepath.Join(d.SiteFolder(site), "documents")); err != nil || len(documents) == 0 {
		t.Errorf("the documents are gone: %v", err)
	}
	_, _, applied := d.ApplyDelivery(t.Context(), site, false)
	_, reverted := d.RevertDelivery(t.Context(), site)
	_, _, continued := d.ContinueDelivery(t.Context(), site, "", "more")
	_, changed := d.ChangeDeliveryPlan(site, plan)
	for act, err := range map[string]error{"apply": applied, "revert": reverted, "drop": d.DropDelivery(t.Context(), site), "continue": continued, "plan": changed} {
		if !errors.Is(err, pipeline.ErrDropped) {
			t.Errorf("%s: %v", act, err)
		}
	}
	d.delete(site)
	d.isGone(site, false, false)
}

// The words of a step that is done are those of its commit.
func TestAStepThatIsDoneIsNotRenamed(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	plan, err := d.DeliveryPlan(site)
	if err != nil {
		t.Fatal(err)
	}
	plan.Steps[0].Title = "Another"
	if _, err := d.ChangeDeliveryPlan(site, plan); err == nil || !strings.Contains(err.Error(), "is done and keeps its title and goal") {
		t.Errorf("%v", err)
	}
	plan.Steps[0].Status = pipeline.StepTodo
	if changes, err := d.ChangeDeliveryPlan(site, plan); err != nil || len(changes) == 0 {
		t.Errorf("%q, %v", changes, err)
	}
}

// What a delivery has built can be looked at where somebody has removed its branch.
func TestTheDiffOfADeliveryOutlivesItsBranch(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	want, err := d.DeliveryDiff(t.Context(), site, "")
	if err != nil || !strings.HasPrefix(want, "diff --git") {
		t.Fatalf("%q, %v", want, err)
	}
	git(t, d.repo, "worktree", "remove", "--force", site.Worktree)
	git(t, d.repo, "branch", "-D", site.Branch)
	if diff, err := d.DeliveryDiff(t.Context(), site, ""); err != nil || diff != want {
		t.Errorf("%q, %v", diff, err)
	}
	git(t, d.repo, "reflog", "expire", "--expire=now", "--all")
	git(t, d.repo, "gc", "-q", "--prune=now")
	if diff, err := d.DeliveryDiff(t.Context(), site, ""); err == nil || !strings.Contains(err.Error(), "the branch "+site.Branch+" was removed, and its commit") {
		t.Errorf("%q, %v", diff, err)
	}
}

// What somebody has taken out by hand is not taken back, and can be dropped.
func TestWhatWasTakenOutByHandCanBeDropped(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	before := git(t, d.repo, "rev-parse", "main")
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil {
		t.Fatal(err)
	}
	git(t, d.repo, "reset", "-q", "--hard", before)
	if _, err := d.RevertDelivery(t.Context(), site); !errors.Is(err, project.ErrTakenBack) || git(t, d.repo, "branch", "--list", site.Branch) == "" {
		t.Errorf("it is undone: %v", err)
	}
	if err := d.DropDelivery(t.Context(), site); err != nil {
		t.Error(err)
	}
}

// Of a delivery whose session was deleted it is still known what was taken of it.
func TestWhatWasTakenOutlivesTheSession(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	before := git(t, d.repo, "rev-parse", "main^{tree}")
	git(t, d.repo, "commit", "-q", "--allow-empty", "-m", "own")
	if _, _, err := d.ApplyDelivery(t.Context(), site, true); err != nil {
		t.Fatal(err)
	}
	d.delete(site)
	left, err := d.Site(site.ID)
	if err != nil || left.Deleted.IsZero() || len(left.Brought) != 1 || len(left.Into) != 1 || len(left.Takes) != 1 {
		t.Fatalf("%+v, %v", left, err)
	}
	if err := d.DropDelivery(t.Context(), left); err == nil || !strings.Contains(err.Error(), "take it back first") {
		t.Error(err)
	}
	if _, err := d.RevertDelivery(t.Context(), left); err != nil || git(t, d.repo, "rev-parse", "main^{tree}") != before {
		t.Error(err)
	}
	if err := d.DropDelivery(t.Context(), left); err != nil {
		t.Error(err)
	}
	d.isGone(site, false, false)
}

// Whoever waits for another who takes a delivery waits no longer than they want to.
func TestNobodyWaitsForADeliveryForLonger(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	lock := flock.New(filepath.Join(filepath.Dir(d.SiteFolder(site)), "lock"))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.ApplyDelivery(ctx, site, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Of those who change a plan at the same time nobody fails, and one change is there, whole.
func TestAPlanIsChangedByManyAtOnce(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	was, err := d.DeliveryPlan(site)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			plan := &pipeline.Plan{Steps: append(slices.Clone(was.Steps), pipeline.PlanStep{ID: "added", Title: fmt.Sprintf("Added by %d", i), Status: pipeline.StepTodo})}
			if changes, err := d.ChangeDeliveryPlan(site, plan); err != nil || len(changes) == 0 {
				t.Errorf("%q, %v", changes, err)
			}
		})
	}
	wg.Wait()
	now, err := d.DeliveryPlan(site)
	if err != nil || len(now.Steps) != len(was.Steps)+1 || !strings.HasPrefix(now.Steps[len(was.Steps)].Title, "Added by ") {
		t.Errorf("%+v, %v", now, err)
	}
}

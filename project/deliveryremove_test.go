package project_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	repository "github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

// git runs git in a directory, as a person would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// A deliverer delivers into a repository that is around a project.
type deliverer struct {
	*project.Project
	t    *testing.T
	repo string
}

func newDeliverer(t *testing.T) *deliverer {
	t.Helper()
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": t.TempDir(), "GIT_CONFIG_GLOBAL": os.DevNull,
		"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
	} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-qm", "begin", "--allow-empty")
	return &deliverer{open(t, dir, project.Options{}), t, dir}
}

// deliver takes a request to a branch.
func (d *deliverer) deliver() *pipeline.Site {
	d.t.Helper()
	order := d.Delivery()
	order.Unchecked = true
	step, input, err := d.StartDelivery(d.t.Context(), "Create a todo app", order)
	if err != nil {
		d.t.Fatal(err)
	}
	outcome, err := troupe.Collect(engine(d.t, d.Project).Run(d.t.Context(), step, input))
	if err != nil {
		d.t.Fatal(err)
	}
	site, err := d.Site(outcome.Session)
	if err != nil {
		d.t.Fatal(err)
	}
	return site
}

func (d *deliverer) delete(site *pipeline.Site) {
	d.t.Helper()
	if err := engine(d.t, d.Project).Delete(d.t.Context(), site.Session); err != nil {
		d.t.Fatal(err)
	}
}

// isGone fails unless a deletion has left nothing of a delivery but what left says.
func (d *deliverer) isGone(site *pipeline.Site, branch, folder bool) {
	d.t.Helper()
	for _, dir := range []string{site.Worktree, site.Worktree + "-clean", filepath.Join(d.SiteFolder(site), "documents"), filepath.Join(d.SiteFolder(site), pipeline.PlanFile)} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			d.t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if trees := git(d.t, d.repo, "worktree", "list"); strings.Count(trees, "\n") > 0 {
		d.t.Errorf("the repository has worktrees:\n%s", trees)
	}
	if has := git(d.t, d.repo, "branch", "--list", site.Branch) != ""; has != branch {
		d.t.Errorf("the branch is there: %v", has)
	}
	if _, err := os.Stat(d.SiteFolder(site)); (err == nil) != folder {
		d.t.Errorf("the folder: %v", err)
	}
	if status := git(d.t, d.repo, "status", "--porcelain"); status != "" {
		d.t.Errorf("the checkout is changed: %s", status)
	}
}

// Whoever deletes a conversation deletes what the delivery wrote for it. What was not taken
// stays in the repository, and nothing else says that there was a delivery.
func TestADeliveryIsDeletedWithItsSession(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	tip := git(t, d.repo, "rev-parse", site.Branch)
	d.delete(site)
	d.isGone(site, true, true)
	if git(t, d.repo, "rev-parse", site.Branch) != tip {
		t.Error("the branch is another one")
	}
	left, err := d.Site(site.ID)
	if err != nil || left.Deleted.IsZero() || left.Request != "" {
		t.Fatalf("%+v, %v", left, err)
	}
	if got, want := d.Remains(t.Context(), left), "the branch "+site.Branch+" stays in "+site.Repo; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := d.DropDelivery(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	d.isGone(site, false, false)
}

// Killed between taking a branch and the record of it, a delivery is known as taken at the next
// start, and can be taken back.
func TestATakeThatWasKilledIsKnownAtTheNextStart(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	before := git(t, d.repo, "rev-parse", "main")
	tip := git(t, d.repo, "rev-parse", site.Branch)
	site.Taking = append(site.Taking, repository.Part{Before: before, After: tip, Tip: tip})
	if err := site.Save(d.SiteFolder(site)); err != nil {
		t.Fatal(err)
	}
	git(t, d.repo, "merge", "-q", "--ff-only", site.Branch)
	d.restart()
	site, err := d.Site(site.ID)
	if err != nil || len(site.Brought) != 1 || len(site.Takes) != 1 {
		t.Fatalf("%+v, %v", site, err)
	}
	reverted, err := d.RevertDelivery(t.Context(), site)
	if err != nil || reverted == "" || git(t, d.repo, "diff", "--stat", before, "main") != "" {
		t.Errorf("it is not taken back: %q, %v", reverted, err)
	}
}

// What was taken is in the project: its branch is a name for nothing else.
func TestADeliveryThatWasTakenIsDeletedWithItsBranch(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	_, after, err := d.ApplyDelivery(t.Context(), site, false)
	if err != nil {
		t.Fatal(err)
	}
	d.delete(site)
	d.isGone(site, false, false)
	if git(t, d.repo, "rev-parse", "main") != after {
		t.Error("the project has lost what it took")
	}
}

// A branch that somebody works on is theirs, whatever else has its commits.
func TestABranchThatIsCheckedOutStays(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	if _, _, err := d.ApplyDelivery(t.Context(), site, false); err != nil {
		t.Fatal(err)
	}
	git(t, d.repo, "checkout", "-q", "--ignore-other-worktrees", site.Branch)
	d.delete(site)
	d.isGone(site, true, true)
}

// What somebody has written into the worktree is nowhere else.
func TestAWorktreeThatWasChangedByHandStays(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	mine := filepath.Join(site.Worktree, "mine.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.delete(site)
	left, err := d.Site(site.ID)
	if err != nil {
		t.Fatal(err)
	}
	if words := d.Remains(t.Context(), left); !strings.Contains(words, site.Branch) || !strings.Contains(words, site.Worktree) {
		t.Errorf("said to stay: %s", words)
	}
	if err := os.WriteFile(filepath.Join(d.SiteFolder(site), "deleting"), nil, 0o644); err != nil { // as if it was killed at the end
		t.Fatal(err)
	}
	d.restart()
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if _, kept, err := d.CleanDeliveries(t.Context()); err != nil || len(kept) != 1 {
		t.Errorf("kept %q, %v", kept, err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// restart closes the project and opens it again.
func (d *deliverer) restart() {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.Project = open(d.t, d.repo, project.Options{})
	engine(d.t, d.Project)
}

// A deletion that was killed is finished at the next start, wherever that was.
func TestADeletionOfADeliveryIsFinished(t *testing.T) {
	for name, kill := range map[string]func(d *deliverer, site *pipeline.Site) error{
		"before the session was forgotten": func(d *deliverer, site *pipeline.Site) error {
			return os.RemoveAll(filepath.Join(d.DataDir(), "agent-outputs", site.Session)) // or that is looked after by others
		},
		"before anything of it was removed": func(d *deliverer, site *pipeline.Site) error {
			reader, err := d.OpenPlace(d.t.Context(), "sqlite:", false)
			if err != nil {
				return err
			}
			return errors.Join(reader.Delete(d.t.Context(), site.Session), reader.Close())
		},
		"before the folder was removed": func(d *deliverer, site *pipeline.Site) error {
			reader, err := d.OpenPlace(d.t.Context(), "sqlite:", false)
			if err != nil {
				return err
			}
			git(d.t, d.repo, "worktree", "remove", "--force", site.Worktree)
			return errors.Join(reader.Delete(d.t.Context(), site.Session), reader.Close(), os.RemoveAll(filepath.Join(d.SiteFolder(site), "documents")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeliverer(t)
			site := d.deliver()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.SiteFolder(site), "deleting"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := kill(d, site); err != nil {
				t.Fatal(err)
			}
			d.restart()
			d.isGone(site, true, true)
			if _, err := os.Stat(filepath.Join(d.SiteFolder(site), "deleting")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still being deleted: %v", err)
			}
			store, err := d.Store(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for info, err := range store.Sessions(t.Context(), troupe.SessionFilter{}) {
				t.Errorf("there is session %s, %v", info.ID, err)
			}
		})
	}
}

// What is in a delivery's folder by the name alone is not removed: a link that leads elsewhere, a
// copy that says it is another delivery, a folder that is none.
func TestWhatIsNoDeliverysOwnStays(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	kept := filepath.Join(d.SiteFolder(site), "documents")
	for name, make := range map[string]func(folder string) error{
		"a link to a delivery": func(folder string) error { return os.Symlink(d.SiteFolder(site), folder) },
		"a copy of a delivery": func(folder string) error { return os.CopyFS(folder, os.DirFS(d.SiteFolder(site))) },
	} {
		t.Run(name, func(t *testing.T) {
			const other = "0192f0c1-2d3e-7a4b-8c5d-6e7f8a9b0c1d"
			folder := filepath.Join(filepath.Dir(d.SiteFolder(site)), other)
			if err := make(folder); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(folder)
			if err := engine(t, d.Project).Delete(t.Context(), other); !errors.Is(err, troupe.ErrNotFound) {
				t.Error(err)
			}
			for _, place := range []string{kept, site.Worktree, folder} {
				if _, err := os.Stat(place); err != nil {
					t.Error(err)
				}
			}
			if err := os.WriteFile(filepath.Join(d.DataDir(), "deliveries", other, "deleting"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(filepath.Join(d.SiteFolder(site), "deleting"))
			if name == "a link to a delivery" { // the mark is the other's then
				return
			}
			d.restart()
			for _, place := range []string{kept, site.Worktree, folder} {
				if _, err := os.Stat(place); err != nil {
					t.Errorf("after a restart: %v", err)
				}
			}
		})
	}
	mine := filepath.Join(d.DataDir(), "agent-outputs", "mine")
	for _, dir := range []string{mine, filepath.Join(d.DataDir(), "deliveries", "mine")} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "deleting"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	d.restart()
	if _, err := os.Stat(filepath.Join(mine, "deleting")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.DataDir(), "deliveries", "mine", "deleting")); err != nil {
		t.Error(err)
	}
}

// A worktree that somebody has made anew at the delivery's place is theirs, and so is what they
// have committed there without a branch.
func TestAWorktreeThatSomebodyHasMadeTheirOwnStays(t *testing.T) {
	d := newDeliverer(t)
	site := d.deliver()
	git(t, site.Worktree, "checkout", "-q", "--detach")
	if err := os.WriteFile(filepath.Join(site.Worktree, "mine.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, site.Worktree, "add", "-A")
	git(t, site.Worktree, "commit", "-qm", "mine")
	mine := git(t, site.Worktree, "rev-parse", "HEAD")
	d.delete(site)
	if git(t, site.Worktree, "rev-parse", "HEAD") != mine {
		t.Error("what was committed there is gone")
	}
}

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/git"
)

// The names of the tools that work on the repository, as they are on record.
const (
	toolPrepare = "open_worktree"
	toolSetup   = "run_setup"
	toolCheck   = "run_check"
	toolApply   = "apply_changes"
	toolFormat  = "run_format"
	toolCommit  = "commit_step"
	toolReset   = "keep_attempt"
	toolLook    = "show_files"
	toolDiff    = "show_change"
	toolTry     = "try_finding"
)

// ToolNames lists the tools whose calls [Config.Guard] stands before: those of deliveries
// themselves, and those with which the agents of their phases look at the repository.
func ToolNames() []string {
	return []string{
		toolWrite, toolUpload, toolGather, toolPlan, toolKnowledge, toolReadPlan, toolWritePlan, toolDocuments, toolKeepDocs,
		toolPrepare, toolSetup, toolCheck, toolApply, toolFormat, toolCommit, toolReset, toolLook, toolDiff, toolTry,
		"count_changes", "find_checks", "adopt_checks", "compare_dependencies", "run_setup_again", "publish",
		"list_files", "search_code", "read_file", "outline", "show_diff", "check_output", "read_document",
	}
}

// siteTool makes a tool that works on a site. It can be called again with the same
// arguments: what was done is found done. Its own limits bound it.
func siteTool[In, Out any](name, description string, fn func(context.Context, *troupe.Invocation, In) (Out, error)) troupe.Tool {
	return troupe.NewToolWithCall(name, description, fn, troupe.RepeatSafe(), troupe.Timeout(-1))
}

// onSite is siteTool for one that works on the site of its session, which is opened for it.
func onSite[In, Out any](s *workshop, name, description string, fn func(context.Context, *openSite, In) (Out, error)) troupe.Tool {
	return siteTool(name, description, func(ctx context.Context, call *troupe.Invocation, in In) (out Out, err error) {
		o, err := s.openSite(ctx, call.Run.Session())
		if err != nil {
			return out, err
		}
		return fn(ctx, o, in)
	})
}

type prepareRequest struct {
	Request string    `json:"request"`
	Feature string    `json:"feature"`
	At      time.Time `json:"at"`
	// Continue goes on with a delivery that came to its end before.
	Continue bool `json:"continue,omitempty"`
	// Of is the session of a delivery whose documents and plan are taken over.
	Of string `json:"of,omitempty"`
}

// A prepared site is what the delivery has to know of it.
type prepared struct {
	state
	ID       string `json:"id"`
	Branch   string `json:"branch"`
	Base     string `json:"base"`
	Worktree string `json:"worktree"`
	Sandbox  string `json:"sandbox"`
	// Why says what is missing where the sandbox is not full, or why there is none.
	Why    string         `json:"why,omitempty"`
	Checks []checks.Check `json:"checks"`
	Found  bool           `json:"found,omitempty"`
	// Left counts the files that are changed in the checkout and not part of this.
	Left    int     `json:"left,omitempty"`
	New     bool    `json:"new,omitempty"` // the repository was made for the delivery
	Profile profile `json:"profile"`
}

func (s *workshop) prepareTool() troupe.Tool {
	return siteTool(toolPrepare, "Makes a worktree and a branch for the delivery.", s.prepare)
}

func (s *workshop) prepare(ctx context.Context, call *troupe.Invocation, in prepareRequest) (prepared, error) {
	session := call.Run.Session()
	_, err := ReadSite(s.folder(session))
	if errors.Is(err, os.ErrNotExist) {
		err = s.chooseOnFile(ctx, session, in)
	}
	if err != nil {
		return prepared{}, err
	}
	_ = os.Remove(s.creating(session)) // which the site says from now on
	o, err := s.openSite(ctx, session)
	if err != nil {
		return prepared{}, err
	}
	return o.prepared(ctx, in.At)
}

// chooseOnFile puts on file where a new delivery works.
func (s *workshop) chooseOnFile(ctx context.Context, session string, in prepareRequest) error {
	about, err := s.choose(ctx, session, in)
	if err == nil && in.Of != "" {
		err = s.takeOver(in.Of, session)
	}
	if err != nil {
		return err
	}
	return about.Save(s.folder(session))
}

// prepared is what the delivery has to know of the site.
func (o *openSite) prepared(ctx context.Context, at time.Time) (_ prepared, err error) {
	p := prepared{ID: o.ID, Branch: o.Branch, Base: o.Base, Worktree: o.Worktree, Sandbox: o.Sandbox, Checks: o.Checks, Found: o.Found, New: o.Own}
	if o.refuse != nil {
		p.Sandbox, p.Why = "none", o.refuse.Error()
	} else {
		p.Sandbox, p.Why = string(o.helper.Level()), o.helper.Why
	}
	if changed, err := o.repo.Changed(ctx); err == nil && !o.IncludeChanges {
		p.Left = len(changed)
	}
	if p.Head, err = o.worktree.Head(ctx); err != nil {
		return p, err
	}
	if p.Tree, err = o.worktree.TreeOf(ctx, p.Head); err != nil {
		return p, err
	}
	if p.Setup, err = o.allowedSetup(ctx, p.Tree); err != nil {
		return p, err
	}
	if o.worktree.Filled() { // else whoever works in it first fills it
		if p.state, err = o.find(ctx, p.state, at); err != nil {
			return p, err
		}
	}
	if err := o.update(func(site *Site) { site.Sandbox = p.Sandbox }); err != nil {
		return p, err
	}
	p.Profile, err = o.profile(ctx, p.Tree)
	return p, err
}

// takeOver copies the documents and the plan of another delivery.
func (s *workshop) takeOver(from, session string) error {
	other := s.folder(from)
	if err := os.CopyFS(filepath.Join(s.folder(session), DocumentsDir), os.DirFS(filepath.Join(other, DocumentsDir))); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range []string{documentedFile, PlanFile} {
		data, err := os.ReadFile(filepath.Join(other, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = replaceFile(filepath.Join(s.folder(session), name), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// choose decides where a new delivery works.
func (s *workshop) choose(ctx context.Context, session string, in prepareRequest) (*Site, error) {
	id := session[:8]
	dir := strings.NewReplacer("<date>", in.At.UTC().Format(time.DateOnly), "<feature>", in.Feature, "<id>", id).Replace(s.Dir)
	found, isNew, err := s.openOrCreate(ctx, session, dir)
	if err != nil {
		return nil, err
	}
	base, err := found.Base(ctx, s.Base)
	if err != nil {
		return nil, err
	}
	if s.IncludeChanges {
		if base, err = found.Stash(ctx, in.At, "Changes that were not committed\n"); err != nil {
			return nil, err
		}
	}
	branch, err := s.freeBranch(ctx, found, strings.NewReplacer("<feature>", in.Feature, "<id>", id))
	if err != nil {
		return nil, err
	}
	site := &Site{
		Session: session, ID: id, Request: in.Request, Repo: found.Top, Worktree: filepath.Join(s.Worktrees, id), Branch: branch,
		Base: base, Created: in.At, Checks: s.configured(), Own: isNew,
	}
	if err := s.beginWith(ctx, found, in.Of, site); err != nil {
		return nil, err
	}
	if site.Checks == nil {
		site.Found = true
		tree, err := found.Tree(ctx, site.Base)
		if err != nil {
			return nil, err
		}
		site.Checks = checks.Find(treeFiles{tree})
	}
	return site, nil
}

// beginWith has a site that begins at the tip of another delivery's branch have that one's
// base, where what is checked out lacks some of that branch: taking the site's takes it, too.
func (s *workshop) beginWith(ctx context.Context, repo *git.Repo, of string, site *Site) error {
	if of == "" {
		return nil
	}
	other, err := ReadSite(s.folder(of))
	if err != nil {
		return err
	}
	stands, err := other.Stands(ctx, repo)
	if err != nil || stands.Tip != site.Base || other.Base == site.Base {
		return err
	}
	if lacks, err := repo.Brings(ctx, stands); err != nil || !lacks {
		return err
	}
	site.Begin, site.Base, site.SetupTrees = site.Base, other.Base, other.SetupTrees
	return nil
}

// freeBranch names the branch of a delivery. Git keeps branches like files: none can be
// below one that exists.
func (s *workshop) freeBranch(ctx context.Context, repo *git.Repo, names *strings.Replacer) (string, error) {
	branch := names.Replace(s.Branch)
	above := func(branch string) string {
		for i, r := range branch {
			if r == '/' && repo.Has(ctx, "refs/heads/"+branch[:i]) {
				return branch[:i]
			}
		}
		return ""
	}
	taken := above(branch)
	if taken != "" && s.Branch == defaultBranch {
		branch, taken = strings.ReplaceAll(branch, "/", "-"), ""
	}
	switch {
	case taken != "":
		return "", fmt.Errorf("branch %s: there is a branch %s, and git can have none below it; name another one in pipeline.branch", branch, taken)
	case repo.Has(ctx, "refs/heads/"+branch):
		return "", fmt.Errorf("branch %s: %w; name another one in pipeline.branch", branch, git.ErrTaken)
	}
	return branch, nil
}

// treeFiles are the files of a tree, for finding checks.
type treeFiles struct{ *git.Tree }

func (t treeFiles) Read(path string) string {
	f, _, _ := t.File(path)
	return f.Content
}

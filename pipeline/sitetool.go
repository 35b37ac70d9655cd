package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/tool/repo"
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

// siteTool makes a tool that works on a site. It can be called again with the same
// arguments: what was done is found done. Its own limits bound it.
func siteTool[In, Out any](name, description string, fn func(context.Context, *troupe.Invocation, In) (Out, error)) troupe.Tool {
	return troupe.NewToolWithCall(name, description, fn, troupe.RepeatSafe(), troupe.Timeout(-1))
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

// A profile is what agents are told of a repository before they look at it.
type profile struct {
	Files     int            `json:"files"`
	Languages map[string]int `json:"languages,omitempty"`
	Checks    []string       `json:"checks,omitempty"`
	Readme    string         `json:"readme,omitempty"`
	Guides    string         `json:"guides,omitempty"`
	Outline   string         `json:"outline,omitempty"`
}

func (s *workshop) prepareTool() troupe.Tool {
	return siteTool(toolPrepare, "Makes a worktree and a branch for the delivery.", s.prepare)
}

func (s *workshop) prepare(ctx context.Context, call *troupe.Invocation, in prepareRequest) (prepared, error) {
	session := call.Run.Session()
	folder := s.folder(session)
	about, err := ReadSite(folder)
	isNew := false
	if errors.Is(err, os.ErrNotExist) {
		if about, isNew, err = s.choose(ctx, session, in); err == nil && in.Of != "" {
			err = s.takeOver(in.Of, session)
		}
	}
	if err != nil {
		return prepared{}, err
	}
	if err := about.Save(folder); err != nil {
		return prepared{}, err
	}
	o, err := s.openSite(ctx, session)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{ID: o.ID, Branch: o.Branch, Base: o.Base, Worktree: o.Worktree, Sandbox: o.Sandbox, Checks: o.Checks, Found: o.Found, New: isNew}
	if s.refuse != nil {
		p.Sandbox, p.Why = "none", s.refuse.Error()
	} else {
		p.Sandbox, p.Why = string(s.helper.Level()), s.helper.Why
	}
	if changed, err := o.repo.Changed(ctx); err == nil && !s.IncludeChanges {
		p.Left = len(changed)
	}
	if p.Head, err = o.worktree.Head(ctx); err != nil {
		return p, err
	}
	if p.Tree, err = o.worktree.TreeOf(ctx, p.Head); err != nil {
		return p, err
	}
	if o.made {
		o.unmark() // it holds just what git has put there
	} else if p.state, err = o.find(ctx, p.state, in.At); err != nil {
		return p, err
	}
	if o.Sandbox = p.Sandbox; o.Save(folder) != nil {
		return p, o.Save(folder)
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
	data, err := os.ReadFile(filepath.Join(other, PlanFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return replaceFile(s.planFile(session), data)
}

// choose decides where a new delivery works.
func (s *workshop) choose(ctx context.Context, session string, in prepareRequest) (*Site, bool, error) {
	isNew := false
	id := session[:8]
	dir := strings.NewReplacer("<date>", in.At.UTC().Format(time.DateOnly), "<feature>", in.Feature, "<id>", id).Replace(s.Dir)
	found, err := s.openOwn(ctx, dir)
	if errors.Is(err, git.ErrNone) || errors.Is(err, os.ErrNotExist) || s.Create && err != nil {
		if !s.Create {
			return nil, false, fmt.Errorf("%s: %w", dir, git.ErrNone)
		}
		isNew = true
		found, err = git.Create(ctx, dir)
	}
	if err != nil {
		return nil, false, err
	}
	base, err := found.Base(ctx, s.Base)
	if err != nil {
		return nil, false, err
	}
	if s.IncludeChanges {
		if base, err = found.Stash(ctx, in.At, "Changes that were not committed\n"); err != nil {
			return nil, false, err
		}
	}
	branch := strings.NewReplacer("<feature>", in.Feature, "<id>", id).Replace(s.Branch)
	if found.Has(ctx, "refs/heads/"+branch) {
		return nil, false, fmt.Errorf("branch %s: %w; name another one in pipeline.branch", branch, git.ErrTaken)
	}
	site := &Site{
		Session: session, ID: id, Request: in.Request, Repo: found.Top, Worktree: filepath.Join(s.Worktrees, id), Branch: branch,
		Base: base, Created: in.At, Checks: s.configured(), Own: isNew,
	}
	if site.Checks == nil {
		site.Found = true
		tree, err := found.Tree(ctx, base)
		if err != nil {
			return nil, false, err
		}
		site.Checks = checks.Find(treeFiles{tree})
	}
	return site, isNew, nil
}

// openOwn opens the repository of a folder. One that is to be made is the folder's own,
// whatever repository is around it.
func (s *workshop) openOwn(ctx context.Context, dir string) (*git.Repo, error) {
	if s.Create {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
			return nil, git.ErrNone
		}
	}
	return git.Open(ctx, dir)
}

// publishTool shows the result in the checkout of a repository that was made for it.
func (s *workshop) publishTool() troupe.Tool {
	return siteTool("publish", "Shows the result in a repository that was made for it.", func(ctx context.Context, call *troupe.Invocation, _ struct{}) (state, error) {
		o, err := s.openSite(ctx, call.Run.Session())
		if err != nil || !o.Own {
			return state{}, err
		}
		before, after, err := o.repo.Take(ctx, o.Branch, "Take the delivery", "")
		if err != nil {
			return state{}, err
		}
		if before != after {
			o.Applied = []string{before, after}
			err = o.Save(o.folder)
		}
		return state{Head: after}, err
	})
}

// treeFiles are the files of a tree, for finding checks.
type treeFiles struct{ *git.Tree }

func (t treeFiles) Read(path string) string {
	f, _, _ := t.File(path)
	return f.Content
}

// profile describes a tree.
func (o *openSite) profile(ctx context.Context, id string) (profile, error) {
	view, err := o.view(ctx, id)
	if err != nil {
		return profile{}, err
	}
	p := profile{Files: len(view.Paths()), Languages: map[string]int{}}
	for _, c := range o.Checks {
		p.Checks = append(p.Checks, c.Name+": "+c.Command())
	}
	const most = 8 << 10
	for _, name := range view.Paths() {
		if ext := strings.TrimPrefix(filepath.Ext(name), "."); ext != "" && len(ext) < 8 {
			p.Languages[ext]++
		}
		switch lower := strings.ToLower(name); {
		case strings.HasPrefix(lower, "readme") && p.Readme == "":
			p.Readme = view.beginning(name, most)
		case lower == "agents.md" || lower == "claude.md" || lower == "contributing.md":
			p.Guides += view.beginning(name, most-len(p.Guides))
		}
	}
	if len(p.Languages) > 12 {
		for ext, n := range p.Languages {
			if n < 3 {
				delete(p.Languages, ext)
			}
		}
	}
	p.Outline, err = repo.Outline(view, view.Paths(), 200, most)
	return p, err
}

// A view is what agents may see of a tree: no keys, and nothing binary is read.
type view struct {
	tree  *git.Tree
	paths []string
}

func (o *openSite) view(ctx context.Context, id string) (*view, error) {
	tree, err := o.worktree.Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &view{tree: tree}
	for _, p := range tree.Paths() {
		if !edit.IsSecret(p) && tree.Mode(p) != "160000" {
			v.paths = append(v.paths, p)
		}
	}
	return v, nil
}

func (v *view) Paths() []string           { return v.paths }
func (v *view) Size(path string) int64    { return v.tree.Size(path) }
func (v *view) Load(paths []string) error { return v.tree.Load(paths, edit.MaxFile) }

func (v *view) Read(path string) (string, bool, error) {
	if _, known := slices.BinarySearch(v.paths, path); !known && !slices.Contains(v.paths, path) {
		return "", false, nil
	}
	f, ok, err := v.tree.File(path)
	return f.Content, ok, err
}

func (v *view) beginning(path string, n int) string {
	content, ok, err := v.Read(path)
	if err != nil || !ok || n <= 0 || !edit.IsText(content) {
		return ""
	}
	return strings.ToValidUTF8(content[:min(len(content), n)], "")
}

type setupRequest struct {
	state
	Command string    `json:"command"`
	At      time.Time `json:"at"`
}

func (s *workshop) setupTool() troupe.Tool {
	return siteTool(toolSetup, "Runs a command that prepares the worktree.", func(ctx context.Context, call *troupe.Invocation, in setupRequest) (checks.Outcome, error) {
		o, err := s.openSite(ctx, call.Run.Session())
		if err != nil {
			return checks.Outcome{}, err
		}
		room, err := o.room(ctx, o.worktree)
		if err != nil {
			return checks.Outcome{}, err
		}
		if _, err := o.find(ctx, in.state, in.At); err != nil {
			return checks.Outcome{}, err
		}
		o.mark()
		outcome, err := room.Setup(ctx, in.Command)
		if err != nil {
			return outcome, err
		}
		return outcome, o.become(ctx, in.Tree)
	})
}

type checkRequest struct {
	state
	Check string    `json:"check"`
	At    time.Time `json:"at"`
	// Clean runs it in a checkout of the commit alone, Label says what for.
	Clean bool   `json:"clean,omitempty"`
	Label string `json:"label,omitempty"`
	// Spent is what other checks of the same round took.
	Spent time.Duration `json:"spent,omitempty"`
}

// roundTime is how long all checks of a round may take together.
const roundTime = 30 * time.Minute

// within is a check that keeps to what is left of a round.
func within(c checks.Check, spent time.Duration) *checks.Check {
	left := max(roundTime-spent, time.Second)
	if c.Timeout <= 0 || c.Timeout > left {
		c.Timeout = min(left, cmp.Or(c.Timeout, 10*time.Minute))
	}
	return &c
}

type checkResult struct {
	state
	checks.Outcome
	// Feedback is what an agent is told of a failure.
	Feedback string `json:"feedback,omitempty"`
}

func (s *workshop) checkTool() troupe.Tool {
	return siteTool(toolCheck, "Runs a check of the repository.", s.check)
}

func (s *workshop) check(ctx context.Context, call *troupe.Invocation, in checkRequest) (checkResult, error) {
	out := checkResult{state: in.state}
	o, err := s.openSite(ctx, call.Run.Session())
	if err != nil {
		return out, err
	}
	i := slices.IndexFunc(o.Checks, func(c checks.Check) bool { return c.Name == in.Check })
	if i < 0 {
		return out, fmt.Errorf("there is no check %q", in.Check)
	}
	w := o.worktree
	if in.Clean {
		if w, err = o.clean(ctx, in.Head); err != nil {
			return out, err
		}
	} else if out.state, err = o.find(ctx, in.state, in.At); err != nil {
		return out, err
	}
	room, err := o.room(ctx, w)
	if err != nil {
		return out, &troupe.ToolError{Class: "failed", Message: err.Error()}
	}
	if !in.Clean {
		o.mark()
	}
	if out.Outcome, err = within(o.Checks[i], in.Spent).Run(ctx, room); err != nil {
		return out, err
	}
	if err := o.keepOutput(&out.Outcome, in.Label); err != nil {
		return out, err
	}
	if !out.OK {
		v, err := o.view(ctx, out.Tree)
		if err != nil {
			return out, err
		}
		out.Feedback = out.Outcome.Feedback(func(path string) string { content, _, _ := v.Read(path); return content })
	}
	if in.Clean {
		return out, nil
	}
	return out, o.become(ctx, out.Tree)
}

// clean is a checkout of a commit alone: what is committed is what is checked.
func (o *openSite) clean(ctx context.Context, commit string) (*git.Worktree, error) {
	dir := filepath.Join(o.workshop.Worktrees, o.ID+"-clean")
	w, err := o.repo.Scratch(ctx, dir, commit)
	if err != nil {
		return nil, err
	}
	err = o.furnishAt(ctx, w.Dir)
	w.Links = o.linked(w.Dir)
	return w, err
}

// keepOutput keeps the whole output of a check.
func (o *openSite) keepOutput(outcome *checks.Outcome, label string) error {
	name := OutputFile(outcome.Name)
	if err := replaceFile(filepath.Join(o.folder, name), []byte(outcome.Output)); err != nil {
		return err
	}
	if label != "" {
		outcome.File = "checks/" + slugOf(label) + "-" + filepath.Base(name)
		return replaceFile(filepath.Join(o.folder, outcome.File), []byte(outcome.Output))
	}
	outcome.File = name
	return nil
}

// OutputFile is where the last output of a check is, in a delivery's folder.
func OutputFile(check string) string { return "checks/" + slugOf(check) + ".txt" }

type formatRequest struct {
	state
	Since string    `json:"since" jsonschema:"the tree before the step"`
	At    time.Time `json:"at"`
}

func (s *workshop) formatTool() troupe.Tool {
	return siteTool(toolFormat, "Runs the formatters and keeps what they change in changed files.", func(ctx context.Context, call *troupe.Invocation, in formatRequest) (state, error) {
		o, err := s.openSite(ctx, call.Run.Session())
		if err != nil {
			return in.state, err
		}
		at, err := o.find(ctx, in.state, in.At)
		if err != nil {
			return at, err
		}
		room, err := o.room(ctx, o.worktree)
		if err != nil {
			return at, err
		}
		o.mark()
		for _, command := range s.Format {
			r, err := room.Command(ctx, []string{"/bin/sh", "-c", command}, "", sandbox.Limits{})
			if err != nil {
				return at, err
			}
			if r.Exit != 0 || r.Missing != "" {
				return at, errors.Join(fmt.Errorf("format %q: exit code %d: %s%s", command, r.Exit, r.Missing, clipText(r.Output, 1000)), o.become(ctx, at.Tree))
			}
		}
		return o.keepFormatted(ctx, at, in.Since)
	})
}

// keepFormatted takes over what formatters did to files that the step changed.
func (o *openSite) keepFormatted(ctx context.Context, at state, since string) (state, error) {
	now, err := o.worktree.Snapshot(ctx)
	if err != nil {
		return at, err
	}
	changed, err := o.worktree.Stats(ctx, since, at.Tree)
	if err != nil {
		return at, err
	}
	after, err := o.worktree.Tree(ctx, now)
	if err != nil {
		return at, err
	}
	before, err := o.worktree.Tree(ctx, at.Tree)
	if err != nil {
		return at, err
	}
	var writes []edit.Write
	for _, c := range changed {
		f, ok, err := after.File(c.Path)
		if err != nil {
			return at, err
		}
		if old, was, _ := before.File(c.Path); ok && was && old.Content != f.Content && edit.IsText(f.Content) {
			writes = append(writes, edit.Write{Path: c.Path, Content: f.Content, Mode: old.Mode})
		}
	}
	if writes != nil {
		if at.Tree, err = before.With(writes); err != nil {
			return at, err
		}
	}
	return at, o.become(ctx, at.Tree)
}

func clipText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

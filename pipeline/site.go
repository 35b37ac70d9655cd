package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/observe"
)

// A Site is where a delivery works, as it is on file beside its plan.
type Site struct {
	Session  string `json:"session"`
	ID       string `json:"id"`
	Request  string `json:"request"`
	Repo     string `json:"repo"`
	Worktree string `json:"worktree"`
	Branch   string `json:"branch"`
	Base     string `json:"base"`
	// Begin is the commit that the branch begins at, where that is not the base: the tip of
	// another delivery's branch, whose commits are part of the change.
	Begin   string    `json:"begin,omitempty"`
	Created time.Time `json:"created"`
	// Checks are those of the base: what an agent changes about them takes effect only
	// once a person has seen it.
	Checks  []checks.Check `json:"checks"`
	Found   bool           `json:"found,omitempty"` // the checks were found, not configured
	Sandbox string         `json:"sandbox"`
	// Own says that the repository was made for the delivery.
	Own bool `json:"own,omitempty"`
	// Brought is what was taken of the branch, in order. What is in the checkout of it now,
	// [Site.Stands] says.
	Brought []git.Part `json:"brought,omitempty"`
	// Into are the branches that were checked out then, HEAD where none was.
	Into []string `json:"into,omitempty"`
	// Taking is what Brought becomes with a take that has begun and is not known to have come
	// to its end.
	Taking []git.Part `json:"taking,omitempty"`
	// Undoing is a take-back that has begun and is not known to have come to its end.
	Undoing *Undoing `json:"undoing,omitempty"`
	// Takes are when the branch was taken, and taken back, in order.
	Takes []Take `json:"takes,omitempty"`
	// SetupTrees are those that the setup was allowed to run on: see [state].
	SetupTrees []string `json:"setup_trees,omitempty"`
	// Deleted is when its session was deleted, where something of it stays in the repository.
	Deleted time.Time `json:"deleted,omitzero"`
	// Dropped is when what it had built was removed from the repository for good.
	Dropped time.Time `json:"dropped,omitzero"`
}

// ErrDropped says of a delivery that there is nothing to take, change or go on with.
var ErrDropped = errors.New("what it had built was dropped")

const (
	// SiteFile is the name, in a delivery's folder, of the file that says where it works, and
	// TreeFile that of the one that says what Troupe has put there: see [Site.ChangedByHand].
	SiteFile = "delivery.json"
	TreeFile = "tree"
)

// ReadSite reads where a delivery works from its folder.
func ReadSite(folder string) (*Site, error) {
	data, err := os.ReadFile(filepath.Join(folder, SiteFile))
	if err != nil {
		return nil, err
	}
	var s Site
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, SiteFile), err)
	}
	return &s, nil
}

// Save writes where a delivery works to its folder. Of one that is on file already, that is for those
// who have kept others from changing it since they read it: see [Site.Hold].
func (s *Site) Save(folder string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(folder, SiteFile), append(data, '\n'))
}

// replaceFile writes a file whole or not at all.
func replaceFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), newFile+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}

// A state is what the worktree holds: the commit of its branch, and the tree of what
// is in the folder. Every tool that works on the site is told the state that it is to
// find, and says which one it leaves.
type state struct {
	Head string `json:"head"`
	Tree string `json:"tree"`
	// ByHand are files that a person changed in the meantime.
	ByHand []string `json:"by_hand,omitempty"`
	// Setup is the tree that the setup ran on where that is not the base, Declined one that
	// a person did not want it to run on.
	Setup    string `json:"setup,omitempty"`
	Declined string `json:"declined,omitempty"`
}

// A Take is that a branch was taken into the checkout, or taken back out of it.
type Take struct {
	At   time.Time `json:"at"`
	Back bool      `json:"back,omitempty"`
}

// workshop opens the sites of a repository.
type workshop struct {
	Repository
	helper *sandbox.Sandbox
	refuse error // why there is no sandbox

	mu    sync.Mutex
	repos map[string]*git.Repo // by their checkouts
	// opened is when the workshop was made, swept are the sessions swept since.
	opened time.Time
	swept  map[string]bool
}

// repository opens a repository once.
func (s *workshop) repository(ctx context.Context, dir string) (*git.Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.repos[dir]; r != nil {
		return r, nil
	}
	r, err := git.Open(ctx, dir)
	if err == nil {
		if s.repos == nil {
			s.repos = map[string]*git.Repo{}
		}
		s.repos[dir] = r
	}
	return r, err
}

// place is where a session's site is on file.
func (s *workshop) folder(session string) string { return filepath.Join(s.Data, session) }

// openSite opens the site of a session.
func (s *workshop) openSite(ctx context.Context, session string) (*openSite, error) {
	s.sweepOnce(session)
	about, err := ReadSite(s.folder(session))
	if err != nil {
		return nil, fmt.Errorf("the delivery's site: %w", err)
	}
	if !about.Dropped.IsZero() {
		return nil, fmt.Errorf("delivery %s: %w", about.ID, ErrDropped)
	}
	repo, err := s.repository(ctx, about.Repo)
	if err != nil {
		return nil, err
	}
	begin, err := s.begin(ctx, repo, about)
	if err != nil {
		return nil, err
	}
	worktree, made, err := repo.Worktree(ctx, about.Worktree, about.Branch, begin)
	if err != nil {
		return nil, err
	}
	o := &openSite{Site: about, workshop: s, session: session, repo: repo, worktree: worktree, folder: s.folder(session)}
	if made {
		o.mark() // what was in the folder is gone, and nobody has changed it by hand
	}
	o.worktree.Links = o.linked(worktree.Dir)
	return o, nil
}

// begin is the commit that a delivery's branch is made from: where it begins, or the latest that is known of
// it, where somebody has removed the branch since.
func (s *workshop) begin(ctx context.Context, repo *git.Repo, about *Site) (string, error) {
	if repo.Has(ctx, "refs/heads/"+about.Branch) {
		return about.Base, nil // nobody has to make it anew
	}
	plan, err := s.readPlan(about.Session)
	if err != nil {
		plan = &Plan{} // there is none yet
	}
	return about.Tip(ctx, repo, plan)
}

// An openSite is a site that is worked on.
type openSite struct {
	*Site
	*workshop
	session  string
	repo     *git.Repo
	worktree *git.Worktree
	folder   string
	packages []string // see packageFolders
}

// pending is a file that says that we are changing the worktree, so that what is found
// there after a crash is not taken for a person's doing.
func (o *openSite) pending() string { return filepath.Join(o.folder, "pending") }

func (o *openSite) mark() { _ = os.WriteFile(o.pending(), nil, 0o644) }

func (o *openSite) unmark() { _ = os.Remove(o.pending()) }

// last is a file that names the tree that we have put into the worktree. A process may
// be killed before that is on record: what differs from the record is then not a
// person's doing, and only what differs from this tree is.
func (o *openSite) last() string { return filepath.Join(o.folder, TreeFile) }

// find makes sure that the worktree holds a state. What a person changed in it is kept:
// as a commit of its own.
func (o *openSite) find(ctx context.Context, want state, at time.Time) (state, error) {
	want.ByHand = nil
	head, err := o.worktree.Head(ctx)
	if err != nil {
		return want, err
	}
	if head != want.Head { // a person has committed
		files, err := o.worktree.Stats(ctx, want.Head, head)
		if err != nil {
			return want, err
		}
		for _, f := range files {
			want.ByHand = append(want.ByHand, f.Path)
		}
		before, err := o.worktree.TreeOf(ctx, want.Head)
		if err != nil {
			return want, err
		}
		tree, err := o.worktree.TreeOf(ctx, head)
		if err != nil {
			return want, err
		}
		if merged, ok, err := o.worktree.ApplyDifference(ctx, before, want.Tree, tree); err == nil && ok {
			tree = merged
		}
		want.Head, want.Tree = head, tree
		o.mark()
	}
	if _, err := os.Stat(o.pending()); err == nil {
		if err := o.worktree.BreakLock(ctx); err != nil {
			return want, err
		}
		return want, o.become(ctx, want.Tree)
	}
	if !o.worktree.Filled() {
		return want, o.become(ctx, want.Tree)
	}
	now, err := o.worktree.Snapshot(ctx)
	if err != nil || now == want.Tree {
		return want, err
	}
	if last, err := os.ReadFile(o.last()); err == nil && string(last) != want.Tree { // which is not on record
		if now == string(last) {
			return want, o.become(ctx, want.Tree)
		}
		if byHand, ok, err := o.worktree.ApplyDifference(ctx, string(last), now, want.Tree); err == nil && ok {
			now = byHand
		}
	}
	return o.adopt(ctx, want, now, at)
}

// adopt keeps what a person changed in the worktree as a commit of its own.
func (o *openSite) adopt(ctx context.Context, want state, now string, at time.Time) (state, error) {
	files, err := o.worktree.Stats(ctx, want.Tree, now)
	if err != nil {
		return want, err
	}
	for _, f := range files {
		want.ByHand = append(want.ByHand, f.Path)
	}
	committed, err := o.worktree.TreeOf(ctx, want.Head)
	if err != nil {
		return want, err
	}
	tree, ok := now, committed == want.Tree
	if !ok {
		if tree, ok, err = o.worktree.ApplyDifference(ctx, want.Tree, now, committed); err != nil {
			return want, err
		}
	}
	if ok {
		head, err := o.worktree.Commit(ctx, tree, want.Head, "By hand\n\n"+o.trailer("by hand"), at)
		if err != nil {
			return want, err
		}
		want.Head = head
	}
	want.Tree = now
	// The index follows, so that the folder is clean but for what is not committed yet.
	// Killed here, it must not go back to what is on record: that is without the person's.
	if err := o.worktree.Restore(ctx, now); err != nil {
		return want, err
	}
	return want, o.holds(now)
}

// become makes the worktree hold a tree. The first one fills it, which takes its time in
// a large repository.
func (o *openSite) become(ctx context.Context, tree string) error {
	o.mark()
	var err error
	if o.worktree.Filled() {
		err = o.worktree.Restore(ctx, tree)
	} else {
		err = o.worktree.Fill(ctx, tree, func() error { return o.furnish(ctx, o.worktree.Dir) })
		o.worktree.Links = o.linked(o.worktree.Dir)
	}
	if err != nil {
		return err
	}
	return o.holds(tree)
}

// holds takes note that the worktree holds a tree because we have put it there.
func (o *openSite) holds(tree string) error {
	if err := replaceFile(o.last(), []byte(tree)); err != nil {
		return err
	}
	o.unmark()
	return nil
}

// trailer is the last line of every commit of a delivery.
func (o *openSite) trailer(step string) string {
	return fmt.Sprintf("Delivered-by: Troupe %s, delivery %s, step %s\n", o.Version, o.ID, step)
}

// room is where checks of a worktree run.
func (o *openSite) room(ctx context.Context, w *git.Worktree) (checks.Room, error) {
	if o.refuse != nil {
		return checks.Room{}, o.refuse
	}
	read := []string{o.repo.Dir}
	for _, dir := range o.Read {
		read = append(read, absolute(o.Repo, dir))
	}
	for _, dir := range o.links(ctx) {
		read = append(read, filepath.Join(o.Repo, dir))
	}
	var keep []string
	for _, name := range o.linked(w.Dir) {
		if at := filepath.Join(w.Dir, filepath.FromSlash(name)); isMirror(at) {
			keep = append(keep, at)
		}
	}
	return checks.Room{Sandbox: o.helper, Root: w.Dir, Read: read, Cache: o.Cache, Env: o.Env, Hosts: o.Network, Keep: keep, Hide: o.Hide, Redact: observe.RedactText}, nil
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// furnish puts into a new worktree what git ignores and checks need.
func (o *openSite) furnish(ctx context.Context, dir string) error {
	for _, name := range o.links(ctx) {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := o.link(filepath.Join(o.Repo, filepath.FromSlash(name)), target, dir); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	for _, name := range o.copies() {
		from, err := os.ReadFile(filepath.Join(o.Repo, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if err := replaceFile(filepath.Join(dir, filepath.FromSlash(name)), from); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// linked are the links that furnish has put into a worktree. Patterns such as
// node_modules/ ignore directories alone, so that git would take them for files.
func (o *openSite) linked(dir string) (list []string) {
	for _, name := range o.linkable() {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if target, err := os.Readlink(at); err == nil && target == filepath.Join(o.Repo, filepath.FromSlash(name)) || isMirror(at) {
			list = append(list, name)
		}
	}
	return list
}

// links are the directories of the checkout that git ignores and that are shown.
func (o *openSite) links(ctx context.Context) []string {
	var list []string
	for _, name := range o.linkable() {
		info, err := os.Stat(filepath.Join(o.Repo, filepath.FromSlash(name)))
		if err != nil || !info.IsDir() || edit.CheckPath(name) != "" {
			continue
		}
		if o.Link != nil || o.repo.Ignores(ctx, name) {
			list = append(list, name)
		}
	}
	return list
}

// linkable are the names of directories that may be shown. Where nobody has said which,
// a setup makes them itself: it could not write to those of the checkout.
func (o *openSite) linkable() (candidates []string) {
	if o.Link != nil || len(o.Setup) > 0 {
		return o.Link
	}
	for _, name := range []string{"node_modules", ".venv", "venv", "vendor"} {
		candidates = append(candidates, name)
		for _, c := range o.Checks {
			if c.Dir != "" {
				candidates = append(candidates, c.Dir+"/"+name)
			}
		}
	}
	candidates = append(candidates, o.packageFolders()...)
	slices.Sort(candidates)
	return slices.Compact(candidates)
}

// copies are files that are copied from the checkout: those that are configured and
// those that .worktreeinclude names one by one.
func (o *openSite) copies() []string {
	list := slices.Clone(o.Copy)
	data, _ := os.ReadFile(filepath.Join(o.Repo, ".worktreeinclude"))
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		matches, _ := filepath.Glob(filepath.Join(o.Repo, filepath.FromSlash(line)))
		for _, m := range matches {
			if info, err := os.Lstat(m); err == nil && info.Mode().IsRegular() {
				if name, err := filepath.Rel(o.Repo, m); err == nil {
					list = append(list, filepath.ToSlash(name))
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(name string) bool {
		_, err := os.Stat(filepath.Join(o.Repo, filepath.FromSlash(name)))
		return edit.CheckPath(name) != "" || err != nil
	})
}

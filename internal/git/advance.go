package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Advance moves the checkout forward to a commit that follows the one it is at. Once that has
// begun, it goes on whether ctx is done or not, and no file that is not committed is written over, those
// that git ignores included. Whoever comes after one that was killed waits for what git still does of that.
func (r *Repo) Advance(ctx context.Context, to string) error {
	lock, err := r.lockCheckout(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	checkout := *r
	checkout.settings = userSettings()
	// What is half written is worse than what takes a moment longer: whoever asked may be gone.
	ctx = context.WithoutCancel(ctx)
	_, err = checkout.runHolding(ctx, lock, r.Top, nil, nil, "merge", "--quiet", "--ff-only", "--no-verify", "--no-overwrite-ignore", "--no-autostash", to)
	if said, ok := errors.AsType[*Error](err); ok && slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(said.Said, words) }) {
		return &RefusedError{err}
	}
	return err
}

// A RefusedError is why git has not begun to move the checkout.
type RefusedError struct{ Err error }

// Error is what git said.
func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }

// refusals are what git says before it writes anything.
var refusals = []string{"would be overwritten by merge", "would be removed by merge", "would lose untracked files", "Not possible to fast-forward", "index.lock': File exists"}

// IsUntouched reports whether nothing was written of an [Repo.Advance] from one commit to another.
func (r *Repo) IsUntouched(ctx context.Context, from, to string) (bool, error) {
	checkout := *r
	checkout.settings = userSettings()
	head, err := checkout.head(ctx)
	if err != nil || head != from {
		return false, err
	}
	changed, err := checkout.differing(ctx, from, to)
	return len(changed) == 0, err
}

func (r *Repo) lockCheckout(ctx context.Context) (*os.File, error) {
	return waitForLock(ctx, filepath.Join(r.Dir, "troupe.lock"))
}

// Contains reports whether the checkout is at a commit, or at one that follows it.
func (r *Repo) Contains(ctx context.Context, commit string) (bool, error) {
	return r.hasIn(ctx, commit, "HEAD")
}

// BreakLock removes the lock that a git which was killed has left on the checkout's index.
// It is for a checkout that nobody else works in: theirs cannot be told from ours.
func (r *Repo) BreakLock(ctx context.Context) error {
	lock, err := r.lockCheckout(ctx) // no git of ours is at work then
	if err != nil {
		return err
	}
	defer lock.Close()
	name, err := r.at(ctx, r.Top, nil, "rev-parse", "--git-path", "index.lock")
	if err != nil {
		return err
	}
	return removeIfThere(absolute(r.Top, strings.TrimSuffix(name, "\n")))
}

// Retreat takes back what an [Repo.Advance] from one commit to another has written to the
// checkout before it was killed. Nothing is done where the checkout has moved on since, or
// where a file that differs is not what git was writing: somebody has changed it.
func (r *Repo) Retreat(ctx context.Context, from, to string) error {
	lock, err := r.lockCheckout(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	checkout := *r
	checkout.settings = userSettings()
	if head, err := checkout.at(ctx, r.Top, nil, "rev-parse", "--verify", "HEAD^{commit}"); err != nil || strings.TrimSpace(head) != from {
		return err
	}
	paths, err := checkout.differing(ctx, from, to)
	if err != nil || len(paths) == 0 {
		return err
	}
	root, err := os.OpenRoot(r.Top)
	if err != nil {
		return err
	}
	defer root.Close()
	var before []string // of them, what is there before
	for _, path := range paths {
		if isBegun, err := checkout.isBegun(ctx, root, to, path); err != nil || !isBegun {
			return err
		}
		if checkout.hasFile(ctx, from, path) {
			before = append(before, path)
		}
	}
	names := func(list []string) *strings.Reader { return strings.NewReader(strings.Join(list, "\x00") + "\x00") }
	literally := []string{"GIT_LITERAL_PATHSPECS=1"}
	if _, err := checkout.runHolding(ctx, lock, r.Top, names(paths), literally, "reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", from); err != nil {
		return err
	}
	for _, path := range paths {
		if err := root.Remove(filepath.FromSlash(path)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	if before == nil {
		return nil
	}
	_, err = checkout.runHolding(ctx, lock, r.Top, names(before), nil, "checkout-index", "--force", "-z", "--stdin")
	return err
}

// differing are the files that two commits differ in and that are not in the checkout as its
// commit has them.
func (r *Repo) differing(ctx context.Context, from, to string) (list []string, err error) {
	names, err := r.between(ctx, from, to)
	if err != nil {
		return nil, err
	}
	dirty, err := r.Changed(ctx)
	for _, name := range names {
		if r.isAmong(dirty, name) {
			list = append(list, name)
		}
	}
	return list, err
}

// isAmong says whether a file is one of those that git has listed, or is there in a folder of them.
func (r *Repo) isAmong(dirty []string, name string) bool {
	return slices.ContainsFunc(dirty, func(d string) bool {
		if d == name || !strings.HasSuffix(d, "/") || !strings.HasPrefix(name, d) {
			return d == name
		}
		_, err := os.Lstat(filepath.Join(r.Top, filepath.FromSlash(name)))
		return err == nil
	})
}

// isBegun says of a file of the checkout that it is what git leaves when it is killed while it
// writes a commit's: it is not there, or it is the file as far as it was written.
func (r *Repo) isBegun(ctx context.Context, root *os.Root, commit, path string) (bool, error) {
	info, err := root.Lstat(filepath.FromSlash(path))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular() || !r.hasFile(ctx, commit, path):
		return false, nil
	}
	want, err := r.at(ctx, r.Top, nil, "cat-file", "--filters", commit+":"+path)
	if err != nil {
		return false, err
	}
	is, err := root.ReadFile(filepath.FromSlash(path))
	return err == nil && bytes.HasPrefix([]byte(want), is), err
}

// hasFile reports whether a commit has a file.
func (r *Repo) hasFile(ctx context.Context, commit, path string) bool {
	_, err := r.at(ctx, r.Top, nil, "cat-file", "-e", commit+":"+path)
	return err == nil
}

package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/internal/edit"
)

// A Tree is the files of one state of the repository. It implements [edit.Tree].
type Tree struct {
	ctx      context.Context // of the one piece of work that the tree is read for
	worktree *Worktree
	ID       string
	entries  map[string]entry
	paths    []string
	read     map[string]string
	sizes    map[string]int64 // nil until somebody asks
}

type entry struct{ mode, object string }

// Tree reads the names of all files of a tree. Their contents and sizes are read when
// asked for, while ctx is good.
func (w *Worktree) Tree(ctx context.Context, id string) (*Tree, error) {
	t := &Tree{ctx: ctx, worktree: w, ID: id, entries: map[string]entry{}, read: map[string]string{}}
	err := t.list(func(name string, fields []string) {
		t.entries[name] = entry{fields[0], fields[2]}
		t.paths = append(t.paths, name)
	})
	return t, err
}

// list calls a function for every file, with what git says of it: mode, type, object, and
// where the arguments ask for it the size. For that git opens every object, which takes
// many times as long as their names.
func (t *Tree) list(each func(name string, fields []string), args ...string) error {
	out, err := t.worktree.git(t.ctx, append(append([]string{"ls-tree", "-r", "-z", "--full-tree"}, args...), t.ID)...)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(out, "\x00") {
		if about, name, ok := strings.Cut(line, "\t"); ok {
			each(name, strings.Fields(about))
		}
	}
	return nil
}

// Tree reads the names of all files of a commit, for looking at them alone.
func (r *Repo) Tree(ctx context.Context, id string) (*Tree, error) {
	return (&Worktree{Repo: r, Dir: r.Top, gitDir: r.Dir}).Tree(ctx, id)
}

// Paths are those of all files, in git's order.
func (t *Tree) Paths() []string { return t.paths }

// Size is that of a file in bytes, 0 where there is none, or where git cannot say.
func (t *Tree) Size(path string) int64 {
	if t.sizes == nil {
		t.sizes = map[string]int64{}
		_ = t.list(func(name string, fields []string) {
			size, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64) // "-" for a submodule
			t.sizes[name] = size
		}, "-l")
	}
	return t.sizes[path]
}

// Mode is that of a file, "" where there is none.
func (t *Tree) Mode(path string) string { return t.entries[path].mode }

// File implements [edit.Tree].
func (t *Tree) File(path string) (edit.File, bool, error) {
	e, ok := t.entries[path]
	if !ok {
		return edit.File{}, false, nil
	}
	if e.mode == "160000" {
		return edit.File{Mode: e.mode}, true, nil
	}
	content, known := t.read[path]
	if !known {
		size, err := t.worktree.git(t.ctx, "cat-file", "-s", e.object)
		if err != nil {
			return edit.File{}, false, err
		}
		if n, _ := strconv.ParseInt(strings.TrimSpace(size), 10, 64); n > 16<<20 {
			return edit.File{}, false, fmt.Errorf("%s has %d bytes, more than is read", path, n)
		}
		if content, err = t.worktree.git(t.ctx, "cat-file", "blob", e.object); err != nil {
			return edit.File{}, false, err
		}
		t.read[path] = content
	}
	return edit.File{Content: content, Mode: e.mode}, true, nil
}

// Ignored implements [edit.Tree].
func (t *Tree) Ignored(path string) (bool, error) {
	_, err := t.worktree.git(t.ctx, "check-ignore", "--quiet", "--no-index", "--", path)
	if err == nil {
		return true, nil
	}
	if code := exitCode(err); code == 1 {
		return false, nil
	}
	return false, err
}

// With returns the tree that writes make of this one. Nothing but git's objects is
// written.
func (t *Tree) With(writes []edit.Write) (string, error) {
	var b strings.Builder
	for _, w := range writes {
		if w.Delete {
			fmt.Fprintf(&b, "0 %s\t%s\x00", strings.Repeat("0", len(t.ID)), w.Path)
			continue
		}
		object, err := t.worktree.with(t.ctx, strings.NewReader(w.Content), nil, "hash-object", "-w", "--no-filters", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\t%s\x00", w.Mode, strings.TrimSpace(object), w.Path)
	}
	return t.worktree.inIndex(t.ctx, t.ID, func(env []string) error {
		_, err := t.worktree.with(t.ctx, strings.NewReader(b.String()), env, "update-index", "-z", "--index-info")
		return err
	})
}

// A Stat is how much of a file changed.
type Stat struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // what it was called, where it was renamed
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary,omitempty"`
}

// Stats says what differs between two trees or commits.
func (w *Worktree) Stats(ctx context.Context, from, to string) ([]Stat, error) {
	out, err := w.git(ctx, numstat("--no-renames", from, to)...)
	if err != nil {
		return nil, err
	}
	return readStats(out), nil
}

// A Commit is a commit of a branch.
type Commit struct {
	ID    string `json:"commit"`
	Title string `json:"title"`
}

// Log lists the commits that are in one and not in another, the oldest first.
func (r *Repo) Log(ctx context.Context, from, to string) (list []Commit, err error) {
	out, err := r.at(ctx, r.Top, nil, "log", "--reverse", "-z", "--format=%H %s", from+".."+to, "--")
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(out, "\x00") {
		if id, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			list = append(list, Commit{id, title})
		}
	}
	return list, nil
}

// Renamed says what differs between two trees or commits, for people: a file that has another
// name is one, as in [Worktree.Diff].
func (r *Repo) Renamed(ctx context.Context, from, to string) ([]Stat, error) {
	out, err := r.at(ctx, r.Top, nil, numstat("--find-renames", from, to)...)
	if err != nil {
		return nil, err
	}
	return readStats(out), nil
}

func numstat(renames, from, to string) []string {
	return []string{"diff", "--no-ext-diff", "--no-textconv", renames, "--numstat", "-z", from, to, "--"}
}

// readStats reads one file a record; a renamed one has its names in two more.
func readStats(out string) (stats []Stat) {
	records := strings.Split(out, "\x00")
	for i := 0; i < len(records); i++ {
		fields := strings.SplitN(records[i], "\t", 3)
		if len(fields) != 3 {
			continue
		}
		s := Stat{Path: fields[2], Binary: fields[0] == "-"}
		if s.Path == "" && i+2 < len(records) {
			s.From, s.Path = records[i+1], records[i+2]
			i += 2
		}
		s.Added, _ = strconv.Atoi(fields[0])
		s.Removed, _ = strconv.Atoi(fields[1])
		stats = append(stats, s)
	}
	slices.SortFunc(stats, func(a, b Stat) int { return strings.Compare(a.Path, b.Path) })
	return stats
}

// Diff is the unified diff between two trees or commits, of the paths named or of all.
func (w *Worktree) Diff(ctx context.Context, from, to string, paths ...string) (string, error) {
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", from, to, "--"}
	for _, p := range paths {
		args = append(args, ":(literal)"+p)
	}
	return w.git(ctx, args...)
}

// Read returns a file of a commit or tree.
func (w *Worktree) Read(ctx context.Context, commit, path string) (string, error) {
	return w.git(ctx, "cat-file", "blob", commit+":"+path)
}

// ApplyDifference returns the tree that the difference between two trees makes of a
// third, and whether it could be made without conflict.
func (w *Worktree) ApplyDifference(ctx context.Context, from, to, onto string) (tree string, ok bool, err error) {
	if tree, err = w.Repo.differenceOn(ctx, from, to, onto, ""); err != nil {
		if _, isConflict := errors.AsType[*ConflictError](err); isConflict {
			err = nil
		}
		return "", false, err
	}
	return tree, true, nil
}

// atMost are the files that have at most limit bytes. Git is asked about these alone.
func (t *Tree) atMost(limit int64, paths []string) (list []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var objects strings.Builder
	for _, p := range paths {
		objects.WriteString(t.entries[p].object + "\n")
	}
	out, err := t.worktree.with(t.ctx, strings.NewReader(objects.String()), nil, "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return nil, err
	}
	sizes := strings.Split(out, "\n")
	for i, p := range paths {
		if size, err := strconv.ParseInt(sizes[min(i, len(sizes)-1)], 10, 64); err == nil && size <= limit { // one that is missing has none
			list = append(list, p)
		}
	}
	return list, nil
}

// Load reads the contents of many files at once, those of at most limit bytes.
func (t *Tree) Load(paths []string, limit int64) error {
	var wanted strings.Builder
	var list []string
	for _, p := range paths {
		e, ok := t.entries[p]
		if _, known := t.read[p]; !ok || known || e.mode == "160000" || e.mode == "120000" {
			continue
		}
		list = append(list, p)
	}
	list, err := t.atMost(limit, list)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, p := range list {
		wanted.WriteString(t.entries[p].object + "\n")
	}
	out, err := t.worktree.with(t.ctx, strings.NewReader(wanted.String()), nil, "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, p := range list {
		header, rest, ok := strings.Cut(out, "\n")
		fields := strings.Fields(header)
		if !ok || len(fields) != 3 {
			return fmt.Errorf("git cat-file: %.80q", header)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size > len(rest) {
			return fmt.Errorf("git cat-file: %.80q", header)
		}
		t.read[p] = rest[:size]
		out = strings.TrimPrefix(rest[size:], "\n")
	}
	return nil
}

package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// mirrorMark is a file by which a mirror is known.
const mirrorMark = ".troupe-mirror"

func isMirror(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, mirrorMark))
	return err == nil && info.Mode().IsRegular()
}

// link shows a directory of the checkout at a place of a worktree. A node_modules that
// leads to packages of its own workspace would have their old code checked: it becomes a
// mirror, a directory of links, of which those to packages lead into the worktree.
func (o *openSite) link(from, to, worktree string) error {
	if filepath.Base(from) != "node_modules" || !o.leadsToMembers(from) {
		return os.Symlink(from, to)
	}
	if err := o.mirror(from, to, worktree); err != nil {
		return errors.Join(err, os.RemoveAll(to))
	}
	return os.WriteFile(filepath.Join(to, mirrorMark), nil, 0o644)
}

// mirror makes a directory of links to what is in another one.
func (o *openSite) mirror(from, to, worktree string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if strings.HasPrefix(e.Name(), "@") && e.IsDir() { // packages of one scope
			err = o.mirror(source, target, worktree)
		} else if member, ok := o.member(source); ok {
			err = os.Symlink(filepath.Join(worktree, member), target)
		} else {
			err = os.Symlink(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leadsToMembers reports whether a node_modules has links to packages of the repository.
func (o *openSite) leadsToMembers(dir string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if _, ok := o.member(at); ok || strings.HasPrefix(e.Name(), "@") && e.IsDir() && o.leadsToMembers(at) {
			return true
		}
	}
	return false
}

// member is the path, in the repository, of the package that a link leads to.
func (o *openSite) member(link string) (string, bool) {
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		return "", false
	}
	target, err := filepath.EvalSymlinks(link)
	if err != nil {
		return "", false
	}
	root, err := filepath.EvalSymlinks(o.Repo)
	if err != nil {
		return "", false
	}
	name, err := filepath.Rel(root, target)
	if err != nil || !filepath.IsLocal(name) || strings.Contains("/"+filepath.ToSlash(name)+"/", "/node_modules/") {
		return "", false
	}
	return name, true
}

// packageFolders are the node_modules of the packages of a workspace, in the usual places.
// They are looked for once, when the site is opened.
func (o *openSite) packageFolders() []string {
	if o.packages != nil {
		return o.packages
	}
	o.packages = []string{}
	for _, pattern := range []string{"*/node_modules", "*/*/node_modules"} {
		found, _ := filepath.Glob(filepath.Join(o.Repo, pattern))
		for _, at := range found {
			if name, err := filepath.Rel(o.Repo, at); err == nil && strings.Count(filepath.ToSlash(name), "node_modules") == 1 && !strings.HasPrefix(name, ".") {
				o.packages = append(o.packages, filepath.ToSlash(name))
			}
		}
	}
	return o.packages
}

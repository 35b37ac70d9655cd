package project

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/workspace"
)

// keysByName lists the files and directories of the project that have the name of a key. What is
// committed is left out: whoever reads .git has it, and tests need such files.
func (p *Project) keysByName(ctx context.Context) (list []string, err error) {
	hidden, committed := p.hiddenPlaces(), p.committed(ctx)
	err = filepath.WalkDir(p.dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || file == p.dir:
			return nil // what cannot be listed has no names to go by
		case d.Name() == ".git", d.Name() == "node_modules", slices.Contains(hidden, file):
			return skipped(d)
		case !workspace.IsSecret(d.Name()) || committed[file]:
			return ctx.Err()
		}
		list = append(list, file)
		return skipped(d)
	})
	return list, err
}

// skipped has a walk go on after an entry.
func skipped(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// committed returns the files of the project that are in the latest commit of the repository
// around it, and the directories that they are in.
func (p *Project) committed(ctx context.Context) map[string]bool {
	found := map[string]bool{}
	repository, err := git.Open(ctx, p.dir)
	if err != nil {
		return found
	}
	tree, err := repository.Tree(ctx, "HEAD")
	if err != nil {
		return found // as before the first commit
	}
	within := filepath.ToSlash(p.inRepository(repository, "."))
	for _, name := range tree.Paths() {
		if within != "." {
			var ok bool
			if name, ok = strings.CutPrefix(name, within+"/"); !ok {
				continue
			}
		}
		for ; name != "."; name = path.Dir(name) {
			found[filepath.Join(p.dir, filepath.FromSlash(name))] = true
		}
	}
	return found
}

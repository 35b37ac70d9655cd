package project

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
)

// examineKeyFiles warns of files with keys and tokens that everybody on this machine can
// read, or that git would commit.
func (p *Project) examineKeyFiles(ctx context.Context) (checks []doctor.Check) {
	warn := func(message, fix string) {
		checks = append(checks, doctor.Check{Name: "keys", Status: doctor.Warning, Message: message, Fix: fix})
	}
	for _, name := range config.DotEnv {
		file := filepath.Join(p.dir, name)
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 { // whose modes say nothing of who may read
			warn(name+" can be read by everybody on this machine", "chmod 600 "+p.shown(file))
		}
		if repository, err := git.Open(ctx, p.dir); err == nil && !repository.Ignores(ctx, within(repository.Top, p.inRepository(repository, name))) {
			warn("git does not ignore "+name+": a commit would have its keys in it", "add /"+name+" to .gitignore; if it was committed, git rm --cached "+name+", and make new keys")
		}
	}
	return checks
}

// inRepository is the name of a file of the project within the checkout around it.
func (p *Project) inRepository(r *git.Repo, name string) string {
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		dir = p.dir
	}
	relative, err := filepath.Rel(r.Top, filepath.Join(dir, name))
	if err != nil {
		return name
	}
	return relative
}

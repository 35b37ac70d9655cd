package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// settle decides which repository an order is about.
func (p *Project) settle(ctx context.Context, order *Delivery) error {
	switch {
	case order.Out != "":
		order.Repo, order.Create = within(p.dir, order.Out), true
		return nil
	case order.Repo != "":
		return nil
	}
	repo, err := git.Open(ctx, within(p.dir, p.config.Pipeline.Repo))
	switch {
	case errors.Is(err, git.ErrNone) && p.config.Pipeline.Repo == "":
		order.Repo, order.Create = filepath.Join(within(p.dir, p.config.Pipeline.Output), "<date>-<feature>-<id>"), true
		return nil
	case err != nil:
		return err
	}
	order.Repo = repo.Top
	return nil
}

// mayBegin says what keeps a delivery from beginning in its repository, before anything of
// it is on record.
func (p *Project) mayBegin(ctx context.Context, order *Delivery) error {
	if order.Create {
		return nil
	}
	repo, err := git.Open(ctx, order.Repo)
	if err == nil {
		_, err = repo.Base(ctx, order.Base)
	}
	return err
}

// cacheDir is for what can be made again: never inside a checkout.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "troupe")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", os.Getuid()))
}

// repository is how a delivery works in its repository.
func (p *Project) repository(order Delivery) *pipeline.Repository {
	c := p.config.Pipeline
	r := &pipeline.Repository{
		Dir: order.Repo, Create: order.Create, Base: order.Base, IncludeChanges: order.IncludeChanges, Branch: c.Branch,
		Data: p.deliveriesDir(), Worktrees: filepath.Join(cacheDir(), "worktrees"), Cache: filepath.Join(cacheDir(), "checks", shortHash(order.Repo)),
		Documents: c.Documents, Setup: c.Setup, SetupAgain: c.Again, SetupScripts: c.Scripts, Link: c.Link, Copy: c.Copy, Format: c.Format, Protect: c.Protect, Edits: c.Edits, Network: c.Network,
		Rounds: c.Rounds, Read: c.Read, Env: c.Env, Hide: p.hiddenPlaces(), Unchecked: order.Unchecked, KeepGoing: order.KeepGoing, Version: version(),
		Sandbox: pipeline.Sandbox{Level: c.Sandbox, Command: c.Wrap, Helper: p.helper},
	}
	if c.QARounds != nil {
		if r.QARounds = *c.QARounds; r.QARounds == 0 {
			r.QARounds = -1
		}
	}
	if len(c.Wrap) > 0 {
		r.Sandbox.Level = "command"
	}
	for _, check := range c.Checks {
		r.Checks = append(r.Checks, pipeline.Check{Name: check.Name, Run: check.Run, Timeout: check.Timeout, When: check.When})
	}
	return r
}

// SaveChecks writes the checks that were found for a delivery to troupe.yaml, whose
// comments stay. It fails where the file has checks already.
func (p *Project) SaveChecks(site *pipeline.Site) error {
	if len(p.config.Pipeline.Checks) > 0 {
		return fmt.Errorf("%s has pipeline.checks already", config.Name)
	}
	var lines []config.Check
	for i := range site.Checks {
		c := &site.Checks[i]
		run := c.Shell
		if run == "" {
			run = strings.TrimSuffix(c.Command(), " (in "+c.Dir+")")
		}
		if c.Dir != "" {
			run = "cd " + c.Dir + " && " + run
		}
		lines = append(lines, config.Check{Name: c.Name, Run: run})
	}
	if lines == nil {
		return errors.New("no checks were found")
	}
	return config.AddChecks(p.dir, lines, p.lookup)
}

// version is that of this module, for commits.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

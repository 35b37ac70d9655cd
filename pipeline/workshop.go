package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/tool/repo"
	"github.com/troupe-dev/troupe/workspace"
)

// siteTools are the tools that work on the repository, for the delivery itself.
type siteTools struct {
	prepare, setup, check, apply, format, commit, reset, look, diff, stat, try, readPlan, writePlan, documents, keepDocs, publish, adopt, findChecks, dependencies, setupAgain troupe.Tool
}

func (s *workshop) tools() siteTools {
	return siteTools{
		prepare: s.prepareTool(), setup: s.setupTool(), check: s.checkTool(), apply: s.applyTool(), format: s.formatTool(), commit: s.commitTool(),
		reset: s.resetTool(), look: s.lookTool(), diff: s.diffTool(), stat: s.statTool(), try: s.tryTool(),
		readPlan: s.readPlanTool(), writePlan: s.writePlanTool(), documents: s.documentsTool(), keepDocs: s.keepDocsTool(), publish: s.publishTool(), adopt: s.adoptTool(), findChecks: s.findChecksTool(),
		dependencies: s.dependenciesTool(), setupAgain: s.setupAgainTool(),
	}
}

// newWorkshop opens what a delivery into a repository needs, nil where there is none.
func newWorkshop(c *Config) (*workshop, error) {
	if c.Repository == nil {
		return nil, nil
	}
	r := *c.Repository
	if err := r.complete(); err != nil {
		return nil, err
	}
	c.Repository = &r
	s := &workshop{Repository: r, opened: time.Now()}
	s.helper, s.refuse = sandbox.Open(context.Background(), sandbox.Level(r.Sandbox.Level), r.Sandbox.Helper, r.Sandbox.Command)
	if s.refuse != nil && !errors.Is(s.refuse, sandbox.ErrNone) {
		return nil, s.refuse
	}
	if len(r.Network) > 0 && s.helper != nil && s.helper.Level() == sandbox.Files {
		return nil, fmt.Errorf("repository: network: hosts can only be let through on the level full, and here is files: %s", s.helper.Why)
	}
	if c.Output == nil {
		c.Output = s.documentsRoot()
	}
	return s, nil
}

// documentsRoot opens the folder of a session's documents, once.
func (s *workshop) documentsRoot() func(session string) (*workspace.Workspace, error) {
	var mu sync.Mutex
	open := map[string]*workspace.Workspace{}
	return func(session string) (*workspace.Workspace, error) {
		mu.Lock()
		defer mu.Unlock()
		if ws := open[session]; ws != nil {
			return ws, nil
		}
		dir := filepath.Join(s.folder(session), DocumentsDir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		ws, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: OutputRoot, Dir: dir, Access: workspace.ReadWrite}}})
		if err == nil {
			open[session] = ws
		}
		return ws, err
	}
}

// equip gives the agents of the phases the tools that look at the repository. The
// phase requirements speaks of what is wanted and gets an outline only.
func (s *workshop) equip(phases []Phase, guard func(...troupe.Tool) []troupe.Tool) error {
	tools := repo.Tools(repo.Config{
		Open: func(ctx context.Context, session string) (repo.View, error) {
			o, err := s.openSite(ctx, session)
			if err != nil {
				return nil, err
			}
			tree, err := o.worktree.Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			return o.view(ctx, tree)
		},
		Diff: s.diffFor, Output: s.outputOf, Document: s.documentOf,
		Shown: func(session, run, path, content string) error {
			if i := strings.LastIndex(run, ":"); i > 0 {
				run = run[:i] // what a step's agent has seen, the step has
			}
			return s.noteShown(session, run, path, content)
		},
	})
	if guard != nil {
		tools = guard(tools...)
	}
	for i := range phases {
		if phases[i].Name == "requirements" {
			continue
		}
		for _, agent := range []**troupe.Agent{&phases[i].Agent, &phases[i].free} {
			if *agent == nil {
				continue
			}
			equipped, err := (*agent).With(tools...)
			if err != nil {
				return fmt.Errorf("phase %s: %w", phases[i].Name, err)
			}
			*agent = equipped
		}
	}
	return nil
}

func (s *workshop) diffFor(ctx context.Context, session, path, step string) (string, error) {
	o, err := s.openSite(ctx, session)
	if err != nil {
		return "", err
	}
	from, to := o.Base, ""
	if step != "" {
		plan, err := s.readPlan(session)
		if err != nil {
			return "", err
		}
		found := plan.step(step)
		if found == nil || found.Commit == "" {
			return "", fmt.Errorf("step %.40q is not done", step)
		}
		from, to = found.Commit+"^", found.Commit
	} else if to, err = o.worktree.Snapshot(ctx); err != nil {
		return "", err
	}
	var paths []string
	if path != "" {
		paths = []string{path}
	}
	return o.worktree.Diff(ctx, from, to, paths...)
}

func (s *workshop) outputOf(_ context.Context, session, check string) (string, error) {
	data, err := os.ReadFile(filepath.Join(s.folder(session), OutputFile(check)))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the check %.40q was not run", check)
	}
	return string(data), err
}

func (s *workshop) documentOf(_ context.Context, session, phase string) (string, error) {
	dir := filepath.Join(s.folder(session), DocumentsDir)
	folders := map[string]string{"requirements": "user-stories", "planning": "plans"}
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.Contains(path, "/"+phase+"/") || folders[phase] != "" && strings.Contains(path, "/"+folders[phase]+"/")) {
			found = append(found, path)
		}
		return nil
	})
	if found == nil {
		return "", fmt.Errorf("there is no document of the phase %.40q", phase)
	}
	slices.Sort(found)
	data, err := os.ReadFile(found[len(found)-1])
	return string(data), err
}

package pipeline

import (
	"context"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
)

// findChecksTool finds the checks of a repository that was made for the delivery in what
// was built there: an empty base has none. They are commands that are built in, never
// what a file spells out, because an agent wrote that file. Once found, they stay.
func (s *workshop) findChecksTool() troupe.Tool {
	return onSite(s, "find_checks", "Finds the checks of what was built in a new repository.", func(ctx context.Context, o *openSite, in state) (adoptedChecks, error) {
		return o.findNewChecks(ctx, in)
	})
}

func (o *openSite) findNewChecks(ctx context.Context, in state) (adoptedChecks, error) {
	if !o.Own || o.workshop.Checks != nil {
		return adoptedChecks{}, nil
	}
	tree, err := o.worktree.Tree(ctx, in.Tree)
	if err != nil {
		return adoptedChecks{}, err
	}
	found := checks.Standard(treeFiles{tree})
	err = o.update(func(site *Site) {
		known := map[string]bool{}
		for _, c := range site.Checks {
			known[c.Name] = true
		}
		for _, c := range found {
			if !known[c.Name] {
				site.Checks = append(site.Checks, c)
			}
		}
	})
	return adoptedChecks{o.Checks}, err
}

// findChecks looks for the checks of a new repository in what is there now.
func (d *delivery) findChecks(ctx context.Context, run *troupe.Run, site *prepared, now state) error {
	if !site.New || d.Repository.Checks != nil {
		return nil
	}
	found, err := call[adoptedChecks](ctx, run, d.tools.findChecks, now)
	if err == nil {
		site.Checks = found.Checks
	}
	return err
}

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/pipeline"
)

// reopenPlan sets the steps that failed or were skipped back to todo.
func (p *Project) reopenPlan(site *pipeline.Site) error {
	file := filepath.Join(p.SiteFolder(site), pipeline.PlanFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := pipeline.ReadPlan(data)
	if err != nil {
		return err
	}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.Status != pipeline.StepDone {
			s.Status, s.Reason = pipeline.StepTodo, ""
		}
	}
	return os.WriteFile(file, plan.YAML(), 0o644)
}

// deliveriesDir is where deliveries keep their plans and documents.
func (p *Project) deliveriesDir() string { return filepath.Join(p.DataDir(), "deliveries") }

// SiteFolder is where a delivery keeps its plan, documents and outputs.
func (p *Project) SiteFolder(s *pipeline.Site) string {
	return filepath.Join(p.deliveriesDir(), s.Session)
}

// Sites are where deliveries work, the latest first.
func (p *Project) Sites() (list []*pipeline.Site, err error) {
	folders, err := os.ReadDir(p.deliveriesDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range folders {
		if site, err := pipeline.ReadSite(filepath.Join(p.deliveriesDir(), f.Name())); err == nil {
			list = append(list, site)
		}
	}
	slices.SortFunc(list, func(a, b *pipeline.Site) int { return b.Created.Compare(a.Created) })
	return list, err
}

// Site finds a delivery by the beginning of its id.
func (p *Project) Site(id string) (*pipeline.Site, error) {
	list, err := p.Sites()
	if err != nil {
		return nil, err
	}
	var found []*pipeline.Site
	for _, s := range list {
		if id != "" && strings.HasPrefix(s.Session, id) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("there is no delivery %.40q; 'troupe deliveries list' shows them", id)
	}
	return nil, fmt.Errorf("%d deliveries begin with %.40q", len(found), id)
}

// hideOwnData is hideData for a directory that holds nothing but what Troupe makes. Where it
// cannot be written to, whoever opens the store says so.
func (p *Project) hideOwnData() {
	dir := p.DataDir()
	if relative, err := filepath.Rel(dir, p.dir); err == nil && filepath.IsLocal(relative) {
		return // the project is in it
	}
	there, err := os.ReadDir(dir)
	isOwn := slices.ContainsFunc(there, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(p.storeFile()) })
	if isOwn || errors.Is(err, fs.ErrNotExist) || err == nil && len(there) == 0 {
		_ = p.hideData()
	}
}

// hideData keeps what Troupe makes out of the repository around the project.
func (p *Project) hideData() error {
	name := filepath.Join(p.DataDir(), ".gitignore")
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(p.DataDir(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("*\n"), 0o644)
}

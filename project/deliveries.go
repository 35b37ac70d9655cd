package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// DeliveryPlan reads the plan of a delivery. One that has none yet is fs.ErrNotExist.
func (p *Project) DeliveryPlan(site *pipeline.Site) (*pipeline.Plan, error) {
	data, err := os.ReadFile(p.planFile(site))
	if err != nil {
		return nil, err
	}
	return pipeline.ReadPlan(data)
}

func (p *Project) planFile(site *pipeline.Site) string {
	return filepath.Join(p.SiteFolder(site), pipeline.PlanFile)
}

// ChangeDeliveryPlan replaces the plan of a delivery and says, line by line, what
// changed. It is used from the next step on. A step that is done keeps its title and goal.
func (p *Project) ChangeDeliveryPlan(site *pipeline.Site, plan *pipeline.Plan) (changes []string, err error) {
	if !site.Dropped.IsZero() {
		return nil, pipeline.ErrDropped
	}
	now := plan
	if err := now.Check(); err != nil {
		return nil, err
	}
	p.planning.Lock() // of two who change it at once each is told what they have changed
	defer p.planning.Unlock()
	was, err := p.DeliveryPlan(site)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		was = nil // one that is broken may be mended
	}
	if err := pipeline.KeepsDone(was, now); err != nil {
		return nil, err
	}
	if changes = pipeline.ComparePlans(was, now); len(changes) == 0 {
		return nil, nil
	}
	return changes, now.Write(p.planFile(site))
}

// DeliveryDiff is what a delivery changes, or one step of it.
func (p *Project) DeliveryDiff(ctx context.Context, site *pipeline.Site, step string) (string, error) {
	if !site.Dropped.IsZero() {
		return "", &noneOf{problem: pipeline.ErrDropped.Error()}
	}
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		return "", err
	}
	plan, err := p.DeliveryPlan(site)
	if errors.Is(err, fs.ErrNotExist) {
		plan, err = &pipeline.Plan{}, nil // it has not come to one
	}
	if err != nil {
		return "", err
	}
	from, to := site.Base, ""
	if step != "" {
		from, to, err = commitOf(plan, step)
	} else {
		to, err = site.Tip(ctx, repo, plan)
	}
	if err != nil {
		return "", err
	}
	return repo.Patch(ctx, from, to)
}

func commitOf(plan *pipeline.Plan, step string) (from, to string, err error) {
	var ids []string
	for _, s := range plan.Steps {
		if s.ID == step && s.Commit != "" {
			return s.Commit + "^", s.Commit, nil
		}
		if s.Commit != "" {
			ids = append(ids, s.ID)
		}
	}
	return "", "", &noneOf{fmt.Sprintf("there is no step %.40q that is done", step), ids}
}

// CheckOutput is the last output of a check of a delivery, by the check's name, or that
// of one of its runs, by its file.
func (p *Project) CheckOutput(site *pipeline.Site, name string) (string, error) {
	root, err := os.OpenRoot(p.SiteFolder(site))
	if err != nil {
		return "", err
	}
	defer root.Close()
	file := pipeline.OutputFile(name)
	if strings.HasPrefix(name, "checks/") {
		file = name
	}
	data, err := root.ReadFile(filepath.FromSlash(file))
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		for _, c := range site.Checks {
			names = append(names, c.Name)
		}
		return "", &noneOf{fmt.Sprintf("the check %.80q was not run", name), names}
	}
	return string(data), err
}

// A noneOf reports something that is not there, with what is. It is an [fs.ErrNotExist].
type noneOf struct {
	problem string
	others  []string
}

func (n *noneOf) Error() string {
	if len(n.others) == 0 {
		return n.problem
	}
	return n.problem + "; there is " + strings.Join(n.others, ", ")
}

func (n *noneOf) Unwrap() error { return fs.ErrNotExist }

// deliveries are the project's, for its server.
type deliveries struct{ *stage }

// order is how a delivery is to be done that somebody asks the server for.
func (d deliveries) order(o server.DeliveryOptions) (Delivery, error) {
	order := d.project.Delivery()
	if o.Approve != "" {
		order.Approve = o.Approve
	}
	if order.Agents = o.Agents; o.Project != "" {
		if !filepath.IsLocal(o.Project) {
			return order, fmt.Errorf("project: %.80q is not a directory of this project", o.Project)
		}
		order.Repo = within(d.project.dir, o.Project)
	}
	return order, nil
}

// Start implements [server.Deliveries].
func (d deliveries) Start(ctx context.Context, request string, o server.DeliveryOptions) (step troupe.Step, input troupe.Input, err error) {
	order, err := d.order(o)
	if err != nil {
		return nil, input, err
	}
	if o.Budget > 0 {
		if err := d.canCount(); err != nil {
			return nil, input, err
		}
	}
	step, input, err = d.project.StartDelivery(ctx, request, order)
	if o.Budget > 0 {
		input.Limits.Cost = o.Budget
	}
	return step, input, err
}

// canCount fails where nobody knows what a delivery costs: a budget would hold nothing.
func (d deliveries) canCount() error {
	chooser := &d.project.models
	model, err := chooser.Open(chooser.For(Deliver))
	if err == nil && model.From != "" && !model.Price.Known() {
		err = fmt.Errorf("what %s costs is not known, so that a budget would hold nothing: leave it out, or have whoever runs Troupe add the price to %s", model.Ref, config.Name)
	}
	return err
}

// Usual implements [server.Deliveries].
func (d deliveries) Usual(ctx context.Context) (server.UsualDelivery, error) {
	c := d.project.config.Pipeline
	order := d.project.Delivery()
	usual := server.UsualDelivery{Approve: order.Approve, Budget: cmp.Or(c.Cost, d.project.models.Limits().Cost)}
	if err := d.project.settle(ctx, &order); err == nil && !order.Create {
		usual.Repo = filepath.Base(order.Repo) // where it is on this machine is nobody's business
	}
	phases := c.Phases
	if phases == nil {
		for _, phase := range pipeline.Six() {
			phases = append(phases, config.Phase{Name: phase.Name})
		}
	}
	for _, phase := range phases {
		usual.Phases = append(usual.Phases, server.DeliveryPhase{Name: phase.Name, Title: phase.Title, Agent: phase.Agent})
	}
	return usual, nil
}

// Continue implements [server.Deliveries].
func (d deliveries) Continue(ctx context.Context, session, from, guidance string) (step troupe.Step, input troupe.Input, err error) {
	site, err := d.project.Site(session)
	if err != nil {
		return nil, input, err
	}
	return d.project.ContinueDelivery(ctx, site, from, guidance)
}

// Step implements [server.Deliveries].
func (d deliveries) Step(ctx context.Context, session string) (troupe.Step, error) {
	if site, err := d.project.Site(session); err == nil && !site.Dropped.IsZero() {
		return nil, pipeline.ErrDropped
	}
	p, err := d.find(ctx, Deliver, session)
	if err != nil {
		return nil, err
	}
	return p.Step, nil
}

// Show implements [server.Deliveries].
func (d deliveries) Show(ctx context.Context, session string) (view server.DeliverySite, err error) {
	site, err := pipeline.ReadSite(filepath.Join(d.project.deliveriesDir(), session))
	if err != nil {
		return view, err
	}
	view = server.DeliverySite{
		ID: site.ID, Request: site.Request, Repo: site.Repo, Worktree: site.Worktree, Branch: site.Branch, Base: site.Base, Created: site.Created,
		Sandbox: site.Sandbox, Takes: site.Takes, Dropped: site.Dropped,
	}
	if plan, err := d.project.DeliveryPlan(site); err == nil {
		view.Plan, view.PlanAhead = plan, pipeline.IsPlanAhead(d.project.SiteFolder(site), plan)
	}
	for i := range site.Checks {
		view.Checks = append(view.Checks, server.NamedCheck{Name: site.Checks[i].Name, Command: site.Checks[i].Command()})
	}
	repo, err := git.Open(ctx, site.Repo)
	if err != nil {
		view.Applied = takenOnFile(site).Any
		return view, nil //nolint:nilerr // a repository that is gone leaves what is on file
	}
	taken := takenIn(ctx, repo, site)
	view.Applied, view.Untaken, view.Elsewhere = taken.Any, taken.More, taken.Elsewhere
	view.Stays = d.project.willStay(ctx, repo, site)
	files, err := repo.Renamed(ctx, site.Base, "refs/heads/"+site.Branch)
	if err != nil {
		return view, nil //nolint:nilerr // so does a branch
	}
	log, err := repo.Log(ctx, site.Base, "refs/heads/"+site.Branch)
	if err != nil {
		return view, nil //nolint:nilerr // and so does its history
	}
	for _, c := range log {
		view.Log = append(view.Log, server.BranchCommit{Commit: c.ID, Title: c.Title})
	}
	for _, f := range files {
		view.Files = append(view.Files, server.ChangedFile{Path: f.Path, From: f.From, Added: f.Added, Removed: f.Removed})
	}
	return view, nil
}

// Result implements [server.Deliveries]. The repository is asked only where something was said or done
// since the delivery was taken: there may be more to take.
func (d deliveries) Result(ctx context.Context, info *troupe.SessionInfo) string {
	site, err := pipeline.ReadSite(filepath.Join(d.project.deliveriesDir(), info.ID))
	if err != nil {
		return "" // it has not begun
	}
	switch n := len(site.Takes); {
	case !site.Dropped.IsZero():
		return "dropped"
	case n == 0:
		return ""
	case site.Takes[n-1].Back:
		return "taken_back"
	case info.Updated.After(site.Takes[n-1].At) && d.project.TakenOf(ctx, site).More:
		return "partly_taken"
	}
	return "taken"
}

// ChangePlan implements [server.Deliveries].
func (d deliveries) ChangePlan(_ context.Context, session string, plan *pipeline.Plan) ([]string, error) {
	site, err := d.project.Site(session)
	if err != nil {
		return nil, err
	}
	return d.project.ChangeDeliveryPlan(site, plan)
}

// Read implements [server.Deliveries].
func (d deliveries) Read(ctx context.Context, session, kind, name string) (string, error) {
	site, err := d.project.Site(session)
	if err != nil {
		return "", err
	}
	if kind == "check" {
		return d.project.CheckOutput(site, name)
	}
	return d.project.DeliveryDiff(ctx, site, name)
}

// Act implements [server.Deliveries].
func (d deliveries) Act(ctx context.Context, session, act string) (string, error) {
	site, err := d.project.Site(session)
	if err != nil {
		return "", err
	}
	if act == "revert" {
		_, err := d.project.RevertDelivery(ctx, site)
		return "It is out of the project again. What it has built is still there.", err
	}
	before, after, err := d.project.ApplyDelivery(ctx, site, act == "squash")
	if err != nil {
		return "", err
	}
	if before == after {
		return "There is nothing to take: all of it was taken.", nil
	}
	return "It is in the project now.", nil
}

// Drop implements [server.Deliveries].
func (d deliveries) Drop(ctx context.Context, session string) error {
	site, err := d.project.Site(session)
	if err != nil {
		return err
	}
	return d.project.DropDelivery(ctx, site)
}

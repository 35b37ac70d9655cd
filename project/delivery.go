package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/workspace"
)

// Deliver is the name of the delivery, among the flows.
const Deliver = server.Pipeline

// A Delivery is how one delivery is to be done. What has a name in JSON is on record
// with the request, so that the delivery goes on as it began.
type Delivery struct {
	// Repo is in the repository that is changed; with Create it is where one is made.
	// Empty means the repository of troupe.yaml, or around the project, or a new one.
	Repo   string `json:"repo,omitempty"`
	Create bool   `json:"create,omitempty"`
	// Base is the commit or branch to begin from, IncludeChanges takes what is changed
	// and not committed in the checkout.
	Base           string `json:"base,omitempty"`
	IncludeChanges bool   `json:"include_changes,omitempty"`
	// From and To are the first and the last phase. Empty means the first, or the last,
	// of all.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Approve is auto, plan, diff, or manual to be asked after every phase. Empty means auto.
	Approve string `json:"approve,omitempty"`
	// Compensate has files written that agents claim to have written.
	Compensate bool `json:"compensate,omitempty"`
	// Unchecked counts a result as delivered although there are no checks, KeepGoing
	// carries out steps that do not depend on one that has failed.
	Unchecked bool `json:"unchecked,omitempty"`
	KeepGoing bool `json:"keep_going,omitempty"`

	// Out, where it is set, is a directory in which a repository is made.
	Out string `json:"-"`
	// Of is a delivery, by the beginning of its id, whose documents, plan and commits this
	// one begins with; With are documents that the phases get to read, by their names.
	Of   string            `json:"-"`
	With map[string]string `json:"-"`
}

// Delivery returns how troupe.yaml wants deliveries to be done.
func (p *Project) Delivery() Delivery {
	c := p.config.Pipeline
	return Delivery{Approve: c.Approve, Compensate: c.Compensate}
}

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

// custom is how an order travels with its request.
func (o Delivery) custom() map[string]any { return map[string]any{"delivery": o} }

// StartDelivery makes the step that takes a request to a branch, and what it is to be
// run with: Engine.Run(ctx, step, input).
func (p *Project) StartDelivery(ctx context.Context, request string, d Delivery) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	custom, more := map[string]any{}, map[string]any{}
	if d.Of != "" {
		of, err := p.Site(d.Of)
		if err != nil {
			return nil, input, err
		}
		d.Base, d.Repo, d.Create = cmp.Or(d.Base, of.Branch), of.Repo, false
		results, err := s.results(ctx, of.Session)
		if err != nil {
			return nil, input, err
		}
		more["of"], custom["phases"] = of.Session, results
	}
	if err := p.settle(ctx, &d); err != nil {
		return nil, input, err
	}
	var given []map[string]string
	for _, name := range slices.Sorted(maps.Keys(d.With)) {
		given = append(given, map[string]string{"phase": "given", "path": name, "content": d.With[name]})
	}
	if given != nil {
		more["given"] = given
	}
	if step, err = s.delivery(ctx, d); err != nil {
		return nil, input, err
	}
	custom["delivery"], custom["extras"] = d, more
	return step, troupe.Input{Text: request, Custom: custom, Limits: p.deliveryLimits()}, nil
}

// results are what the phases of a session came to.
func (s *stage) results(ctx context.Context, session string) ([]pipeline.Result, error) {
	var events []troupe.Event
	for e, err := range s.folders.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return pipeline.Results(events), nil
}

// ContinueDelivery makes the step that goes on with a delivery that came to its end: with
// the phases from one on, or with what of the plan is not done. Guidance is for the agents.
func (p *Project) ContinueDelivery(ctx context.Context, site *pipeline.Site, from, guidance string) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	order, err := s.orderOf(ctx, site.Session)
	if err != nil {
		return nil, input, err
	}
	results, err := s.results(ctx, site.Session)
	if err != nil {
		return nil, input, err
	}
	if order.From = from; from == "" {
		order.To = ""
	} else if i := slices.IndexFunc(results, func(r pipeline.Result) bool { return r.Phase == from }); i >= 0 {
		results = results[:i]
	}
	if err := p.reopenPlan(site); err != nil {
		return nil, input, err
	}
	if step, err = s.delivery(ctx, order); err != nil {
		return nil, input, err
	}
	custom := map[string]any{"delivery": order, "phases": results, "extras": map[string]any{"continue": true, "guidance": guidance}}
	return step, troupe.Input{Session: site.Session, Text: site.Request, Custom: custom, Limits: p.deliveryLimits()}, nil
}

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
		Documents: c.Documents, Setup: c.Setup, Link: c.Link, Copy: c.Copy, Format: c.Format, Protect: c.Protect, Edits: c.Edits,
		Rounds: c.Rounds, Read: c.Read, Env: c.Env, Unchecked: order.Unchecked, KeepGoing: order.KeepGoing, Version: version(),
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

// hideData keeps what Troupe makes out of the repository around the project.
func (p *Project) hideData() error {
	name := filepath.Join(p.DataDir(), ".gitignore")
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(p.DataDir(), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("*\n"), 0o644)
}

// deliveryTurns is how often models are asked in a delivery where nobody says: a plan
// has up to 200 steps, and each may need a correction.
const deliveryTurns = 500

// deliveryLimits are those of a delivery, where they are not the project's.
func (p *Project) deliveryLimits() troupe.Limits {
	l := troupe.Limits{Cost: p.config.Pipeline.Cost}
	if p.config.Limits.Turns == 0 {
		l.Turns = deliveryTurns
	}
	return l
}

// RetryDelivery makes the step that processes again what a delivery could not write or
// upload, and what it is to be run with. It is given what [pipeline.Failed] finds in
// the events of the session.
func (p *Project) RetryDelivery(ctx context.Context, session string, failed []pipeline.FailedArtifact) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	order, err := s.orderOf(ctx, session)
	if err != nil {
		return nil, input, err
	}
	base, err := s.openKnowledge(ctx)
	if err != nil {
		return nil, input, err
	}
	if step, err = pipeline.Retry(pipeline.Config{Repository: p.repository(order), KnowledgeOf: base, Guard: p.guard}); err != nil {
		return nil, input, err
	}
	custom := order.custom()
	custom["artifacts"] = failed
	return step, troupe.Input{Session: session, Text: "Process again what failed.", Custom: custom}, nil
}

// orderOf reads back the order of a session.
func (s *stage) orderOf(ctx context.Context, session string) (Delivery, error) {
	order := s.project.Delivery()
	if session == "" {
		return order, nil
	}
	for e, err := range s.folders.Events(ctx, session, 0) {
		if err != nil {
			return order, err
		}
		started, ok := e.Body.(*troupe.RunStarted)
		if !ok || e.Parent != "" || started.Input.Custom["delivery"] == nil {
			continue
		}
		data, err := json.Marshal(started.Input.Custom["delivery"])
		if err == nil {
			err = json.Unmarshal(data, &order)
		}
		return order, err
	}
	return order, nil
}

// delivery makes the step that takes a request through all phases.
func (s *stage) delivery(ctx context.Context, order Delivery) (troupe.Step, error) {
	c := pipeline.Config{
		Name: Deliver, From: order.From, To: order.To,
		Approve: pipeline.ApproveMode(order.Approve), Compensate: order.Compensate, Guard: s.project.guard,
	}
	model, err := s.project.models.Open(s.project.models.For(Deliver))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.rehearses = s.rehearses || model.From == ""
	s.mu.Unlock()
	c.Model = model.Model
	if c.Phases, err = s.phases(ctx); err != nil {
		return nil, err
	}
	if err := s.project.settle(ctx, &order); err != nil {
		return nil, err
	}
	if err := s.project.hideData(); err != nil {
		return nil, err
	}
	c.Repository = s.project.repository(order)
	if dir := s.project.config.Pipeline.Project; dir != "" {
		granted := workspace.Root{Name: workspace.ProjectRoot, Dir: within(s.project.dir, dir), Access: workspace.ReadOnly}
		if c.Project, err = workspace.Open(workspace.Config{Roots: []workspace.Root{granted}, Closed: s.project.walls}); err != nil {
			return nil, fmt.Errorf("pipeline.project in %s: %w", config.Name, err)
		}
		s.keep(c.Project)
	}
	base, err := s.openKnowledge(ctx)
	if err != nil {
		// The delivery goes on: what could not be uploaded is on record.
		s.project.log.Warn("knowledge base not opened; 'troupe sessions retry' uploads later", "err", err)
	} else {
		c.KnowledgeOf = base
	}
	return pipeline.New(c)
}

// keep has something closed when the stage is.
func (s *stage) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, c)
}

// phases are those of the configuration, nil for the usual ones.
func (s *stage) phases(ctx context.Context) ([]pipeline.Phase, error) {
	usual := map[string]pipeline.Phase{}
	for _, phase := range pipeline.Six() {
		usual[phase.Name] = phase
	}
	var phases []pipeline.Phase
	for _, c := range s.project.config.Pipeline.Phases {
		phase := usual[c.Name]
		phase.Name = c.Name
		for _, field := range []struct {
			to   *string
			from string
		}{{&phase.Title, c.Title}, {&phase.Task, c.Task}, {&phase.Path, c.Path}} {
			if field.from != "" {
				*field.to = field.from
			}
		}
		if c.Schema != "" {
			schema, err := os.ReadFile(within(s.project.dir, c.Schema))
			if err != nil {
				return nil, fmt.Errorf("phase %s: %w", c.Name, err)
			}
			if phase.Contract, err = pipeline.NewContract(c.Name, schema, c.Critical...); err != nil {
				return nil, fmt.Errorf("phase %s: %s: %w", c.Name, c.Schema, err)
			}
		}
		if c.Agent != "" {
			player, err := s.agent(ctx, c.Agent)
			if err != nil {
				return nil, fmt.Errorf("phase %s: %w", c.Name, err)
			}
			phase.Agent = player.agent.WithoutTools()
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// openKnowledge opens the knowledge base: the project's own, or a server's. With users,
// each has documents of their own in it, unless they share one.
func (s *stage) openKnowledge(ctx context.Context) (func(user string) pipeline.Knowledge, error) {
	c := s.project.config.Knowledge
	ofEach := s.project.hasUsers() && !c.Shared
	if c.Server == "" {
		base, err := s.project.Knowledge(ctx)
		if err != nil {
			return nil, err
		}
		s.keep(base)
		return func(user string) pipeline.Knowledge {
			if ofEach && user != "" {
				return base.As(userPrefix + user)
			}
			return base
		}, nil
	}
	if ofEach {
		return nil, fmt.Errorf("knowledge.server in %s is one account for all users; set knowledge.shared to true if they are to share it", config.Name)
	}
	client, err := s.project.connectKnowledge(ctx)
	if err != nil {
		return nil, err
	}
	s.keep(closing(client.Close))
	return func(string) pipeline.Knowledge { return client }, nil
}

// userPrefix begins the names under which users of the server keep documents, so that
// none of them is somebody else who uses the base.
const userPrefix = "server:"

// closing is something that cannot fail to close.
type closing func()

// Close implements [io.Closer].
func (c closing) Close() error { c(); return nil }

// Knowledge opens the embedded knowledge base as the project's user. Whoever opens it
// closes it.
func (p *Project) Knowledge(ctx context.Context) (*knowledge.Base, error) {
	c := p.config.Knowledge
	path := filepath.Join(p.DataDir(), "knowledge.db")
	if c.Path != "" {
		path = within(p.dir, c.Path)
	}
	base, err := knowledge.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	if c.User != "" {
		base = base.As(c.User)
	}
	return base, nil
}

// connectKnowledge reaches the MCP server that keeps the documents. Who we are comes
// from the environment, and is in no event.
func (p *Project) connectKnowledge(ctx context.Context) (*knowledge.Client, error) {
	c, server := p.config.Knowledge, p.config.MCP[p.config.Knowledge.Server]
	config := knowledge.ClientConfig{
		Command: server.Command, Args: server.Args, Env: server.Env, Dir: p.dir, URL: server.URL, Timeout: server.Timeout,
	}
	switch c.Style {
	case "gkchatty":
		config.Mapping = knowledge.GKChatty{}
	case "memory":
		config.Mapping = knowledge.Memory{}
	}
	if c.UserEnv != "" {
		config.Username, config.Password = p.models.Getenv(c.UserEnv), knowledge.Secret(p.models.Getenv(c.PasswordEnv))
		if config.Username == "" {
			return nil, errors.New("knowledge.user_env: the environment variable " + c.UserEnv + " is not set")
		}
	}
	if server.URL != "" {
		client, err := p.client(server.URL)
		if err != nil {
			return nil, err
		}
		client.Timeout = 0 // streams stay open
		config.HTTPClient = client
	}
	return knowledge.Connect(ctx, config)
}

// KnowledgeUser returns whose documents are those of Knowledge.
func (p *Project) KnowledgeUser() string { return cmp.Or(p.config.Knowledge.User, knowledge.Local) }

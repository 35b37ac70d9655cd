package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/internal/git"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

// deliverName is what the delivery is called, among the flows.
const deliverName = "deliver"

// A deliveryOrder is how one delivery is to be done. It is on record with the
// request, so that the delivery goes on as it began.
type deliveryOrder struct {
	// Repo is in the repository that is changed; with Create it is where one is made.
	Repo           string `json:"repo,omitempty"`
	Create         bool   `json:"create,omitempty"`
	Base           string `json:"base,omitempty"`
	IncludeChanges bool   `json:"include_changes,omitempty"`
	From           string `json:"from,omitempty"`
	To             string `json:"to,omitempty"`
	Approve        string `json:"approve,omitempty"`
	Compensate     bool   `json:"compensate,omitempty"`
	Unchecked      bool   `json:"unchecked,omitempty"`
	KeepGoing      bool   `json:"keep_going,omitempty"`

	out      string // where a repository is to be made, as it was asked for
	of       string
	with     []string
	saves    bool // the checks that were found are to be written to the configuration
	guidance string
}

// order is what the configuration says of deliveries.
func (p *project) order() deliveryOrder {
	c := p.config.Pipeline
	return deliveryOrder{Approve: c.Approve, Compensate: c.Compensate}
}

// settle decides which repository an order is about.
func (p *project) settle(ctx context.Context, order *deliveryOrder) error {
	if order.out != "" {
		order.Repo, order.Create = within(p.dir, order.out), true
		return nil
	}
	dir := within(p.dir, p.config.Pipeline.Repo)
	repo, err := git.Open(ctx, dir)
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

// deliveriesDir is where deliveries keep their plans and documents.
func (p *project) deliveriesDir() string { return filepath.Join(p.dataDir(), "deliveries") }

// cacheDir is for what can be made again: never inside a checkout.
func (p *project) cacheDir() string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "troupe")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", os.Getuid()))
}

// repository is how the delivery works in its repository.
func (p *project) repository(order deliveryOrder) *pipeline.Repository {
	c := p.config.Pipeline
	r := &pipeline.Repository{
		Dir: order.Repo, Create: order.Create, Base: order.Base, IncludeChanges: order.IncludeChanges, Branch: c.Branch,
		Data: p.deliveriesDir(), Worktrees: filepath.Join(p.cacheDir(), "worktrees"), Cache: filepath.Join(p.cacheDir(), "checks", shortHash(order.Repo)),
		Documents: c.Documents, Setup: c.Setup, Link: c.Link, Copy: c.Copy, Format: c.Format, Protect: c.Protect, Edits: c.Edits,
		Rounds: c.Rounds, Read: c.Read, Env: c.Env, Unchecked: order.Unchecked, KeepGoing: order.KeepGoing, Version: buildVersion().Version,
		Sandbox: pipeline.Sandbox{Level: c.Sandbox, Command: c.Wrap},
	}
	if c.QARounds != nil {
		if r.QARounds = *c.QARounds; r.QARounds == 0 {
			r.QARounds = -1
		}
	}
	if len(c.Wrap) > 0 {
		r.Sandbox.Level = "command"
	}
	if self, err := os.Executable(); err == nil {
		r.Sandbox.Helper = []string{self, pipeline.SandboxArgument}
	}
	for _, check := range c.Checks {
		r.Checks = append(r.Checks, pipeline.Check{Name: check.Name, Run: check.Run, Timeout: check.Timeout, When: check.When})
	}
	return r
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// custom is how an order travels with its request.
func (o deliveryOrder) custom() map[string]any { return map[string]any{"delivery": o} }

// orderOf reads back the order of a session.
func (s *stage) orderOf(ctx context.Context, session string) (deliveryOrder, error) {
	order := s.project.order()
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
func (s *stage) delivery(ctx context.Context, order deliveryOrder) (troupe.Step, error) {
	c := pipeline.Config{
		Name: deliverName, From: order.From, To: order.To,
		Approve: pipeline.ApproveMode(order.Approve), Compensate: order.Compensate,
	}
	model, err := s.project.models.Open(s.project.models.For(deliverName))
	if err != nil {
		return nil, err
	}
	s.rehearses = s.rehearses || model.From == ""
	c.Model = model.Model
	if c.Phases, err = s.phases(ctx); err != nil {
		return nil, err
	}
	if order.Repo == "" {
		if err := s.project.settle(ctx, &order); err != nil {
			return nil, err
		}
	}
	if err := s.project.hideData(); err != nil {
		return nil, err
	}
	c.Repository = s.project.repository(order)
	if dir := s.project.config.Pipeline.Project; dir != "" {
		granted := workspace.Root{Name: workspace.ProjectRoot, Dir: within(s.project.dir, dir), Access: workspace.ReadOnly}
		if c.Project, err = workspace.Open(workspace.Config{Roots: []workspace.Root{granted}}); err != nil {
			return nil, fmt.Errorf("pipeline.project in %s: %w", config.Name, err)
		}
		s.keep(c.Project)
	}
	base, err := s.openKnowledge(ctx)
	if err != nil {
		// The delivery goes on: what could not be uploaded is on record.
		s.project.log.Warn("knowledge base not opened; 'troupe sessions retry' uploads later", "err", err)
	} else {
		c.Knowledge = base
	}
	return pipeline.New(c)
}

// hideData keeps what Troupe makes out of the repository around the project.
func (p *project) hideData() error {
	name := filepath.Join(p.dataDir(), ".gitignore")
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(p.dataDir(), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte("*\n"), 0o644)
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

// openKnowledge opens the knowledge base: the project's own, or a server's.
func (s *stage) openKnowledge(ctx context.Context) (pipeline.Knowledge, error) {
	c := s.project.config.Knowledge
	if c.Server == "" {
		base, err := s.project.openBase(ctx)
		if err != nil {
			return nil, err
		}
		s.keep(base)
		return base, nil
	}
	client, err := s.project.connectKnowledge(ctx)
	if err != nil {
		return nil, err
	}
	s.keep(closing(client.Close))
	return client, nil
}

// closing is something that cannot fail to close.
type closing func()

// Close implements [io.Closer].
func (c closing) Close() error { c(); return nil }

// openBase opens the embedded knowledge base as the project's user.
func (p *project) openBase(ctx context.Context) (*knowledge.Base, error) {
	c := p.config.Knowledge
	path := filepath.Join(p.dataDir(), "knowledge.db")
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
func (p *project) connectKnowledge(ctx context.Context) (*knowledge.Client, error) {
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

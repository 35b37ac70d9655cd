package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/workspace"
)

// Deliver is the name of the delivery, among the flows.
const Deliver = server.Pipeline

// A Delivery is how one delivery is to be done. It is on record with the request, so
// that the delivery goes on as it began.
type Delivery struct {
	// Out is the directory that artifacts are written to.
	Out string `json:"out"`
	// From and To are the first and the last phase. Empty means the first, or the last,
	// of all.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Approve is auto, or manual to be asked after every phase. Empty means auto.
	Approve string `json:"approve,omitempty"`
	// Compensate has files written that agents claim to have written.
	Compensate bool `json:"compensate,omitempty"`
}

// Delivery returns how troupe.yaml wants deliveries to be done.
func (p *Project) Delivery() Delivery {
	c := p.config.Pipeline
	return Delivery{Out: c.Output, Approve: c.Approve, Compensate: c.Compensate}
}

// custom is how an order travels with its request.
func (o Delivery) custom() map[string]any { return map[string]any{"delivery": o} }

// StartDelivery makes the step that takes a request through all phases, and what it is
// to be run with: Engine.Run(ctx, step, input).
func (p *Project) StartDelivery(ctx context.Context, request string, d Delivery) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	if step, err = s.delivery(ctx, d); err != nil {
		return nil, input, err
	}
	return step, troupe.Input{Text: request, Custom: d.custom(), Limits: p.deliveryLimits()}, nil
}

// deliveryTurns is how often models are asked in a delivery where nobody says: a plan
// has up to 200 steps, and each may need a correction.
const deliveryTurns = 500

// deliveryLimits are those of a delivery, where they are not the project's.
func (p *Project) deliveryLimits() troupe.Limits {
	if p.config.Limits.Turns != 0 {
		return troupe.Limits{}
	}
	return troupe.Limits{Turns: deliveryTurns}
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
	output, err := s.openOutput(order.Out)
	if err != nil {
		return nil, input, err
	}
	base, err := s.openKnowledge(ctx)
	if err != nil {
		return nil, input, err
	}
	if step, err = pipeline.Retry(pipeline.Config{Output: theWorkspace(output), Knowledge: base}); err != nil {
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
		Approve: pipeline.ApproveMode(order.Approve), Compensate: order.Compensate,
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
	output, err := s.openOutput(order.Out)
	if err != nil {
		return nil, err
	}
	c.Output = theWorkspace(output)
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

// theWorkspace finds the same workspace for every session.
func theWorkspace(ws *workspace.Workspace) func(string) (*workspace.Workspace, error) {
	return func(string) (*workspace.Workspace, error) { return ws, nil }
}

// openOutput opens the directory that artifacts go to, which it makes.
func (s *stage) openOutput(dir string) (*workspace.Workspace, error) {
	dir = within(s.project.dir, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	output, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: "output", Dir: dir, Access: workspace.ReadWrite}}})
	if err != nil {
		return nil, err
	}
	s.keep(output)
	return output, nil
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
		base, err := s.project.Knowledge(ctx)
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

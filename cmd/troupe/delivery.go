package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

// deliverName is what the delivery is called, among the flows.
const deliverName = "deliver"

// A deliveryOrder is how one delivery is to be done. It is on record with the
// request, so that the delivery goes on as it began.
type deliveryOrder struct {
	Out        string `json:"out"`
	From       string `json:"from,omitempty"`
	To         string `json:"to,omitempty"`
	Approve    string `json:"approve,omitempty"`
	Compensate bool   `json:"compensate,omitempty"`
}

// order is what the configuration says of deliveries.
func (p *project) order() deliveryOrder {
	c := p.config.Pipeline
	return deliveryOrder{Out: c.Output, Approve: c.Approve, Compensate: c.Compensate}
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

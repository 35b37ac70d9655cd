package project

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/workspace"
)

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
	s.noteUnchosen(model)
	s.mu.Unlock()
	if s.project.config.Pipeline.Cost > 0 && !model.Charge.Known() {
		return nil, fmt.Errorf("pipeline.cost in %s: the price of %s is not known; add it: providers: {NAME: {models: {MODEL: {price: {input: 1.00, output: 4.00}}}}}, in US dollars per million tokens", config.Name, model.Ref)
	}
	c.Model, c.Price, c.Window = model.Model, model.Charge, model.Window
	if c.Phases, err = s.phases(ctx, order.Agents); err != nil {
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
func (s *stage) phases(ctx context.Context, agents map[string]string) ([]pipeline.Phase, error) {
	usual := map[string]pipeline.Phase{}
	for _, phase := range pipeline.Six() {
		usual[phase.Name] = phase
	}
	var phases []pipeline.Phase
	configured := slices.Clone(s.project.config.Pipeline.Phases)
	if configured == nil && len(agents) > 0 {
		for _, phase := range pipeline.Six() {
			configured = append(configured, config.Phase{Name: phase.Name})
		}
	}
	for name, agent := range agents {
		i := slices.IndexFunc(configured, func(c config.Phase) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no phase %.40q for %.40q to do", name, agent)
		}
		configured[i].Agent = agent
	}
	for _, c := range configured {
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
		if contract, ok := pipeline.ContractOf(c.Name); ok && phase.Contract == nil {
			phase.Contract = contract
		}
		if c.Agent != "" {
			player, err := s.agent(ctx, c.Agent)
			if err != nil {
				return nil, fmt.Errorf("phase %s: %w", c.Name, err)
			}
			phase.Agent = player.agent.WithoutTools()
			if contract := phase.Contract; contract != nil && s.asksForJSON(c.Name) {
				phase.Agent = phase.Agent.WithModel(contract.Bind(player.model.Model), player.model.Charge, player.model.Window)
			}
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// asksForJSON reports whether the answers of a phase are bound to its schema: not where code
// is to stand beside the JSON.
func (s *stage) asksForJSON(phase string) bool {
	return phase != "implementation" || s.project.config.Pipeline.Edits != "blocks"
}

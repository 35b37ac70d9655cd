package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/models"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/workspace"
)

// A project is a directory with its configuration and the agents found in it.
type project struct {
	dir     string
	config  *config.Config
	models  models.Chooser
	catalog *bundle.Catalog
	log     *slog.Logger
}

// openProject reads the configuration and finds the agents.
func (p *program) openProject() (*project, error) {
	dir, err := p.projectDir()
	if err != nil {
		return nil, err
	}
	c, err := config.Load(p.flags.dir, p.lookup)
	if err != nil {
		return nil, err
	}
	log, err := p.logger(c)
	if err != nil {
		return nil, err
	}
	catalog, err := bundle.Find(dir, bundle.Config{Core: c.Core, Bundles: c.Bundles})
	if err != nil {
		return nil, err
	}
	return &project{
		dir: dir, config: c, catalog: catalog, log: log,
		models: models.Chooser{Config: c, Flag: p.flags.model, Getenv: p.getenv},
	}, nil
}

func (p *program) projectDir() (string, error) {
	info, err := os.Stat(p.flags.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("project %s: there is no such directory", p.flags.dir)
	case err != nil:
		return "", fmt.Errorf("project: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("project %s: it is not a directory", p.flags.dir)
	}
	return filepath.Abs(p.flags.dir)
}

// dataDir is where the project keeps what it makes.
func (p *project) dataDir() string { return within(p.dir, p.config.Data) }

func (p *project) outputsDir() string { return filepath.Join(p.dataDir(), "agent-outputs") }

// within returns a directory that is relative to another, unless it is absolute.
func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// shown returns a path of the host as a person in the project would write it.
func (p *project) shown(path string) string {
	if relative, err := filepath.Rel(p.dir, path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}

func (p *project) close() error { return p.catalog.Close() }

// A stage is where agents run: an engine, the store behind it, and the agents.
type stage struct {
	project *project
	engine  *troupe.Engine
	folders *outputs.Folders // around the store
	store   *sqlite.Store

	mu     sync.Mutex
	agents map[string]*player
}

// A player is an agent that can run, and the model it has.
type player struct {
	*troupe.Agent
	definition *bundle.Definition
	model      models.Opened
}

// openStage wires an engine: events go to the store, and from it into the manifest
// of the session's folder.
func (p *project) openStage(ctx context.Context) (*stage, error) {
	store, err := sqlite.Open(ctx, filepath.Join(p.dataDir(), "troupe.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	folders, err := outputs.Keep(store, p.outputsDir(), outputs.Options{Describe: p.describe, Log: p.log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	engine, err := troupe.New(troupe.Config{Store: folders, Limits: p.limits()})
	if err != nil {
		return nil, errors.Join(err, folders.Close(), store.Close())
	}
	return &stage{project: p, engine: engine, folders: folders, store: store, agents: map[string]*player{}}, nil
}

// close stops every run, waits for it, and only then gives up what runs use.
func (s *stage) close() error {
	return errors.Join(s.engine.Close(), s.folders.Close(), s.store.Close())
}

// agent makes the agent of an id, once. Those that it invokes have the model and the
// rights that are theirs, not its own.
func (s *stage) agent(id string) (*player, error) {
	d, err := s.project.definition(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.agents[d.ID]; made != nil {
		return made, nil
	}
	model, err := s.project.models.Open(s.project.models.For(d.ID))
	if err != nil {
		return nil, err
	}
	options := s.project.optionsOf(d.ID)
	options.Model, options.Price, options.Window = model.Model, model.Price, model.Window
	options.Invoke = func(id string) (troupe.Step, error) {
		other, err := s.agent(id)
		if err != nil {
			return nil, err
		}
		return other.Agent, nil
	}
	agent, err := s.project.catalog.Agent(d.ID, options)
	if err != nil {
		return nil, err
	}
	made := &player{agent, d, model}
	s.agents[d.ID] = made
	return made, nil
}

// optionsOf is what the configuration says of an agent, its model aside.
func (p *project) optionsOf(id string) bundle.Options {
	own := p.config.Agents[id]
	options := bundle.Options{
		Outputs: p.outputsDir(), ReadProject: own.ReadProject, Allow: own.Tools,
		Params: troupe.Params{Temperature: own.Temperature, TopP: own.TopP, MaxTokens: own.MaxTokens, Effort: own.Effort},
	}
	if own.Seed != nil {
		seed := int64(*own.Seed)
		options.Params.Seed = &seed
	}
	for name, dir := range own.Read {
		options.Roots = append(options.Roots, workspace.Root{Name: name, Dir: within(p.dir, dir), Access: workspace.ReadOnly})
	}
	for name, dir := range own.Write {
		options.Roots = append(options.Roots, workspace.Root{Name: name, Dir: within(p.dir, dir), Access: workspace.ReadWrite})
	}
	return options
}

// strangers tells of agents that are configured and not there: whoever mistyped a
// name should know that nothing comes of it.
func (p *project) strangers() []string {
	var told []string
	ids := p.agentIDs()
	for _, id := range slices.Sorted(maps.Keys(p.config.Agents)) {
		if !slices.Contains(ids, id) {
			told = append(told, fmt.Sprintf("agents.%s in %s: there is no such agent%s", id, config.Name, suggest.Hint(id, ids)))
		}
	}
	return told
}

func (p *project) limits() troupe.Limits {
	l := p.config.Limits
	return troupe.Limits{
		Turns: l.Turns, ToolCalls: l.ToolCalls, Tokens: l.Tokens, Cost: l.Cost, Time: l.Time, Depth: l.Depth,
		ToolTimeout: l.ToolTimeout, Attempts: l.Attempts, ModelTries: l.ModelTries,
	}
}

// describe tells manifests an agent's title and bundle.
func (p *project) describe(agent string) (title, bundle string) {
	d, err := p.catalog.Definition(agent)
	if err != nil {
		return "", ""
	}
	return d.Title, d.Bundle
}

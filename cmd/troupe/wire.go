package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/models"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/skill"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/tool/mcp"
)

// A project is a directory with its configuration and the agents found in it.
type project struct {
	dir     string
	config  *config.Config
	models  models.Chooser
	catalog *bundle.Catalog
	skills  *skill.Library
	approve approve.Policy
	log     *slog.Logger
	logFile io.Closer // nil where there is none
	// sinks are told of everything that agents do.
	sinks []observe.Sink
}

// openProject reads the configuration and finds the agents.
func (p *program) openProject() (*project, error) {
	dir, err := p.projectDir()
	if err != nil {
		return nil, err
	}
	if p.lookup, err = config.Environment(p.flags.dir, p.lookup); err != nil {
		return nil, err
	}
	c, err := config.Load(p.flags.dir, p.lookup)
	if err != nil {
		return nil, err
	}
	catalog, err := bundle.Find(dir, bundle.Config{Core: c.Core, Bundles: c.Bundles})
	if err != nil {
		return nil, err
	}
	opened := &project{
		dir: dir, config: c, catalog: catalog,
		models: models.Chooser{Config: c, Flag: p.flags.model, Getenv: p.getenv, Client: models.NewClient()},
	}
	if err = p.openLog(opened); err == nil {
		opened.models.Log = opened.log
		err = opened.complete()
	}
	if err != nil {
		return nil, errors.Join(err, opened.close())
	}
	return opened, nil
}

// complete adds what depends on the agents that were found.
func (p *project) complete() (err error) {
	for _, e := range p.catalog.Entries() {
		if p.isPlain(e.ID) {
			return fmt.Errorf("agents.%s in %s has instructions, but there is an agent of that name in bundle %s", e.ID, config.Name, e.Bundle)
		}
	}
	if _, ok := p.config.Flows[deliverName]; ok || p.isPlain(deliverName) {
		return fmt.Errorf("%s: the name %s is taken", config.Name, deliverName)
	}
	for _, rule := range p.config.Approve {
		p.approve = append(p.approve, approve.Rule{Tool: rule.Tool, Where: rule.Where, Do: approve.Decision(rule.Do)})
	}
	var roots []string
	for _, dir := range p.config.Skills {
		roots = append(roots, within(p.dir, dir))
	}
	if p.skills, err = skill.Open(skill.Config{Roots: roots, Log: p.log}); err != nil {
		return err
	}
	return p.maker(nil).Check()
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

func (p *project) close() error {
	if p.logFile == nil {
		return p.catalog.Close()
	}
	return errors.Join(p.catalog.Close(), p.logFile.Close())
}

// A stage is where agents run: an engine, the store behind it, and the agents.
type stage struct {
	project *project
	engine  *troupe.Engine
	folders *outputs.Folders // around the store
	store   *sqlite.Store
	tracer  *otel.Tracer // nil where nobody asks for traces

	mu      sync.Mutex
	agents  map[string]*player
	servers map[string]*mcp.Server // nil for those that cannot be reached
	kept    []io.Closer            // what else is closed with the stage
	// rehearses says that an agent has no model because nobody has chosen one.
	rehearses bool
}

// openStage wires an engine: events go to the store, from it into the manifest of
// the session's folder, and then to the log and to whoever collects traces.
func (p *project) openStage(ctx context.Context) (*stage, error) {
	store, err := sqlite.Open(ctx, filepath.Join(p.dataDir(), "troupe.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	folders, err := outputs.Keep(store, p.outputsDir(), outputs.Options{Describe: p.describe, Log: p.log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	tracer, err := p.openTracer(ctx)
	if err != nil {
		return nil, errors.Join(err, folders.Close(), store.Close())
	}
	sinks := p.sinks
	if tracer != nil {
		sinks = append(slices.Clone(sinks), tracer)
	}
	engine, err := troupe.New(troupe.Config{Store: observe.Watch(folders, sinks...), Limits: p.limits()})
	if err != nil {
		return nil, errors.Join(err, folders.Close(), store.Close())
	}
	return &stage{project: p, engine: engine, folders: folders, store: store, tracer: tracer, agents: map[string]*player{}, servers: map[string]*mcp.Server{}}, nil
}

// close stops every run, waits for it, and only then gives up what runs use.
func (s *stage) close() error {
	err := s.engine.Close()
	for _, server := range s.servers {
		if server != nil {
			server.Close()
		}
	}
	for _, kept := range s.kept {
		err = errors.Join(err, kept.Close())
	}
	if s.tracer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), traceGrace)
		defer cancel()
		if err := s.tracer.Shutdown(ctx); err != nil {
			s.project.log.Warn("traces not sent", "err", err)
		}
	}
	return errors.Join(err, s.folders.Close(), s.store.Close())
}

// traceGrace is how long the program stays to send its last traces.
const traceGrace = 5 * time.Second

// openTracer sends traces where the standard environment variables say so.
func (p *project) openTracer(ctx context.Context) (*otel.Tracer, error) {
	if !otel.Wanted(p.models.Getenv) {
		return nil, nil
	}
	return otel.New(ctx, otel.Options{Logger: p.log})
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

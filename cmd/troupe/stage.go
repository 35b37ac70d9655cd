package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

// options are what the command line says of a project.
func (p *program) options() project.Options {
	o := project.Options{Model: p.flags.model, LookupEnv: p.lookup, Log: p.console, LookForOllama: true, AllowUnknownTools: true}
	if self, err := os.Executable(); err == nil {
		o.SandboxHelper = []string{self, pipeline.SandboxArgument}
	}
	return o
}

// inProject opens the project for as long as f takes.
func (p *program) inProject(f func(*project.Project) error) error {
	opened, err := project.Open(p.flags.dir, p.options())
	if err != nil {
		return err
	}
	err = f(opened)
	if opened.HasEngine() {
		_ = countSome(opened) // or the next command does
	}
	return errors.Join(err, opened.Close())
}

// A stage is a project whose store is open, so that agents can run.
type stage struct {
	project *project.Project
	engine  *troupe.Engine
	folders *outputs.Folders // around the store
}

// openStage opens the store of a project, which closes it.
func openStage(ctx context.Context, opened *project.Project) (*stage, error) {
	engine, err := opened.Engine(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := opened.Store(ctx)
	if err != nil {
		return nil, err
	}
	return &stage{project: opened, engine: engine, folders: folders}, nil
}

// run begins a run, unless what a month may cost is spent.
func (s *stage) run(ctx context.Context, step troupe.Step, input troupe.Input) iter.Seq2[troupe.Event, error] {
	return s.paid(ctx, s.engine.Run(ctx, step, input))
}

// paid are the events of a run that begins once they are read, unless what a month may
// cost is spent.
func (s *stage) paid(ctx context.Context, events iter.Seq2[troupe.Event, error]) iter.Seq2[troupe.Event, error] {
	return func(yield func(troupe.Event, error) bool) {
		if err := s.project.MayBegin(ctx); err != nil {
			yield(troupe.Event{}, err)
			return
		}
		events(yield)
	}
}

// within returns a directory that is relative to another, unless it is absolute.
func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// shown returns a path of the host as a person in the project would write it.
func shown(opened *project.Project, path string) string {
	if relative, err := filepath.Rel(opened.Dir(), path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}

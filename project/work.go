package project

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/schedule"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store/postgres"
	"github.com/troupe-dev/troupe/work"
)

// Who carries out what servers are asked for, as troupe.yaml says: see [Project.EngineKind].
const (
	EngineEmbedded = "embedded"
	EngineWorkers  = "workers"
	EngineTemporal = "temporal"
)

// EngineKind returns who carries out what servers are asked for.
func (p *Project) EngineKind() string {
	if p.config.Engine == "" {
		return EngineEmbedded
	}
	return p.config.Engine
}

// errNoSharedStore says what workers need.
var errNoSharedStore = errors.New("workers share a PostgreSQL database with the servers: set store in " + config.Name + ", as in postgres://user:${DB_PASSWORD}@host/troupe")

// checkEngine fails where workers could not have what servers put on record.
func (p *Project) checkEngine() error {
	if kind := p.EngineKind(); kind != EngineEmbedded && !p.sharesStore() {
		return fmt.Errorf("engine: %s in %s: %w", kind, config.Name, errNoSharedStore)
	}
	return nil
}

// SharedStore returns the database that servers and workers share. It fails where the store is
// a file.
func (p *Project) SharedStore(ctx context.Context) (*postgres.Store, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	shared, ok := s.store.(*postgres.Store)
	if !ok {
		return nil, errNoSharedStore
	}
	return shared, nil
}

// Runner returns what has workers carry out runs, in place of the project's engine.
func (p *Project) Runner(ctx context.Context) (*work.Runner, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	shared, err := p.SharedStore(ctx)
	if err != nil {
		return nil, err
	}
	recorder := work.Recorder{Store: s.watched}
	if s.tracer != nil {
		recorder.Tracing = s.tracer
	}
	return &work.Runner{Engine: s.engine, Recorder: recorder, Queue: shared, QueueOf: s.queueOf, DigestOf: s.digestOf}, nil
}

// Runs returns what carries out the runs of the project's servers: its engine, or workers.
func (p *Project) Runs(ctx context.Context) (server.Runs, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	if p.EngineKind() == EngineEmbedded {
		return limited{s.engine, s}, nil
	}
	runner, err := p.Runner(ctx)
	if err != nil {
		return nil, err
	}
	return limited{dispatched{runner, s.engine}, s}, nil
}

// SubmitTo puts a run on record for a scheduler that was told of it, or will be, by its
// session alone: one of a batch, where that has a name. It returns its job.
func (p *Project) SubmitTo(ctx context.Context, step troupe.Step, input troupe.Input, batch string) (work.Job, error) {
	shared, err := p.SharedStore(ctx)
	if err != nil {
		return work.Job{}, err
	}
	runner, err := p.Runner(ctx)
	if err != nil {
		return work.Job{}, err
	}
	var job work.Job
	recorded, err := runner.Recorder.Record(ctx, step, input, func(ctx context.Context, session string) (err error) {
		if job, err = runner.JobFor(ctx, step, session, input); err != nil {
			return err
		}
		job.Batch = batch
		if err := shared.AddJob(ctx, job); err != nil {
			return err
		}
		return shared.HandJob(ctx, session)
	})
	if err == nil && recorded.Known { // it was put on record before
		job, _, err = shared.JobOf(ctx, recorded.Session)
	}
	return job, err
}

// dispatched has workers carry out everything but deliveries, which are carried out where their
// repository is.
type dispatched struct {
	*work.Runner
	engine *troupe.Engine
}

// Run implements [server.Runs].
func (d dispatched) Run(ctx context.Context, step troupe.Step, input troupe.Input) iter.Seq2[troupe.Event, error] {
	if step.Name() == Deliver {
		return d.engine.Run(ctx, step, input)
	}
	return d.Runner.Run(ctx, step, input)
}

// Resume implements [server.Runs].
func (d dispatched) Resume(ctx context.Context, step troupe.Step, session string) iter.Seq2[troupe.Event, error] {
	if step.Name() == Deliver {
		return d.engine.Resume(ctx, step, session)
	}
	return d.Runner.Resume(ctx, step, session)
}

// StepOf makes the step of a job: as its session began, with the model that was chosen
// for that.
func (p *Project) StepOf(ctx context.Context, job work.Job) (troupe.Step, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	choose, err := s.choiceOf(job.Session)
	if err != nil {
		return nil, err
	}
	return s.stepWith(ctx, job.Step, job.Session, choose)
}

// Work takes up runs that servers have put on record, of one queue and so many at the same
// time, until ctx is done. It fails where the store is a file.
func (p *Project) Work(ctx context.Context, queue string, maxParallel int) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	shared, err := p.SharedStore(ctx)
	if err != nil {
		return err
	}
	withdraw, err := shared.AnnounceWorker(ctx, queue)
	if err != nil {
		return err
	}
	defer withdraw()
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { _ = p.RunSweep(ctx) }) // which logs what goes wrong
	w := &work.Worker{Engine: s.engine, Queue: shared, Name: queue, Step: p.StepOf, Check: p.CheckJob, MaxParallel: maxParallel, Log: p.log}
	return w.Work(ctx)
}

// Schedules returns the project's schedules. They are in the database that servers share, or
// else in the data directory.
func (p *Project) Schedules(ctx context.Context) (schedule.Book, error) {
	if !p.sharesStore() {
		return schedule.Book{Shelf: schedule.Folder(filepath.Join(p.DataDir(), "schedules"))}, nil
	}
	shared, err := p.SharedStore(ctx)
	return schedule.Book{Shelf: shared}, err
}

// RunSchedules starts what is due until ctx is done. It may be called by any number of
// processes: each time is carried out once. It returns at once where Temporal does that.
func (p *Project) RunSchedules(ctx context.Context) error {
	if p.EngineKind() == EngineTemporal {
		return nil
	}
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	book, err := p.Schedules(ctx)
	if err != nil {
		return err
	}
	clock := &schedule.Clock{Book: book, Log: p.log, IsUnderWay: s.isUnderWay, Cancel: s.engine.Cancel}
	clock.Start = func(ctx context.Context, due schedule.Schedule, session string) error {
		_, err := p.StartScheduled(ctx, due, session)
		return err
	}
	if p.EngineKind() == EngineWorkers {
		runner, err := p.Runner(ctx)
		if err != nil {
			return err
		}
		clock.Cancel = runner.Cancel
	}
	clock.Run(ctx)
	return nil
}

// StartScheduled starts the run of a schedule in a session, unless it is there, and returns
// its job. With workers it is put on record for them.
func (p *Project) StartScheduled(ctx context.Context, due schedule.Schedule, session string) (work.Job, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return work.Job{}, err
	}
	job := work.Job{Session: session, Step: due.Step}
	step, err := p.StepIn(ctx, due.Step, session)
	if err != nil {
		return work.Job{}, err
	}
	job.Step = step.Name()
	if d := step.Definition(); d != nil {
		job.Digest = d.Digest()
	}
	input := troupe.Input{Session: session, Text: due.Text, IdempotencyKey: "schedule"}
	if p.EngineKind() == EngineEmbedded {
		_, err := s.engine.Start(ctx, step, input)
		return job, err
	}
	runner, err := p.Runner(ctx)
	if err == nil {
		_, err = runner.Submit(ctx, step, input)
	}
	return job, err
}

// isUnderWay reports whether a session has a run that somebody carries out or is to.
func (s *stage) isUnderWay(ctx context.Context, session string) (bool, error) {
	if queue, ok := s.store.(work.Queue); ok {
		if _, waits, err := queue.JobOf(ctx, session); waits || err != nil {
			return waits, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	info, _, err := s.store.Ask(ctx, session, troupe.SessionRequest{})
	if errors.Is(err, troupe.ErrNotFound) {
		return false, nil
	}
	return info.Status == "running", err
}

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/schedule"
	"github.com/troupe-dev/troupe/work"
)

// work carries out runs until ctx is done, and hands over those that servers have put on
// record.
func (p *program) work(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	queue := flags.String("queue", "", "")
	atOnce := flags.Int("at-once", 0, "")
	rate := flags.Float64("rate", -1, "")
	untilEOF := flags.Bool("until-eof", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errors.New(use)
	}
	if *untilEOF {
		ended, end := context.WithCancel(ctx)
		defer end()
		go endWith(p.in, end) // whose reader cannot be told to stop: the process ends before it
		ctx = ended
	}
	usual, err := p.project.QueueRate(*queue)
	if err != nil {
		return err
	}
	if *rate < 0 {
		*rate = usual
	}
	engine, err := p.project.Engine(ctx)
	if err != nil {
		return err
	}
	shared, err := p.project.SharedStore(ctx)
	if err != nil {
		return err
	}
	if err := temporal.Prepare(ctx, p.client, p.namespace); err != nil {
		if _, isMissing := errors.AsType[*serviceerror.NamespaceNotFound](err); isMissing {
			return err
		}
		p.log.Warn("search attributes not made; an operator can, with 'troupe-temporal setup'", "err", err)
	}
	if err := p.syncSchedules(ctx); err != nil {
		return err
	}
	w := &temporal.Worker{
		Engine: engine, Store: shared, Step: p.project.StepOf, Check: p.project.CheckJob, Seize: shared.Seize, Jobs: shared, Begin: p.begin,
		Queue: *queue, MaxParallel: *atOnce, RunsPerSecond: *rate,
	}
	made := w.New(p.client)
	if err := made.Start(); err != nil {
		return temporal.Explain(err)
	}
	withdraw, err := shared.AnnounceWorker(ctx, *queue)
	if err != nil {
		made.Stop()
		return err
	}
	defer withdraw()
	fmt.Fprintln(p.err, waitingFor(p.project, *queue, *rate))
	var beside sync.WaitGroup
	beside.Go(func() { (&temporal.Dispatcher{Client: p.client, Queue: *queue}).Relay(ctx, shared, p.log) })
	beside.Go(func() { w.TakeOver(ctx, p.client, p.namespace, shared, p.log) })
	beside.Go(func() { _ = p.project.RunSweep(ctx) }) // which logs what goes wrong
	<-ctx.Done()
	made.Stop()
	beside.Wait()
	return nil
}

// endWith calls end when there is nothing more to read: whoever has the other end is gone.
func endWith(in io.Reader, end func()) {
	_, _ = io.Copy(io.Discard, in) // that it cannot be read is an end, too
	end()
}

// waitingFor says what a worker waits for, and what it leaves to others.
func waitingFor(opened *project.Project, queue string, rate float64) string {
	text := "Waiting for runs"
	if others := opened.Queues(); queue != "" {
		text += " of queue " + queue
	} else if len(others) > 0 {
		text += " that fit no queue of troupe.yaml (" + strings.Join(others, ", ") + ": see --queue)"
	}
	if rate > 0 {
		text += fmt.Sprintf(", of which at most %g begin in a second", rate)
	}
	return text + "."
}

// begin puts the run of a schedule on record.
func (p *program) begin(ctx context.Context, name string, due time.Time) (work.Job, error) {
	book, err := p.project.Schedules(ctx)
	if err != nil {
		return work.Job{}, err
	}
	s, err := book.Find(ctx, name)
	if errors.Is(err, schedule.ErrNone) {
		return work.Job{}, nil
	}
	if err != nil {
		return work.Job{}, err
	}
	job, err := p.submit(ctx, s.Step, troupe.Input{Session: s.Session(due), Text: s.Text, IdempotencyKey: "schedule"})
	if err != nil {
		return job, err
	}
	// For 'troupe schedule list' alone: the run is on record.
	noted := book.Note(ctx, name, func(now *schedule.Schedule) error {
		if now.Created.Equal(s.Created) && due.After(now.Last) {
			now.Last, now.Latest = due, job.Session
		}
		return nil
	})
	if noted != nil {
		p.log.Warn("the latest run of a schedule is not noted", "schedule", name, "err", noted)
	}
	return job, nil
}

// submit puts a run on record whose workflow is there already.
func (p *program) submit(ctx context.Context, name string, input troupe.Input) (work.Job, error) {
	step, err := p.project.StepIn(ctx, name, input.Session)
	if err != nil {
		return work.Job{}, err
	}
	return p.project.SubmitTo(ctx, step, input, "")
}

// each carries out the runs of sessions that are on record, and waits for them.
func (p *program) each(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("each", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var batch temporal.Batch
	flags.StringVar(&batch.Name, "batch", "", "")
	flags.StringVar(&batch.Job.Step, "step", "", "")
	flags.StringVar(&batch.Job.Digest, "digest", "", "")
	flags.StringVar(&batch.Job.Queue, "queue", "", "")
	flags.IntVar(&batch.MaxParallel, "max", 0, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || batch.Name == "" {
		return errors.New(use)
	}
	lines := bufio.NewScanner(p.in)
	for lines.Scan() {
		session := strings.TrimSpace(lines.Text())
		if !sessionid.Is(session) {
			return fmt.Errorf("%.64q is no session's id", session)
		}
		batch.Sessions = append(batch.Sessions, session)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	run, err := (&temporal.Dispatcher{Client: p.client}).StartBatch(ctx, batch)
	if err != nil {
		return err
	}
	var counts temporal.Counts
	return run.Get(ctx, &counts)
}

func (p *program) syncSchedules(ctx context.Context) error {
	book, err := p.project.Schedules(ctx)
	if err != nil {
		return err
	}
	all, err := book.All(ctx)
	if err != nil {
		return err
	}
	return temporal.SyncSchedules(ctx, p.client, all, func(s schedule.Schedule) string {
		queue, err := p.project.QueueFor(ctx, s.Step)
		if err != nil {
			p.log.Warn("schedule is in the usual queue", "schedule", s.Name, "err", err)
		}
		return queue
	})
}

func (p *program) backfill(ctx context.Context, name, from, until string) error {
	first, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return err
	}
	last, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return err
	}
	book, err := p.project.Schedules(ctx)
	if err != nil {
		return err
	}
	s, err := book.Find(ctx, name)
	if err != nil {
		return err
	}
	return temporal.BackfillSchedule(ctx, p.client, s, first, last)
}

// examine says what is wrong with the cluster, and which runs no worker can carry out.
func (p *program) examine(ctx context.Context) error {
	fmt.Fprintf(p.out, "ok namespace %s\n", p.namespace)
	stuck, err := temporal.FindStuck(ctx, p.client, 100)
	if err != nil {
		return err
	}
	for _, run := range stuck {
		fmt.Fprintf(p.out, "warning session %s waits for a worker that has its definition: %s; start one with the files that the run began with, or cancel it\n", run.Session, run.Why)
	}
	return nil
}

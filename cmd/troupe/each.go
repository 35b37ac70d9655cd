package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/batch"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

type batchOptions struct {
	file, name string
	atOnce     int
}

// A batchResult is what came of one input.
type batchResult struct {
	Line    int     `json:"line"`
	ID      string  `json:"id,omitempty"`
	Session string  `json:"session"`
	Status  string  `json:"status"` // success, partial, failed or needs_input
	Answer  string  `json:"answer,omitempty"`
	Error   string  `json:"error,omitempty"`
	Problem string  `json:"problem,omitempty"` // what the error is about and what to do, in plain words
	Turns   int     `json:"turns,omitempty"`
	Tokens  int     `json:"tokens,omitempty"`
	Cost    float64 `json:"cost,omitempty"`
	// Before says that it was done already, when this batch was last run.
	Before bool `json:"before,omitempty"`
}

const needsInput = "needs_input"

// runEach runs a flow or an agent on every input of a file. Each input has a session
// of its own, whose id follows from the batch's name and the input: what is done is
// found there, and what was interrupted is resumed.
func (p *program) runEach(ctx context.Context, s *stage, name string, o batchOptions) error {
	if o.atOnce < 1 {
		return usage("--at-once: at least one")
	}
	inputs, err := p.readBatch(o.file)
	if err != nil {
		return err
	}
	step, err := s.project.Step(ctx, name)
	if err != nil {
		return err
	}
	p.mention(ctx, s)
	label := cmp.Or(o.name, filepath.Base(o.file))
	runs, err := s.project.Runs(ctx)
	if err != nil {
		return err
	}
	var dispatched map[string]bool
	if s.project.EngineKind() == project.EngineTemporal {
		if dispatched, err = p.dispatchEach(ctx, s, step, inputs, label, name, o.atOnce); err != nil {
			return err
		}
	}
	show := &batchShow{program: p, bar: terminal.NewBar(p.err, len(inputs), p.isTerminal(p.err) && !p.flags.quiet)}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(o.atOnce, len(inputs)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(inputs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				result := s.runOne(ctx, runs, step, inputs[i], inputs[i].Session(label, name))
				result.Before = result.Before && !dispatched[result.Session]
				if ctx.Err() == nil || result.Status == "success" {
					show.add(result)
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(context.Cause(ctx), show.close(len(inputs)))
}

func (p *program) readBatch(file string) ([]batch.Input, error) {
	if file == "-" {
		return batch.Read("standard input", p.in)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return batch.Read(file, f)
}

// runOne sees to one input.
func (s *stage) runOne(ctx context.Context, runs server.Runs, step troupe.Step, input batch.Input, session string) batchResult {
	result := batchResult{Line: input.Line, ID: input.ID, Session: session}
	end, err := s.latestEnd(ctx, session)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		end, err = collectEnd(s.paid(ctx, runs.Run(ctx, step, troupe.Input{Session: session, Text: input.Task, Custom: input.Custom})))
	case err != nil:
	case end != nil:
		result.Before = true
	default:
		end, err = collectEnd(runs.Resume(ctx, step, session))
	}
	switch {
	case err != nil:
		result.Status, result.Error, result.Problem = "failed", err.Error(), problem.Of(err).Words()
	case end.Stop == "input_requested":
		result.Status, result.Answer = needsInput, end.Output.Summary
	default:
		result.Status, result.Answer = string(end.Output.Meta.Status), end.Output.Summary
	}
	if end != nil {
		result.Turns, result.Tokens, result.Cost = end.Spent.Turns, end.Spent.Usage.Input+end.Spent.Usage.Output, end.Spent.Cost
	}
	return result
}

// dispatchEach puts what is not done yet on record and has Temporal carry it out, so many
// at the same time. It returns the sessions when all of it has come to something.
func (p *program) dispatchEach(ctx context.Context, s *stage, step troupe.Step, inputs []batch.Input, label, name string, atOnce int) (map[string]bool, error) {
	all := label + "-" + name
	sessions, first, err := s.recordEach(ctx, step, inputs, label, name, all)
	if err != nil || len(sessions) == 0 {
		return nil, err
	}
	dispatched := map[string]bool{}
	for _, session := range sessions {
		dispatched[session] = true
	}
	err = p.pipeTemporal(ctx, s.project, strings.NewReader(strings.Join(sessions, "\n")+"\n"),
		"each", "-batch", all, "-step", step.Name(), "-digest", first.digest, "-queue", first.queue, "-max", strconv.Itoa(atOnce))
	if err != nil {
		p.tell("What is on record is carried out by whichever worker there is; the same command shows what came of it.")
	}
	return dispatched, err
}

// recordAtOnce is how many inputs are put on record at the same time.
const recordAtOnce = 16

// recordEach puts the inputs that are not done yet on record, and returns their sessions in
// order and the first of them: the others are in the same queue.
func (s *stage) recordEach(ctx context.Context, step troupe.Step, inputs []batch.Input, label, name, all string) (sessions []string, first onRecord, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	recorded := make([]onRecord, len(inputs))
	var next atomic.Int64
	var recorders sync.WaitGroup
	for range min(recordAtOnce, len(inputs)) {
		recorders.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(inputs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				one, err := s.recordOne(ctx, step, inputs[i], inputs[i].Session(label, name), all)
				if err != nil {
					cancel(fmt.Errorf("line %d: %w", inputs[i].Line, err))
				}
				recorded[i] = one
			}
		})
	}
	recorders.Wait()
	for _, one := range recorded {
		if one.session != "" {
			sessions, first = append(sessions, one.session), cmp.Or(first, one)
		}
	}
	return sessions, first, context.Cause(ctx)
}

// onRecord says where a run is that is to be carried out: nowhere, if it is done already.
type onRecord struct{ session, queue, digest string }

// recordOne puts an input on record, unless it is done.
func (s *stage) recordOne(ctx context.Context, step troupe.Step, input batch.Input, session, all string) (onRecord, error) {
	end, err := s.latestEnd(ctx, session)
	if !errors.Is(err, troupe.ErrNotFound) && (err != nil || end != nil) {
		return onRecord{}, err
	}
	job, err := s.project.SubmitTo(ctx, step, troupe.Input{Session: session, Text: input.Task, Custom: input.Custom, IdempotencyKey: "each"}, all)
	return onRecord{session, job.Queue, job.Digest}, err
}

// latestEnd returns how a session's latest run finished, nil if it has not.
func (s *stage) latestEnd(ctx context.Context, session string) (*troupe.RunFinished, error) {
	return collectEnd(s.folders.Events(ctx, session, 0))
}

func collectEnd(events iter.Seq2[troupe.Event, error]) (end *troupe.RunFinished, err error) {
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case *troupe.RunFinished:
			if e.Parent == "" {
				end = b
			}
		case *troupe.RunStarted, *troupe.UserSaid:
			end = nil
		}
	}
	return end, nil
}

// A batchShow writes results as they come.
type batchShow struct {
	*program
	mu     sync.Mutex
	bar    *terminal.Bar
	counts map[string]int
	before int
}

func (b *batchShow) add(r batchResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts == nil {
		b.counts = map[string]int{}
	}
	b.counts[r.Status]++
	if r.Before {
		b.before++
	}
	b.bar.Clear()
	if b.flags.json {
		line, err := json.Marshal(r)
		if err == nil {
			fmt.Fprintf(b.out, "%s\n", line)
		}
	} else {
		fmt.Fprintf(b.out, "%d\t%s\t%s\t%s\n", r.Line, r.Status, r.Session[:8], terminal.OneLine(cmp.Or(r.Problem, r.Error, r.Answer), 200))
	}
	b.bar.Step(r.Status == "failed")
}

// close sums up, and says what the whole means to scripts.
func (b *batchShow) close(inputs int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bar.Clear()
	done := 0
	for _, n := range b.counts {
		done += n
	}
	text := fmt.Sprintf("%s: %d done", words.Counted(inputs, "input"), done)
	for _, status := range []string{"partial", "failed", needsInput} {
		if n := b.counts[status]; n > 0 {
			text += fmt.Sprintf(", %d of them %s", n, status)
		}
	}
	if b.before > 0 {
		text += fmt.Sprintf(", %d of them before", b.before)
	}
	b.tell("%s", text)
	switch {
	case b.counts["failed"] > 0:
		return errBroken
	case b.counts[needsInput] > 0:
		return errInput
	}
	return nil
}

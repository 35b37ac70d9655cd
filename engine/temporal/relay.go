package temporal

import (
	"context"
	"log/slog"
	"time"

	"github.com/troupe-dev/troupe/work"
)

// Outbox keeps the jobs that servers have put on record until the cluster has them: see
// postgres.Store.
type Outbox interface {
	// UnhandedJobs returns jobs that were not handed over, or longer ago than a while.
	UnhandedJobs(ctx context.Context, queue string, limit int, longAgo time.Duration) ([]work.Job, error)
	// HandJob notes that a job was handed over.
	HandJob(ctx context.Context, session string) error
}

const (
	relayPause = 200 * time.Millisecond
	relayBatch = 200
	// relayAgain is after how long a job that is not done is handed over again, which does nothing
	// where its workflow is under way.
	relayAgain = 10 * time.Minute
)

// Relay starts the workflows of jobs that servers have put on record, until ctx is done.
// Servers need not reach the cluster, and nothing is lost while it is away. Any number of
// processes may do so.
func (d *Dispatcher) Relay(ctx context.Context, box Outbox, log *slog.Logger) {
	pause := time.NewTicker(relayPause)
	defer pause.Stop()
	for isSaid := false; ; {
		err := d.relaySome(ctx, box)
		if err != nil && ctx.Err() == nil && !isSaid {
			log.Warn("jobs not handed over; they are kept", "err", err)
		}
		isSaid = err != nil
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// relaySome starts the workflows of some jobs. Those of a batch that is under way are left to it:
// it is what bounds how many are carried out at the same time.
func (d *Dispatcher) relaySome(ctx context.Context, box Outbox) error {
	jobs, err := box.UnhandedJobs(ctx, d.Queue, relayBatch, relayAgain)
	if err != nil {
		return err
	}
	batches := map[string]bool{"": false}
	for _, job := range jobs {
		underWay, known := batches[job.Batch]
		if !known {
			if underWay, err = d.isUnderWay(ctx, job.Batch); err != nil {
				return err
			}
			batches[job.Batch] = underWay
		}
		if !underWay {
			err = d.StartJob(ctx, job)
		}
		if err == nil {
			err = box.HandJob(ctx, job.Session)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

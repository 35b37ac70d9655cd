package work_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue is a [work.Queue] in memory, beside a store.
type queue struct {
	store troupe.Store
	mu    sync.Mutex
	jobs  []work.Job
	added int64
	// beforeRemove, where set, is called before a job is removed.
	beforeRemove func()
}

func (q *queue) AddJob(_ context.Context, job work.Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = slices.DeleteFunc(q.jobs, func(j work.Job) bool { return j.Session == job.Session })
	q.added++
	job.Since = time.Unix(q.added, 0)
	q.jobs = append(q.jobs, job)
	return nil
}

func (q *queue) WaitingJobs(ctx context.Context, name string, limit int) (list []work.Job, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, job := range q.jobs {
		info, _, err := q.store.Ask(ctx, job.Session, troupe.SessionRequest{})
		if job.Queue == name && len(list) < limit && (err != nil || info.Owner == (troupe.Owner{})) {
			list = append(list, job)
		}
	}
	return list, nil
}

func (q *queue) JobOf(_ context.Context, session string) (work.Job, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.jobs, func(j work.Job) bool { return j.Session == session })
	if i < 0 {
		return work.Job{}, false, nil
	}
	return q.jobs[i], true, nil
}

func (q *queue) RemoveJob(_ context.Context, job work.Job) (bool, error) {
	if q.beforeRemove != nil {
		q.beforeRemove()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.jobs)
	q.jobs = slices.DeleteFunc(q.jobs, func(j work.Job) bool { return j.Session == job.Session && j.Since.Equal(job.Since) })
	return len(q.jobs) < before, nil
}

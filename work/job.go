// Package work lets one process put a run on record and another carry it out: a server
// acknowledges what somebody said, and a worker answers it.
//
// What is on record of a run is all that there is to pass on. A [Job] is ids: which session,
// of which agent or flow, in which definition. Whoever takes it up resumes over the log,
// so that a worker which dies in the middle is followed by another that repeats nothing.
package work

import (
	"context"
	"time"
)

// A Job is a run that is on record and that a worker is to carry out.
type Job struct {
	// Session is the session whose latest run it is: there is one job for each.
	Session string `json:"session"`
	// Step is the name of the agent or flow, and Digest that of its definition: see
	// [github.com/troupe-dev/troupe.Definition] and [Runner.DigestOf].
	Step   string `json:"step"`
	Digest string `json:"digest,omitempty"`
	// User is who asked.
	User string `json:"user,omitempty"`
	// Queue is the one that workers take it from: for a tenant, a provider with a quota,
	// or machines that have a tool. Empty is the usual one.
	Queue string `json:"queue,omitempty"`
	// Batch is the one that has it carried out, so many at the same time. Empty means none.
	Batch string `json:"batch,omitempty"`
	// Since is when it was added, and tells it from one that was added later.
	Since time.Time `json:"since,omitzero"`
}

// A Queue keeps jobs until they are done. It may be used concurrently, by many processes.
type Queue interface {
	// AddJob adds a job, in the place of the one that the session has.
	AddJob(ctx context.Context, job Job) error
	// WaitingJobs returns jobs of a queue that nobody works on, the oldest first. Of those in
	// a session that somebody alive has, none is returned.
	WaitingJobs(ctx context.Context, queue string, limit int) ([]Job, error)
	// JobOf returns the job of a session, and whether there is one.
	JobOf(ctx context.Context, session string) (Job, bool, error)
	// RemoveJob removes a job and reports whether it was there. One that was added to its
	// session since stays, because it is another run's.
	RemoveJob(ctx context.Context, job Job) (bool, error)
}

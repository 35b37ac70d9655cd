package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/work"
)

// A job is shown to workers while nobody has its session, and to another scheduler once.
func TestJobsWaitUntilTheyAreDone(t *testing.T) {
	server, other := pair(t, Options{})
	ctx := t.Context()
	step := troupe.NewStep("chore", func(context.Context, *troupe.Run, troupe.Handoff) (troupe.Handoff, error) {
		return troupe.Handoff{}, nil
	})
	recorder := work.Recorder{Store: server}
	recorded, err := recorder.Record(ctx, step, troupe.Input{Text: "go"}, func(ctx2 context.Context, session string) error {
		if err := server.AddJob(ctx2, work.Job{Session: session, Step: "chore", Digest: "d", User: "ann"}); err != nil {
			return err
		}
		if list, err := other.WaitingJobs(ctx, "", 10); len(list) != 0 || err != nil {
			t.Errorf("while it is put on record: %v, %v", list, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := other.WaitingJobs(ctx, "", 10)
	if err != nil || len(list) != 1 || list[0].Session != recorded.Session || list[0].Digest != "d" || list[0].Since.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if list, err := other.WaitingJobs(ctx, "elsewhere", 10); len(list) != 0 || err != nil {
		t.Errorf("of another queue: %v, %v", list, err)
	}
	lease, err := other.Acquire(ctx, recorded.Session)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := server.WaitingJobs(ctx, "", 10); len(list) != 0 || err != nil {
		t.Errorf("while somebody works on it: %v, %v", list, err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if list, err := server.UnhandedJobs(ctx, "", 10, time.Hour); len(list) != want || err != nil {
			t.Errorf("to hand over: %v, %v", list, err)
		}
		if err := server.HandJob(ctx, recorded.Session); err != nil {
			t.Fatal(err)
		}
	}
	if lease, err = other.Acquire(ctx, recorded.Session); err != nil {
		t.Fatal(err)
	}
	if list, err := server.UnhandedJobs(ctx, "", 10, 0); len(list) != 0 || err != nil {
		t.Errorf("to hand over again, while somebody works on it: %v, %v", list, err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if list, err := server.UnhandedJobs(ctx, "", 10, 0); len(list) != 1 || err != nil {
		t.Errorf("to hand over again, long after it was: %v, %v", list, err)
	}
	job, there, err := other.JobOf(ctx, recorded.Session)
	if !there || err != nil {
		t.Errorf("the job is gone: %v", err)
	}
	if err := server.AddJob(ctx, job); err != nil { // for what somebody said since
		t.Fatal(err)
	}
	if there, err := other.RemoveJob(ctx, job); there || err != nil {
		t.Errorf("the job of a later run was removed: %v, %v", there, err)
	}
	if job, _, err = other.JobOf(ctx, recorded.Session); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if there, err := server.RemoveJob(ctx, job); there != want || err != nil {
			t.Errorf("removed: %v, %v", there, err)
		}
	}
}

// Who knows that a session's owner is gone need not wait for its lease, and what that one
// writes afterwards is refused.
func TestASeizedSessionIsNoLongerItsOwners(t *testing.T) {
	frozen, next := pair(t, Options{Lease: 3 * time.Second})
	ctx := t.Context()
	lease, err := frozen.Acquire(ctx, id(1))
	if err != nil {
		t.Fatal(err)
	}
	event := func(seq, epoch int64) troupe.Event {
		return troupe.Event{Seq: seq, Epoch: epoch, Time: now(), Session: id(1), Run: "r", Step: "0", Agent: "a", Body: &troupe.RunStarted{}}
	}
	if err := frozen.Append(ctx, id(1), event(1, lease.Epoch())); err != nil {
		t.Fatal(err)
	}
	_, err = next.Acquire(ctx, id(1))
	owner, ok := errors.AsType[*troupe.Owner](err)
	if !ok {
		t.Fatalf("acquired: %v", err)
	}
	for _, other := range []troupe.Owner{{Host: owner.Host, PID: owner.PID + 1, Since: owner.Since}, {Host: owner.Host, PID: owner.PID, Since: owner.Since.Add(-1)}} {
		if err := next.Seize(ctx, id(1), other); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Acquire(ctx, id(1)); !errors.Is(err, troupe.ErrBusy) {
			t.Errorf("taken from another than %+v: %v", other, err)
		}
	}
	if err := next.Seize(ctx, id(1), *owner); err != nil {
		t.Fatal(err)
	}
	if err := frozen.Append(ctx, id(1), event(2, lease.Epoch())); !errors.Is(err, troupe.ErrConflict) {
		t.Errorf("the one before writes: %v", err)
	}
	if _, err := next.Acquire(ctx, id(1)); err != nil {
		t.Errorf("acquire: %v", err)
	}
	select {
	case _, open := <-lease.Requests():
		if open {
			t.Error("a request")
		}
	case <-time.After(time.Minute):
		t.Error("the one before was not told")
	}
}

// What a silent process had is lost, if another scheduler was given it, and whatever else
// waits or goes on is not.
func TestWhatASilentProcessHadIsLost(t *testing.T) {
	silent, alive := pair(t, Options{Lease: time.Hour})
	ctx := t.Context()
	lost := func() (sessions []string) {
		t.Helper()
		list, err := alive.LostJobs(ctx, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range list {
			if job.Step != "chore" || job.Since.IsZero() {
				t.Errorf("%+v", job)
			}
			sessions = append(sessions, job.Session)
		}
		return sessions
	}
	for n, holder := range []*Store{nil, silent, alive, silent, silent} {
		session := id(n)
		job := work.Job{Session: session, Step: "chore"}
		if n == 4 {
			job.Queue = "elsewhere"
		}
		if err := alive.AddJob(ctx, job); err != nil {
			t.Fatal(err)
		}
		if n != 3 { // it waits for the scheduler
			if err := alive.HandJob(ctx, session); err != nil {
				t.Fatal(err)
			}
		}
		if holder != nil {
			lease := mustAcquire(t, holder, session)
			mustAppend(t, holder, under(lease, eventsOf(session, 1, &troupe.RunStarted{}))...)
		}
	}
	if found := lost(); len(found) != 0 {
		t.Errorf("while all are heard of: %v", found)
	}
	freeze(t, silent)
	if found := lost(); len(found) != 1 || found[0] != id(1) {
		t.Errorf("of a silent process: %v", found)
	}
	mustAcquire(t, alive, id(1))
	if found := lost(); len(found) != 0 {
		t.Errorf("when somebody has gone on with it: %v", found)
	}
}

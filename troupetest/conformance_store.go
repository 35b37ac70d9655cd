package troupetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// TestStore checks what [troupe.Store] promises. open returns an empty store for
// the subtest tb.
func TestStore(t *testing.T, open func(tb testing.TB) troupe.Store) {
	run := func(name string, test func(*storeTest)) {
		t.Run(name, func(t *testing.T) { test(&storeTest{t, open(t)}) })
	}
	run("every kind of event comes back as it was", (*storeTest).roundTrip)
	run("large and odd events come back as they were", (*storeTest).largeEvents)
	run("events that do not continue the log conflict", (*storeTest).conflicts)
	run("of concurrent writers one wins each number", (*storeTest).contention)
	run("events after a number", (*storeTest).after)
	run("an unknown session is not found", (*storeTest).unknown)
	run("sessions are apart from each other", (*storeTest).isolation)
	run("sessions are listed, the latest first", (*storeTest).sessions)
	run("a session's status is that of its latest run", (*storeTest).status)
	run("a deleted session is forgotten", (*storeTest).deletion)
	run("what was spent is summed up by day and agent", (*storeTest).spending)
	run("reading stops at break", (*storeTest).breaking)
	run("reading stops when its context is done", (*storeTest).cancelling)
	run("a refused write leaves nothing behind", (*storeTest).cancelledWrite)
	run("readers beside a writer see the log's beginning", (*storeTest).readersBesideAWriter)
	run("a session has one owner at a time", (*storeTest).ownership)
	run("of concurrent owners to be one wins", (*storeTest).ownersToBe)
	run("a late writer is refused", (*storeTest).lateWriter)
	run("requests reach the owner", (*storeTest).requests)
	run("replies in progress are shown", (*storeTest).replies)
}

// TestDurableStore checks that events survive in a store that is opened again.
// open opens the store that is kept in dir; closing ends its use.
func TestDurableStore(t *testing.T, open func(tb testing.TB, dir string) (store troupe.Store, closing func())) {
	dir := t.TempDir()
	events := everyKind(sessionID(1))
	for i, e := range events {
		store, closing := open(t, dir)
		s := storeTest{t, store}
		s.append(e)
		s.expect(sessionID(1), 0, events[:i+1])
		closing()
	}
	store, closing := open(t, dir)
	defer closing()
	s := storeTest{t, store}
	s.expect(sessionID(1), 0, events)
	s.expectSessions(troupe.SessionFilter{}, infoOf(events))
}

// A storeTest is one test of a store.
type storeTest struct {
	*testing.T
	store troupe.Store
}

// sessionID returns the id of the nth session of a test.
func sessionID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// said makes n events of a session, the first numbered from.
func said(session string, from int64, n int) []troupe.Event {
	var events []troupe.Event
	for i := range int64(n) {
		events = append(events, eventOf(session, from+i, &troupe.UserSaid{Text: fmt.Sprint("number ", from+i)}))
	}
	return events
}

func eventOf(session string, seq int64, body troupe.Body) troupe.Event {
	when := time.Date(2024, 2, 29, 12, 0, int(seq), 123456789, time.UTC)
	return troupe.Event{Seq: seq, Time: when, Session: session, Run: "r", Step: fmt.Sprint(seq), Agent: "alex", Body: body}
}

func (s *storeTest) append(events ...troupe.Event) {
	s.Helper()
	if err := s.store.Append(s.Context(), events[0].Session, slices.Clone(events)...); err != nil {
		s.Fatalf("append %d to %d: %v", events[0].Seq, events[len(events)-1].Seq, err)
	}
}

// expect compares what the store has after a number. Events are the same if their
// JSON is, with times in UTC.
func (s *storeTest) expect(session string, after int64, want []troupe.Event) {
	s.Helper()
	var got []troupe.Event
	for e, err := range s.store.Events(s.Context(), session, after) {
		if err != nil {
			s.Fatalf("session %s after %d: %v", session, after, err)
		}
		got = append(got, e)
	}
	if len(got) != len(want) {
		s.Fatalf("session %s after %d: got %d events, want %d", session, after, len(got), len(want))
	}
	for i := range want {
		if g, w := inJSON(s.T, got[i]), inJSON(s.T, want[i]); g != w {
			s.Errorf("session %s: event %d is\n%.2000s\nand was\n%.2000s", session, want[i].Seq, g, w)
		}
	}
}

func inJSON(t *testing.T, e troupe.Event) string {
	t.Helper()
	e.Time = e.Time.UTC()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// expectConflict appends events that must be refused, and with them nothing done.
func (s *storeTest) expectConflict(events ...troupe.Event) {
	s.Helper()
	if err := s.store.Append(s.Context(), events[0].Session, events...); !errors.Is(err, troupe.ErrConflict) {
		s.Errorf("append from %d: got %v, want ErrConflict", events[0].Seq, err)
	}
}

// infoOf returns how a session stands that nobody has.
func infoOf(events []troupe.Event) (info troupe.SessionInfo) {
	for i := range events {
		info.Note(&events[i])
	}
	return info
}

// unowned returns how a session stands once nobody has it.
func unowned(info troupe.SessionInfo) troupe.SessionInfo {
	if info.Status == "running" {
		info.Status = "interrupted"
	}
	return info
}

// expectSessions compares what the store lists, in order.
func (s *storeTest) expectSessions(match troupe.SessionFilter, want ...troupe.SessionInfo) {
	s.Helper()
	var got []troupe.SessionInfo
	for info, err := range s.store.Sessions(s.Context(), match) {
		if err != nil {
			s.Fatalf("sessions %+v: %v", match, err)
		}
		got = append(got, info)
	}
	same := func(a, b troupe.SessionInfo) bool {
		started, updated := a.Started.Equal(b.Started), a.Updated.Equal(b.Updated)
		a.Started, a.Updated = b.Started, b.Updated
		return started && updated && a == b
	}
	for i := range want {
		if want[i].Owner == (troupe.Owner{}) {
			want[i] = unowned(want[i])
		}
	}
	if !slices.EqualFunc(got, want, same) {
		s.Errorf("sessions %+v:\ngot  %+v\nwant %+v", match, got, want)
	}
}

func (s *storeTest) roundTrip() {
	events := everyKind(sessionID(1))
	s.append(events[:3]...)
	s.append(events[3:]...)
	s.expect(sessionID(1), 0, events)
	s.expectSessions(troupe.SessionFilter{}, infoOf(events))
}

func (s *storeTest) largeEvents() {
	texts := []string{
		strings.Repeat("0123456789abcdef", 1<<16), "", "Ünïcödé 雪 🦜 \u2028 <&> \\ \" '", "\x00\x01\t\r\n", "�",
	}
	var events []troupe.Event
	for i, text := range texts {
		body := &troupe.UserSaid{Text: text, Parts: []troupe.Part{{MIME: "x/y", Data: []byte{0, 0xff, 0xfe, '\n'}}}}
		events = append(events, eventOf(sessionID(1), int64(i+1), body))
	}
	s.append(events...)
	s.expect(sessionID(1), 0, events)
}

func (s *storeTest) conflicts() {
	s.expectConflict(said(sessionID(1), 0, 1)...)
	s.expectConflict(said(sessionID(1), 2, 1)...)
	log := said(sessionID(1), 1, 3)
	s.append(log...)
	for _, from := range []int64{0, 1, 3, 5} {
		s.expectConflict(said(sessionID(1), from, 1)...)
	}
	gap := said(sessionID(1), 4, 4)
	s.expectConflict(gap[0], gap[1], gap[3])
	s.expectConflict(gap[0], gap[0])
	s.expectConflict(gap[1], gap[0])
	s.expect(sessionID(1), 0, log)
	s.append(gap...)
	s.expect(sessionID(1), 0, append(log, gap...))
}

func (s *storeTest) contention() {
	const writers, numbers = 4, 10
	for seq := int64(1); seq <= numbers; seq++ {
		var won atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				err := s.store.Append(s.Context(), sessionID(1), said(sessionID(1), seq, 1)...)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, troupe.ErrConflict) {
					s.Errorf("event %d: %v", seq, err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			s.Errorf("event %d was written by %d of %d writers", seq, n, writers)
		}
	}
	s.expect(sessionID(1), 0, said(sessionID(1), 1, numbers))
}

func (s *storeTest) after() {
	log := said(sessionID(1), 1, 6)
	s.append(log[:2]...)
	s.append(log[2:]...)
	for after := range 7 {
		s.expect(sessionID(1), int64(after), log[after:])
	}
	s.expect(sessionID(1), 100, nil)
}

func (s *storeTest) unknown() {
	s.expectUnknown(sessionID(1))
	s.append(said(sessionID(2), 1, 1)...)
	s.expectUnknown(sessionID(1))
	if err := s.store.Delete(s.Context(), sessionID(1)); !errors.Is(err, troupe.ErrNotFound) {
		s.Errorf("delete: got %v, want ErrNotFound", err)
	}
}

func (s *storeTest) expectUnknown(session string) {
	s.Helper()
	n := 0
	for _, err := range s.store.Events(s.Context(), session, 0) {
		if n++; !errors.Is(err, troupe.ErrNotFound) {
			s.Errorf("session %s: got %v, want ErrNotFound", session, err)
		}
	}
	if n != 1 {
		s.Errorf("session %s: it yields %d times, want one error", session, n)
	}
}

func (s *storeTest) isolation() {
	one, two := said(sessionID(1), 1, 3), said(sessionID(2), 1, 2)
	s.append(one[0])
	s.append(two...)
	s.append(one[1:]...)
	s.expect(sessionID(1), 0, one)
	s.expect(sessionID(2), 0, two)
	s.expectConflict(said(sessionID(2), 4, 1)...)
	s.expectConflict(said(sessionID(3), 3, 1)...)
}

// sessionOf makes a session of one run, written at a minute and ended by a body.
func sessionOf(n, minute int, agent string, end troupe.Body) []troupe.Event {
	bodies := []troupe.Body{&troupe.RunStarted{}, &troupe.UserSaid{Text: fmt.Sprint("task ", n)}, end}
	var events []troupe.Event
	for i, body := range bodies {
		e := eventOf(sessionID(n), int64(i+1), body)
		e.Agent, e.Time = agent, e.Time.Add(time.Duration(minute)*time.Minute)
		events = append(events, e)
	}
	return events
}

func (s *storeTest) sessions() {
	s.expectSessions(troupe.SessionFilter{})
	oldest := sessionOf(1, 0, "alex", &troupe.RunFinished{})
	newest := sessionOf(2, 20, "alex", &troupe.RunFailed{Error: "no"})
	middle := sessionOf(3, 10, "kim", &troupe.RunFinished{})
	for _, events := range [][]troupe.Event{oldest, newest, middle} {
		s.append(events...)
	}
	a, b, c := infoOf(newest), infoOf(middle), infoOf(oldest)
	s.expectSessions(troupe.SessionFilter{}, a, b, c)
	s.expectSessions(troupe.SessionFilter{Limit: 2}, a, b)
	s.expectSessions(troupe.SessionFilter{Limit: 9}, a, b, c)
	s.expectSessions(troupe.SessionFilter{Agent: "alex"}, a, c)
	s.expectSessions(troupe.SessionFilter{Agent: "alex", Limit: 1}, a)
	s.expectSessions(troupe.SessionFilter{Agent: "ale"})
	s.expectSessions(troupe.SessionFilter{Status: "completed"}, b, c)
	s.expectSessions(troupe.SessionFilter{Status: "completed", Agent: "kim"}, b)
	s.expectSessions(troupe.SessionFilter{Since: b.Updated}, a, b)
	s.expectSessions(troupe.SessionFilter{Since: b.Updated.Add(time.Nanosecond)}, a)
	s.expectSessions(troupe.SessionFilter{ID: b.ID}, b)
	s.expectSessions(troupe.SessionFilter{ID: b.ID, Agent: "alex"})
	s.expectSessions(troupe.SessionFilter{User: "ann"})
	owned := sessionOf(4, 5, "kim", &troupe.RunFinished{})
	owned[0].Body = &troupe.RunStarted{User: "ann"}
	s.append(owned...)
	d := infoOf(owned)
	s.expectSessions(troupe.SessionFilter{User: "ann"}, d)
	s.expectSessions(troupe.SessionFilter{User: "ann", ID: b.ID})
	s.expectSessions(troupe.SessionFilter{User: "Ann"})
	renamed := eventOf(sessionID(4), d.Events+1, &troupe.SessionRenamed{Title: "Kim's"})
	renamed.Time = d.Updated
	s.append(renamed)
	if d.Note(&renamed); d.Title != "Kim's" {
		s.Errorf("a renamed session is called %q", d.Title)
	}
	s.expectSessions(troupe.SessionFilter{User: "ann"}, d)
	if err := s.store.Delete(s.Context(), d.ID); err != nil {
		s.Error(err)
	}

	again := eventOf(sessionID(1), 4, &troupe.UserSaid{Text: "and now?"})
	again.Time = again.Time.Add(time.Hour)
	s.append(again)
	c.Note(&again)
	s.expectSessions(troupe.SessionFilter{}, c, a, b)
	for range s.store.Sessions(s.Context(), troupe.SessionFilter{}) {
		break
	}
}

func (s *storeTest) status() {
	lease := s.acquire(sessionID(1))
	child := eventOf(sessionID(1), 2, &troupe.RunFailed{Error: "a child's"})
	child.Parent = "r"
	var log []troupe.Event
	for i, step := range []struct {
		event troupe.Event
		want  string
	}{
		{eventOf(sessionID(1), 1, &troupe.RunStarted{}), "running"},
		{child, "running"},
		{eventOf(sessionID(1), 3, &troupe.RunFinished{}), "completed"},
		{eventOf(sessionID(1), 4, &troupe.RunStarted{}), "running"},
		{eventOf(sessionID(1), 5, &troupe.RunFailed{}), "failed"},
		{eventOf(sessionID(1), 6, &troupe.ToolReturned{}), "running"},
		{eventOf(sessionID(1), 7, &troupe.RunCancelled{}), "cancelled"},
	} {
		owned := step.event
		owned.Epoch = lease.Epoch()
		s.append(owned)
		log = append(log, step.event)
		info := infoOf(log)
		info.Owner = s.ownerOf(sessionID(1))
		if info.Status != step.want {
			s.Fatalf("after event %d the status is %s, want %s", i+1, info.Status, step.want)
		}
		s.expectSessions(troupe.SessionFilter{Status: step.want}, info)
	}
	s.append(func() troupe.Event {
		e := eventOf(sessionID(1), 8, &troupe.RunResumed{})
		e.Epoch = lease.Epoch()
		return e
	}())
	s.release(lease)
	s.expectSessions(troupe.SessionFilter{Status: "running"})
	for info, err := range s.store.Sessions(s.Context(), troupe.SessionFilter{Status: "interrupted"}) {
		if err != nil || info.ID != sessionID(1) || info.Status != "interrupted" || info.Owner != (troupe.Owner{}) {
			s.Errorf("a run that nobody has any more: %+v, %v", info, err)
		}
		return
	}
	s.Error("a run that nobody has any more is not interrupted")
}

func (s *storeTest) deletion() {
	s.append(said(sessionID(1), 1, 3)...)
	s.append(said(sessionID(2), 1, 1)...)
	if err := s.store.Delete(s.Context(), sessionID(1)); err != nil {
		s.Fatal(err)
	}
	s.expectUnknown(sessionID(1))
	s.expectSessions(troupe.SessionFilter{}, infoOf(said(sessionID(2), 1, 1)))
	s.expectConflict(said(sessionID(1), 4, 1)...)
	s.append(said(sessionID(1), 1, 1)...)
	s.expect(sessionID(1), 0, said(sessionID(1), 1, 1))
}

func (s *storeTest) breaking() {
	log := said(sessionID(1), 1, 20)
	s.append(log[:19]...)
	for range 20 {
		for range s.store.Events(s.Context(), sessionID(1), 3) {
			break
		}
	}
	// What was broken off must not be in the way of a writer.
	promptly(s.T, "append after break", func() {
		if err := s.store.Append(s.Context(), sessionID(1), log[19]); err != nil {
			s.Error(err)
		}
	})
	s.expect(sessionID(1), 0, log)
}

func (s *storeTest) cancelling() {
	const size = 2000
	s.append(said(sessionID(1), 1, size)...)
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range s.store.Events(ctx, sessionID(1), 0) {
		n++
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) || n > size {
		s.Errorf("reading ended with %v after %d of %d events", last, n, size)
	}
}

func (s *storeTest) cancelledWrite() {
	log := said(sessionID(1), 1, 2)
	s.append(log[0])
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if err := s.store.Append(ctx, sessionID(1), log[1]); err != nil {
		s.expect(sessionID(1), 0, log[:1])
		s.append(log[1])
	}
	if err := s.store.Append(s.Context(), sessionID(1)); err != nil {
		s.Errorf("to append nothing: %v", err)
	}
	s.expect(sessionID(1), 0, log)
}

func (s *storeTest) readersBesideAWriter() {
	const size, batch, readers = 60, 3, 3
	s.append(said(sessionID(1), 1, batch)...)
	var written atomic.Bool
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for seen, last := int64(0), false; !last && !s.Failed(); {
				last = written.Load()
				seen = s.readBeside(seen, batch)
			}
		})
	}
	for from := int64(1 + batch); from <= size; from += batch {
		if err := s.store.Append(s.Context(), sessionID(1), said(sessionID(1), from, batch)...); err != nil {
			s.Errorf("append from %d beside readers: %v", from, err)
			break
		}
	}
	written.Store(true)
	wg.Wait()
	s.expect(sessionID(1), 0, said(sessionID(1), 1, size))
}

// readBeside reads a log that grows by whole batches and returns where it ends.
func (s *storeTest) readBeside(before, batch int64) (seen int64) {
	for e, err := range s.store.Events(s.Context(), sessionID(1), 0) {
		if err != nil || e.Seq != seen+1 {
			s.Errorf("after event %d came %d, %v", seen, e.Seq, err)
			return seen
		}
		seen = e.Seq
	}
	if seen < before || seen%batch != 0 {
		s.Errorf("a reader saw %d events, and before that %d; they were written %d at a time", seen, before, batch)
	}
	return seen
}

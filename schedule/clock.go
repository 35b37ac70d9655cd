package schedule

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"
)

// A Clock carries out the schedules of a book.
type Clock struct {
	Book Book
	// Start starts a run in a session, and returns. A session that is there has been
	// started already, which is no error.
	Start func(ctx context.Context, s Schedule, session string) error
	// IsUnderWay reports whether a session has a run under way, or about to be.
	IsUnderWay func(ctx context.Context, session string) (bool, error)
	// Cancel stops the run of a session.
	Cancel func(ctx context.Context, session string) error
	// Look is how often the book is looked at for what is new: every 5 seconds by default.
	Look time.Duration
	// Log is told of what goes wrong. Nil means nobody is.
	Log *slog.Logger
}

const defaultLook = 5 * time.Second

// Run carries out what is due until ctx is done.
func (c *Clock) Run(ctx context.Context) {
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	began := time.Now()
	for {
		now := time.Now()
		all, err := c.Book.All(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("schedules not read", "err", err)
		}
		next := now.Add(cmp.Or(c.Look, defaultLook))
		for _, s := range all {
			if err := c.see(ctx, s, began, now); err != nil && ctx.Err() == nil {
				log.Warn("schedule not carried out", "schedule", s.Name, "err", err)
			}
			if due := s.Next(now); !due.IsZero() && due.Before(next) {
				next = due
			}
		}
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return
		}
	}
}

// see carries out what is due of a schedule.
func (c *Clock) see(ctx context.Context, s Schedule, began, now time.Time) error {
	from := latest(s.Last, s.Created)
	if missed := latest(began.Add(-s.CatchUp), s.Created); missed.After(from) {
		from = missed // what passed while nobody was there
	}
	due, err := s.Times(from, now)
	if err != nil {
		return err
	}
	for _, at := range due {
		if err := c.reach(ctx, &s, at); err != nil {
			return err
		}
	}
	for len(s.Pending) > 0 {
		busy, err := c.isBusy(ctx, &s)
		if err != nil || busy {
			return err
		}
		at := s.Pending[0]
		if err := c.start(ctx, &s, at); err != nil {
			return err
		}
		if err := c.note(ctx, &s, func(s *Schedule) { s.Pending = slices.DeleteFunc(s.Pending, at.Equal) }); err != nil {
			return err
		}
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reach deals with a time that has come.
func (c *Clock) reach(ctx context.Context, s *Schedule, at time.Time) error {
	busy, err := c.isBusy(ctx, s)
	if err != nil {
		return err
	}
	if s.Latest == s.Session(at) { // another server was faster
		busy = false
	}
	switch {
	case busy && (s.Overlap == Skip || s.Overlap == ""):
		return c.note(ctx, s, func(s *Schedule) {
			if at.After(s.Last) {
				s.Last, s.Skipped = at, s.Skipped+1
			}
		})
	case busy && s.Overlap == Buffer:
		return c.note(ctx, s, func(s *Schedule) {
			if s.Last = latest(s.Last, at); len(s.Pending) == 0 {
				s.Pending = []time.Time{at}
			}
		})
	case busy && s.Overlap == Cancel:
		if err := c.Cancel(ctx, s.Latest); err != nil {
			return err
		}
	}
	return c.start(ctx, s, at)
}

func (c *Clock) isBusy(ctx context.Context, s *Schedule) (bool, error) {
	if s.Latest == "" || s.Overlap == Allow {
		return false, nil
	}
	return c.IsUnderWay(ctx, s.Latest)
}

// start starts the run of a time, and then notes that it did: a server that dies in between
// starts it again, which is the same run. One that cannot be started is noted, too.
func (c *Clock) start(ctx context.Context, s *Schedule, at time.Time) error {
	session := s.Session(at)
	err := c.Start(ctx, *s, session)
	if ctx.Err() != nil {
		return err
	}
	noted := c.note(ctx, s, func(s *Schedule) {
		s.Last, s.Problem = latest(s.Last, at), ""
		if err == nil {
			s.Latest = session
		} else {
			s.Problem = err.Error()
		}
	})
	return cmp.Or(err, noted)
}

// note changes what is written of a schedule, here and in the book.
func (c *Clock) note(ctx context.Context, s *Schedule, change func(*Schedule)) error {
	return c.Book.Note(ctx, s.Name, func(noted *Schedule) error {
		if !noted.Created.Equal(s.Created) {
			return nil // it was removed, and another has its name now
		}
		change(noted)
		*s = *noted
		return nil
	})
}

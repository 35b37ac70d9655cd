package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Shelf keeps what is written in the book: see server.Shelf.
type Shelf interface {
	Read(ctx context.Context, name string) ([]byte, error)
	Change(ctx context.Context, name string, change func(before []byte) (after []byte, err error)) error
}

// A Book has the schedules of a project. It may be used concurrently, by many processes.
type Book struct{ Shelf Shelf }

const bookName = "schedules"

var (
	// ErrNone reports a schedule that is not there.
	ErrNone = errors.New("there is no such schedule")
	// ErrTaken reports a name that another schedule has.
	ErrTaken = errors.New("there is a schedule of that name: remove it first")
)

// All returns the schedules by name.
func (b Book) All(ctx context.Context) ([]Schedule, error) {
	data, err := b.Shelf.Read(ctx, bookName)
	if err != nil {
		return nil, fmt.Errorf("read the schedules: %w", err)
	}
	return decode(data)
}

// Find returns a schedule. It fails with [ErrNone] if there is none.
func (b Book) Find(ctx context.Context, name string) (Schedule, error) {
	all, err := b.All(ctx)
	if err != nil {
		return Schedule{}, err
	}
	if i := slices.IndexFunc(all, func(s Schedule) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Schedule{}, fmt.Errorf("schedule %.64q: %w", name, ErrNone)
}

// Add adds a schedule, from now on, and returns it with when that is. It fails with
// [ErrTaken] if there is one of its name.
func (b Book) Add(ctx context.Context, s Schedule) (Schedule, error) {
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("schedule %.64q: %w", s.Name, err)
	}
	s.Created = time.Now().UTC().Round(0)
	return s, b.change(ctx, func(all []Schedule) ([]Schedule, error) {
		if slices.ContainsFunc(all, func(other Schedule) bool { return other.Name == s.Name }) {
			return nil, fmt.Errorf("schedule %s: %w", s.Name, ErrTaken)
		}
		return append(all, s), nil
	})
}

// Remove removes a schedule. Its runs stay. It fails with [ErrNone] if there is none.
func (b Book) Remove(ctx context.Context, name string) error {
	return b.change(ctx, func(all []Schedule) ([]Schedule, error) {
		left := slices.DeleteFunc(slices.Clone(all), func(s Schedule) bool { return s.Name == name })
		if len(left) == len(all) {
			return nil, fmt.Errorf("schedule %.64q: %w", name, ErrNone)
		}
		return left, nil
	})
}

// Backfill has the times of a schedule between two others carried out, one after the other, and returns
// how many there are.
func (b Book) Backfill(ctx context.Context, name string, from, until time.Time) (n int, err error) {
	err = b.Note(ctx, name, func(s *Schedule) error {
		times, err := s.Past(from, until)
		if err != nil {
			return err
		}
		n = len(times)
		for _, due := range times {
			if !slices.ContainsFunc(s.Pending, due.Equal) {
				s.Pending = append(s.Pending, due)
			}
		}
		return nil
	})
	return n, err
}

// Note changes what is written of a schedule. It fails with [ErrNone] if there is none.
func (b Book) Note(ctx context.Context, name string, change func(*Schedule) error) error {
	return b.change(ctx, func(all []Schedule) ([]Schedule, error) {
		i := slices.IndexFunc(all, func(s Schedule) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("schedule %.64q: %w", name, ErrNone)
		}
		return all, change(&all[i])
	})
}

func (b Book) change(ctx context.Context, change func([]Schedule) ([]Schedule, error)) error {
	return b.Shelf.Change(ctx, bookName, func(before []byte) ([]byte, error) {
		all, err := decode(before)
		if err == nil {
			all, err = change(all)
		}
		if err != nil {
			return nil, err
		}
		slices.SortFunc(all, func(a, b Schedule) int { return strings.Compare(a.Name, b.Name) })
		return json.Marshal(all)
	})
}

func decode(data []byte) (all []Schedule, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read the schedules: %w", err)
	}
	return all, nil
}

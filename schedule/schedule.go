// Package schedule starts runs at the times that somebody has set for them.
//
// A time is carried out once, however many servers there are and however often they are
// started again: the session of a run follows from the schedule's name and the time.
package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

// A Schedule says what is run, and when.
type Schedule struct {
	Name string `json:"name"`
	// Cron is when: minute, hour, day of month, month and day of week, or a word such as
	// @daily or @every 90m. Zone is the time zone that it is meant in: UTC by default.
	Cron string `json:"cron"`
	Zone string `json:"zone,omitempty"`
	// Step is the agent or flow that is run, and Text what it is told.
	Step string `json:"step"`
	Text string `json:"text"`
	// Overlap is what becomes of a time at which the run before is still under way.
	Overlap Overlap `json:"overlap,omitempty"`
	// CatchUp is for how long a time that passed while no server was there is made up for.
	CatchUp time.Duration `json:"catch_up,omitempty"`
	// Created is when the schedule was added: times before it are not its own.
	Created time.Time `json:"created"`

	// Last is the latest time that was dealt with, and Latest the session of the latest run.
	Last   time.Time `json:"last,omitzero"`
	Latest string    `json:"latest,omitempty"`
	// Pending are times that are carried out as soon as the run before has ended.
	Pending []time.Time `json:"pending,omitempty"`
	// Skipped is how many times were left out because of a run that was under way, and
	// Problem why the latest time could not be carried out.
	Skipped int    `json:"skipped,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// An Overlap is what becomes of a time at which the run before is still under way.
type Overlap string

// The ways to deal with a run that is still under way.
const (
	Skip   Overlap = "skip"   // the time is left out; the default
	Buffer Overlap = "buffer" // one run waits until the other has ended
	Allow  Overlap = "allow"  // both are under way at the same time
	Cancel Overlap = "cancel" // the one that is under way is cancelled
)

// Overlaps are all of them.
var Overlaps = []Overlap{Skip, Buffer, Allow, Cancel}

// maxTimes bounds how many times are made up for at once.
const maxTimes = 1000

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Check fails where the schedule says nothing that can be carried out.
func (s *Schedule) Check() error {
	switch {
	case !nameForm.MatchString(s.Name):
		return fmt.Errorf("the name %.64q: a schedule's name has 1 to 64 small letters, digits, underscores and hyphens", s.Name)
	case s.Step == "":
		return errors.New("there is no agent or flow to run")
	case s.Text == "":
		return errors.New("the task is empty")
	case s.Overlap != "" && !slices.Contains(Overlaps, s.Overlap):
		return fmt.Errorf("overlap %.64q: it is one of %v", s.Overlap, Overlaps)
	case s.CatchUp < 0:
		return errors.New("catch-up: a duration such as 1h")
	}
	_, err := s.parse()
	return err
}

// parse reads when the schedule is due.
func (s *Schedule) parse() (cron.Schedule, error) {
	if _, err := time.LoadLocation(s.Zone); err != nil {
		return nil, fmt.Errorf("zone %.64q: it is a name such as Europe/Berlin: %w", s.Zone, err)
	}
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	parsed, err := cron.ParseStandard("CRON_TZ=" + zone + " " + s.Cron)
	if err != nil {
		return nil, fmt.Errorf("cron %.64q: it has five fields, as in '30 7 * * 1-5' (minute, hour, day of month, month, day of week), or is @hourly, @daily, @weekly, @monthly or @every 90m: %w", s.Cron, err)
	}
	if parsed.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("cron %.64q: there is no such time", s.Cron)
	}
	return parsed, nil
}

// Times returns when the schedule is due after one time and until another, at most 1,000
// times, the first ones.
func (s *Schedule) Times(after, until time.Time) ([]time.Time, error) {
	parsed, err := s.parse()
	if err != nil {
		return nil, err
	}
	var list []time.Time
	for next := s.next(parsed, after); !next.IsZero() && !next.After(until) && len(list) < maxTimes; next = s.next(parsed, next) {
		list = append(list, next.UTC())
	}
	return list, nil
}

// Past returns the times from one to another, both included, as they are made up for. It
// fails where there are more than can be at once.
func (s *Schedule) Past(from, until time.Time) ([]time.Time, error) {
	times, err := s.Times(from.Add(-time.Nanosecond), until)
	if err == nil && len(times) == maxTimes {
		err = fmt.Errorf("schedule %s: more than %d times: choose a shorter span", s.Name, maxTimes-1)
	}
	return times, err
}

// next returns when the schedule is due after a time. What is due every so often counts from
// when the schedule was added, on whichever server, and back from then for what is made up for.
func (s *Schedule) next(parsed cron.Schedule, after time.Time) time.Time {
	if every, ok := parsed.(cron.ConstantDelaySchedule); ok {
		from := s.Created.Truncate(time.Second)
		passed := after.Sub(from)
		n := passed / every.Delay
		if passed%every.Delay < 0 {
			n--
		}
		return from.Add((n + 1) * every.Delay)
	}
	return parsed.Next(after)
}

// Every says of a schedule that is due every so often, counted from when it was added, how
// often that is. It is 0 for any other.
func (s *Schedule) Every() time.Duration {
	if parsed, err := s.parse(); err == nil {
		if every, ok := parsed.(cron.ConstantDelaySchedule); ok {
			return every.Delay
		}
	}
	return 0
}

// Next returns when the schedule is due after a time.
func (s *Schedule) Next(after time.Time) time.Time {
	parsed, err := s.parse()
	if err != nil {
		return time.Time{}
	}
	return s.next(parsed, after).UTC()
}

// Session returns the id of the session in which a time is carried out.
func (s *Schedule) Session(due time.Time) string {
	sum := sha256.Sum256([]byte("schedule " + s.Name + " of " + s.Created.UTC().Format(time.RFC3339Nano) + " at " + due.UTC().Format(time.RFC3339)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	text := hex.EncodeToString(sum[:16])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

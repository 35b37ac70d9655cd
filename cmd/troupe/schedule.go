package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/schedule"
)

func (p *program) scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Run agents and flows at set times",
		Long:  "Runs agents and flows at set times. Whichever 'troupe serve' is there carries them out, each time once; with\n'engine: temporal' they are schedules of Temporal's.",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.addScheduleCommand(), p.listSchedulesCommand(), p.removeScheduleCommand(), p.backfillCommand())
	return c
}

func (p *program) addScheduleCommand() *cobra.Command {
	var s schedule.Schedule
	var overlap string
	c := &cobra.Command{
		Use:   "add NAME FLOW_OR_AGENT TASK...",
		Short: "Add a schedule",
		Long: "Adds a schedule. --cron has five fields: minute, hour, day of month, month and day of week; or it is @hourly, @daily,\n" +
			"@weekly, @monthly or @every 90m. Each time is a session of its own.",
		Example: "  troupe schedule add news mira 'What is new?' --cron '30 7 * * 1-5' --zone Europe/Berlin",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			s.Name, s.Step, s.Text, s.Overlap = args[0], args[1], strings.TrimSpace(strings.Join(args[2:], " ")), schedule.Overlap(overlap)
			if s.Cron == "" {
				return usage("--cron says when, as in --cron '30 7 * * 1-5' or --cron @daily")
			}
			if err := s.Check(); err != nil {
				return usage("schedule %.64q: %w", s.Name, err)
			}
			return p.inSchedules(c.Context(), func(opened *project.Project, book schedule.Book) (err error) {
				if s.Step, err = opened.Find(s.Step); err != nil {
					return err
				}
				added, err := book.Add(c.Context(), s)
				if err != nil {
					return err
				}
				p.tell("Added. The next time is %s, while %s.", added.Next(time.Now()).Format(time.RFC3339), whoCarriesOut(opened))
				return p.syncSchedules(c.Context(), opened)
			})
		},
	}
	c.Flags().StringVar(&s.Cron, "cron", "", "when, as in '30 7 * * 1-5' or @daily")
	c.Flags().StringVar(&s.Zone, "zone", "", "the time zone of --cron, as in Europe/Berlin (default UTC)")
	c.Flags().StringVar(&overlap, "overlap", "skip", "what becomes of a time at which the run before is still under way: skip, buffer (one waits), allow or cancel (the one before)")
	c.Flags().DurationVar(&s.CatchUp, "catch-up", 0, "for how long a time is made up for at which no server was there (default: not at all)")
	return c
}

func (p *program) listSchedulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the schedules",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inSchedules(c.Context(), func(_ *project.Project, book schedule.Book) error {
				all, err := book.All(c.Context())
				if err != nil {
					return err
				}
				return p.showSchedules(all)
			})
		},
	}
}

// showSchedules lists schedules with when they are next due.
func (p *program) showSchedules(all []schedule.Schedule) error {
	if p.flags.json {
		type listed struct {
			schedule.Schedule
			Next time.Time `json:"next"`
		}
		list := []listed{}
		for _, s := range all {
			list = append(list, listed{s, s.Next(time.Now())})
		}
		return p.writeJSON(list)
	}
	if len(all) == 0 {
		p.tell("There are no schedules. 'troupe schedule add' adds one.")
		return nil
	}
	table := p.table()
	fmt.Fprintln(table, "NAME\tWHEN\tRUNS\tNEXT\tLATEST\tNOTE")
	for _, s := range all {
		latest, note := "-", ""
		if s.Latest != "" {
			latest = s.Latest[:8]
		}
		switch {
		case s.Problem != "":
			note = terminal.OneLine(s.Problem, 80)
		case len(s.Pending) > 0:
			note = fmt.Sprintf("%d waiting", len(s.Pending))
		case s.Skipped > 0:
			note = fmt.Sprintf("%d skipped", s.Skipped)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, strings.TrimSpace(s.Cron+" "+s.Zone), terminal.Clean(s.Step), s.Next(time.Now()).Format("2006-01-02 15:04Z"), latest, note)
	}
	return table.Flush()
}

func (p *program) removeScheduleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a schedule; its sessions stay",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inSchedules(c.Context(), func(opened *project.Project, book schedule.Book) error {
				if err := book.Remove(c.Context(), args[0]); err != nil {
					return notThere(err)
				}
				p.tell("Removed.")
				return p.syncSchedules(c.Context(), opened)
			})
		},
	}
}

func notThere(err error) error {
	if errors.Is(err, schedule.ErrNone) {
		return usage("%w; 'troupe schedule list' shows those there are", err)
	}
	return err
}

func (p *program) backfillCommand() *cobra.Command {
	var from, until string
	c := &cobra.Command{
		Use:     "backfill NAME",
		Short:   "Carry out times of a schedule that have passed",
		Example: "  troupe schedule backfill news --from 2026-03-01T00:00:00Z --until 2026-03-08T00:00:00Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			first, err := time.Parse(time.RFC3339, from)
			if err != nil {
				return usage("--from: a time such as 2026-03-01T00:00:00Z")
			}
			last := time.Now()
			if until != "" {
				if last, err = time.Parse(time.RFC3339, until); err != nil {
					return usage("--until: a time such as 2026-03-08T00:00:00Z")
				}
			}
			if last.Before(first) {
				return usage("--until, %s, is before --from, %s", last.Format(time.RFC3339), first.Format(time.RFC3339))
			}
			return p.inSchedules(c.Context(), func(opened *project.Project, book schedule.Book) error {
				n, err := p.backfill(c.Context(), opened, book, args[0], first, last)
				if err != nil {
					return notThere(err)
				}
				p.tell("%s to carry out, one after the other, while %s.", words.Counted(n, "time"), whoCarriesOut(opened))
				return nil
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "the first time, as in 2026-03-01T00:00:00Z")
	c.Flags().StringVar(&until, "until", "", "the last time (default: now)")
	return c
}

// backfill has times of a schedule carried out, and returns how many there are.
func (p *program) backfill(ctx context.Context, opened *project.Project, book schedule.Book, name string, from, until time.Time) (int, error) {
	if opened.EngineKind() != project.EngineTemporal {
		return book.Backfill(ctx, name, from, until)
	}
	s, err := book.Find(ctx, name)
	if err != nil {
		return 0, err
	}
	times, err := s.Past(from, until)
	if err != nil || len(times) == 0 {
		return 0, err
	}
	return len(times), p.runTemporal(ctx, opened, "schedule", "backfill", name, from.Format(time.RFC3339), until.Format(time.RFC3339))
}

// whoCarriesOut says what must be there for a schedule to be carried out.
func whoCarriesOut(opened *project.Project) string {
	if opened.EngineKind() == project.EngineTemporal {
		return "Temporal and a 'troupe worker' are running"
	}
	return "'troupe serve' is running"
}

// inSchedules opens the project's schedules for as long as f takes.
func (p *program) inSchedules(ctx context.Context, f func(*project.Project, schedule.Book) error) error {
	return p.inProject(func(opened *project.Project) error {
		book, err := opened.Schedules(ctx)
		if err != nil {
			return err
		}
		return f(opened, book)
	})
}

// syncSchedules has Temporal know the schedules, where it carries them out.
func (p *program) syncSchedules(ctx context.Context, opened *project.Project) error {
	if opened.EngineKind() != project.EngineTemporal {
		return nil
	}
	return p.runTemporal(ctx, opened, "schedule", "sync")
}

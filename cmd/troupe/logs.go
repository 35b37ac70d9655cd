package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
)

// logFlags are what 'troupe logs' chooses events by.
type logFlags struct {
	store.Query
	level, since, until string
	follow              bool
}

func (p *program) logsCommand() *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "logs",
		Short: "Show what agents did, in all sessions",
		Long: "Shows what agents did, in all sessions, the latest last. It reads the store beside whoever writes to it.\n" +
			"--grep finds words, in any order and case; a part in double quotes as it stands; a word that ends in a star as\n" +
			"the beginning of one. --follow goes on with what happens from now on.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.level == "" && !p.flags.json {
				f.level = "info"
			}
			if err := f.complete(time.Now()); err != nil {
				return err
			}
			return p.reading(c.Context(), nil, func(project *project.Project, reader store.Log) error {
				return p.showLogs(c.Context(), project, reader, f)
			})
		},
	}
	c.Flags().StringVar(&f.Agent, "agent", "", "only what this agent did")
	c.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool")
	c.Flags().StringVar(&f.level, "level", "", "debug, info, warn or error, and what is more serious (default info, with --json debug)")
	c.Flags().StringVar(&f.since, "since", "", "only since then: 2h, 2026-01-31, or a time as in 2026-01-31T12:00:00Z")
	c.Flags().StringVar(&f.until, "until", "", "only before then")
	c.Flags().StringVar(&f.Session, "session", "", "only in this session; the beginning of its id will do")
	c.Flags().BoolVar(&f.Errors, "errors", false, "only what failed")
	c.Flags().StringVar(&f.Text, "grep", "", "only what has these words")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what happens from now on")
	c.Flags().IntVarP(&f.Limit, "limit", "n", 1000, "at most so many of those that have happened, the latest; 0 for all")
	return c
}

// complete turns what was written into what is asked of the store.
func (f *logFlags) complete(now time.Time) (err error) {
	if f.Since, err = parseTime("--since", f.since, now); err != nil {
		return err
	}
	if f.Until, err = parseTime("--until", f.until, now); err != nil {
		return err
	}
	if f.level == "" {
		return nil
	}
	level, err := observe.ParseLevel(f.level)
	if err != nil {
		return usage("--level: %w", err)
	}
	f.Kinds, f.OrErrors = observe.KindsAtLeast(level)
	return nil
}

func (p *program) showLogs(ctx context.Context, project *project.Project, reader store.Log, f logFlags) error {
	if f.Session != "" && !sessionid.Is(f.Session) {
		info, err := infoOfSession(ctx, reader, f.Session)
		if err != nil {
			return err
		}
		f.Session = info.ID
	}
	// What was stored up to now is searched, what comes later is followed: nothing is
	// missed between the two.
	now, err := reader.Last(ctx)
	if err != nil {
		return err
	}
	past := f.Query
	if f.follow {
		past.Before = now + 1
	}
	show := p.logLine(project, f.level)
	var latest []store.Hit
	for hit, err := range reader.Search(ctx, past) {
		if err != nil {
			return err
		}
		latest = append(latest, hit)
	}
	for _, hit := range slices.Backward(latest) {
		show(hit)
	}
	if !f.follow {
		if len(latest) == f.Limit && f.Limit > 0 {
			p.tell("These are the latest %d; -n shows more.", f.Limit)
		}
		return nil
	}
	f.After, f.Limit = now, 0
	return follow(ctx, reader.Follow(ctx, f.Query), show)
}

// follow shows events until somebody has seen enough.
func follow(ctx context.Context, hits iter.Seq2[store.Hit, error], show func(store.Hit)) error {
	for hit, err := range hits {
		if ctx.Err() != nil {
			return nil // that is how it ends
		}
		if err != nil {
			return err
		}
		show(hit)
	}
	return nil
}

// logLine returns what shows one event: as JSON, or as a line of the log.
func (p *program) logLine(project *project.Project, level string) func(store.Hit) {
	least, _ := observe.ParseLevel(level) // which was checked
	console := observe.NewConsole(p.out, observe.ConsoleOptions{Level: least, Colour: p.usesColour(p.out), Where: true})
	line := observe.Log(project.Redact(console))
	return func(hit store.Hit) {
		switch {
		case hit.Err != nil:
			p.tell("%s", terminal.Clean(fmt.Sprintf("session %s, event %d: %v", hit.Event.Session, hit.Event.Seq, hit.Err)))
		case p.flags.json:
			p.writeEvent(&hit.Event)
		default:
			line.Note(&hit.Event)
		}
	}
}

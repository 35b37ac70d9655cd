package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/store/postgres"
)

func (p *program) storeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Move sessions from one store to another",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(p.copyStoreCommand())
	return c
}

func (p *program) copyStoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Add the sessions of one store to another, as they are",
		Long: "Adds the sessions of one store to another, event by event, as they are. What is there already is left alone,\n" +
			"so that a copy that was interrupted goes on when the command is given again. A store is sqlite:FILE, sqlite: for\n" +
			"the file in this project's data directory, an address such as postgres://user@host/database, or postgres: for that\n" +
			"of troupe.yaml. Files that agents saved, documents and the knowledge base go along: from this project's data directory into a PostgreSQL\n" +
			"database or its bucket, and from there into the data directory.",
		Example: "  troupe store copy sqlite: postgres://troupe@db.example.org/troupe\n  troupe store copy postgres: sqlite:backup.db",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(opened *project.Project) error { return p.copyStore(c.Context(), opened, args[0], args[1]) })
		},
	}
}

func (p *program) copyStore(ctx context.Context, opened *project.Project, from, to string) (err error) {
	source, err := opened.OpenPlace(ctx, from, true)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, postgres.ErrNoStore) {
		return usage("%s: there is no store: %w", postgres.Redact(from), err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := opened.OpenPlace(ctx, to, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	var sessions, events, whole int
	var ids []string
	busy := p.busy("copying")
	err = store.Copy(ctx, source, target, func(c store.Copied) {
		sessions++
		ids = append(ids, c.ID)
		events += int(c.Added)
		if c.Added == 0 {
			whole++
		}
		busy.doing("%s copied", words.Counted(sessions, "session"))
		if c.Owner.PID != 0 {
			busy.tell("Session %s is running: it was copied up to event %d. Copy again when it has ended.", c.ID, c.Events)
		}
	})
	if err == nil {
		busy.doing("copying files")
		err = opened.CopyFiles(ctx, source, target, ids)
	}
	known := 0
	if err == nil {
		known, err = opened.CopyKnowledge(ctx, from, to)
	}
	busy.end()
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(map[string]int{"sessions": sessions, "events": events, "already_there": whole, "knowledge": known})
	}
	if known > 0 {
		p.tell("%s of the knowledge base copied.", words.Counted(known, "document"))
	}
	p.tell("%s", copiedSessions(sessions, events, whole))
	return nil
}

// copiedSessions says what came of a copy of so many sessions, of which some were there as a whole.
func copiedSessions(sessions, events, whole int) string {
	were := "were"
	if whole == 1 {
		were = "was"
	}
	switch {
	case sessions == 0:
		return "There are no sessions to copy."
	case whole == sessions:
		return fmt.Sprintf("Nothing new to copy: %s %s there already.", words.Counted(whole, "session"), were)
	case whole > 0:
		return fmt.Sprintf("%s copied with %s; %d more %s there already.", words.Counted(sessions-whole, "session"), words.Counted(events, "event"), whole, were)
	}
	return fmt.Sprintf("%s copied with %s.", words.Counted(sessions, "session"), words.Counted(events, "event"))
}

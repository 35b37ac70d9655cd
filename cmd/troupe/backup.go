package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) backupCommand() *cobra.Command {
	var restore bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save the data directory as one file while agents work, or restore it",
		Long: "Saves sessions, their files, documents and the knowledge base as a compressed archive. Servers and agents may go on working:\n" +
			"all that was acknowledged before the backup began is in it. With --restore it unpacks such a file into a data directory\n" +
			"that is empty or not there. troupe.yaml, bundles and keys are not in it: they are yours to keep.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(opened *project.Project) error {
				if restore {
					return p.restore(c.Context(), opened, args[0])
				}
				return p.backup(c.Context(), opened, args[0])
			})
		},
	}
	c.Flags().BoolVar(&restore, "restore", false, "unpack the file into the data directory")
	return c
}

// backup writes the file whole or not at all, and never over another.
func (p *program) backup(ctx context.Context, opened *project.Project, name string) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("backup: %s is there already", name)
	}
	unfinished := name + ".unfinished"
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	busy := p.busy("saving")
	saved, err := opened.Backup(ctx, f)
	busy.end()
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(unfinished, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return p.tellBackup(name, saved)
}

func (p *program) restore(ctx context.Context, opened *project.Project, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer f.Close()
	busy := p.busy("restoring")
	restored, err := opened.Restore(ctx, f)
	busy.end()
	if err != nil {
		return err
	}
	return p.tellBackup(opened.DataDir(), restored)
}

func (p *program) tellBackup(name string, b project.Backup) error {
	if p.flags.json {
		return p.writeJSON(b)
	}
	_, err := fmt.Fprintf(p.out, "%s: %s, %s bytes, as of %s\n", terminal.Clean(name), words.Counted(b.Files, "file"), terminal.Count(int(b.Bytes)), b.Began.Format(time.RFC3339))
	return err
}

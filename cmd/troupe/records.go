package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/eval"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/transcript"
)

// reading opens the store for reading for as long as f takes. Where nothing has run
// yet it says so, and in JSON that there is nothing.
func (p *program) reading(ctx context.Context, nothing any, f func(*project.Project, store.Log) error) error {
	return p.inProject(func(opened *project.Project) error {
		reader, err := opened.OpenReader(ctx)
		if errors.Is(err, project.ErrNoSessions) {
			p.tell("%v.", err)
			if p.flags.json && nothing != nil {
				return p.writeJSON(nothing)
			}
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(f(opened, reader), reader.Close())
	})
}

// withLog reads a session's log for as long as f takes.
func (p *program) withLog(ctx context.Context, project *project.Project, id string, f func(troupe.SessionInfo, iter.Seq2[troupe.Event, error]) error) error {
	reader, err := project.OpenReader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	info, err := infoOfSession(ctx, reader, id)
	if err != nil {
		return err
	}
	return f(info, reader.Events(ctx, info.ID, 0))
}

// lastSession stands for the session that was used last.
const lastSession = "last"

// infoOfSession finds the session whose id begins so, or the last one.
func infoOfSession(ctx context.Context, reader store.Log, id string) (found troupe.SessionInfo, err error) {
	if id == lastSession {
		for info, err := range reader.Sessions(ctx, troupe.SessionFilter{Limit: 1}) {
			return info, err
		}
	}
	if !sessionid.Is(id) {
		alike, err := reader.Complete(ctx, id, maxAlike)
		if err != nil {
			return found, err
		}
		if id, err = onlyOne(id, alike); err != nil {
			return found, err
		}
	}
	for info, err := range reader.Sessions(ctx, troupe.SessionFilter{ID: id}) {
		return info, err
	}
	return found, fmt.Errorf("session %.64q: %w", id, troupe.ErrNotFound)
}

// infoOfSession finds the session whose id begins so.
func (s *stage) infoOfSession(ctx context.Context, id string) (info troupe.SessionInfo, err error) {
	reader, err := s.project.OpenReader(ctx)
	if errors.Is(err, project.ErrNoSessions) {
		return info, fmt.Errorf("session %.64q: %w", id, troupe.ErrNotFound)
	}
	if err != nil {
		return info, err
	}
	info, err = infoOfSession(ctx, reader, id)
	return info, errors.Join(err, reader.Close())
}

// writeEvents prints events, one to a line.
func (p *program) writeEvents(_ troupe.SessionInfo, events iter.Seq2[troupe.Event, error]) error {
	return writeLines(p.out, events)
}

func writeLines(w io.Writer, events iter.Seq2[troupe.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		line, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) exportSessionCommand() *cobra.Command {
	var format, file string
	var asCase bool
	c := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as markdown to read, as JSON lines to keep, or as a case for 'troupe eval'",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if asCase {
				format = caseFormat
			} else if format != "markdown" && format != "jsonl" {
				return usage("--format: markdown or jsonl, not %.20q", format)
			}
			return p.inProject(func(project *project.Project) error {
				return p.withLog(c.Context(), project, args[0], func(info troupe.SessionInfo, events iter.Seq2[troupe.Event, error]) error {
					return p.export(info, events, format, file)
				})
			})
		},
	}
	c.Flags().StringVar(&format, "format", "markdown", "markdown or jsonl")
	c.Flags().BoolVar(&asCase, "as-case", false, "write a suite with one case, of what was said and done")
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write, which must not exist (default: standard output)")
	return c
}

// caseFormat is the format of cases.
const caseFormat = "case"

func (p *program) export(info troupe.SessionInfo, events iter.Seq2[troupe.Event, error], format, file string) (err error) {
	to := p.out
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	switch format {
	case "jsonl":
		return writeLines(to, events)
	case caseFormat:
		data, err := eval.CaseOf(info, events)
		if err != nil {
			return err
		}
		_, err = to.Write(data)
		return err
	}
	return transcript.Write(to, events, transcript.Options{Session: info})
}

// inStore opens the stage with no agent in mind.
func (p *program) inStore(ctx context.Context, f func(*stage) error) error {
	return p.inProject(func(opened *project.Project) error {
		reader, err := opened.OpenReader(ctx)
		if errors.Is(err, project.ErrNoSessions) {
			return project.ErrNoSessions
		}
		if err != nil {
			return err
		}
		if err := reader.Close(); err != nil {
			return err
		}
		s, err := openStage(ctx, opened)
		if err != nil {
			return err
		}
		return f(s)
	})
}

func (p *program) deleteSessionsCommand() *cobra.Command {
	var before string
	var yes bool
	c := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete sessions with their files",
		RunE: func(c *cobra.Command, args []string) error {
			until, err := parseTime("--before", before, time.Now())
			if err != nil {
				return err
			}
			if (len(args) == 0) == until.IsZero() {
				return usage("delete: name sessions, or say --before")
			}
			return p.inStore(c.Context(), func(s *stage) error { return p.delete(c.Context(), s, args, until, yes) })
		},
	}
	c.Flags().StringVar(&before, "before", "", "all sessions that nothing happened in since then: 720h, 2026-01-31")
	c.Flags().BoolVar(&yes, "yes", false, "really delete what --before finds")
	return c
}

func (p *program) delete(ctx context.Context, s *stage, ids []string, until time.Time, yes bool) error {
	var doomed []troupe.SessionInfo
	for _, id := range ids {
		info, err := s.infoOfSession(ctx, id)
		if err != nil {
			return err
		}
		doomed = append(doomed, info)
	}
	if !until.IsZero() {
		for info, err := range s.folders.Sessions(ctx, troupe.SessionFilter{}) {
			if err != nil {
				return err
			}
			if info.Updated.Before(until) {
				doomed = append(doomed, info)
			}
		}
	}
	for _, info := range doomed {
		if until.IsZero() || yes {
			site, none := s.project.Site(info.ID)
			if err := s.engine.Delete(ctx, info.ID); err != nil {
				return err
			}
			if none == nil {
				p.tellRemains(ctx, s, site)
			}
		}
		fmt.Fprintf(p.out, "%s  %s\n", info.ID, terminal.OneLine(info.Title, 60))
	}
	if !until.IsZero() && !yes {
		p.tell("%s would be deleted; --yes deletes them.", words.Counted(len(doomed), "session"))
	}
	return nil
}

// tellRemains says what a repository still has of a delivery whose session was deleted.
func (p *program) tellRemains(ctx context.Context, s *stage, site *pipeline.Site) {
	if site.Own {
		p.tell("What it has built stays in %s.", shown(s.project, site.Repo))
	} else if left := s.project.Remains(ctx, site); left != "" {
		p.tell("%s; 'troupe deliveries drop %s' removes it.", strings.ToUpper(left[:1])+left[1:], site.ID)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) sessionsCommand() *cobra.Command {
	c := &cobra.Command{Use: "sessions", Short: "List, search, show, explain, resume, fork, export and delete sessions", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("sessions: list, search, show, explain, resume, fork, export, retry or delete?")
		}}
	c.AddCommand(p.listSessionsCommand(), p.searchSessionsCommand(), p.showSessionCommand(), p.explainSessionCommand(), p.resumeSessionCommand(),
		p.forkSessionCommand(), p.exportSessionCommand(), p.retrySessionCommand(), p.deleteSessionsCommand())
	return c
}

func (p *program) listSessionsCommand() *cobra.Command {
	var filter outputs.Filter
	var status, since string
	c := &cobra.Command{
		Use:   "list",
		Short: "List sessions, the latest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := parseTime("--since", since, time.Now())
			if err != nil {
				return err
			}
			filter.Status = string(status)
			return p.inProject(func(project *project.Project) error {
				found, err := project.Sessions(c.Context(), filter)
				if err != nil {
					return err
				}
				found = slices.DeleteFunc(found, func(m outputs.Manifest) bool { return m.Execution.StartedAt.Before(from) })
				if err := p.listSessions(found); err != nil {
					return err
				}
				if len(found) == filter.Limit && !c.Flags().Changed("limit") {
					p.tell("These are the latest %d; --limit 0 lists all.", filter.Limit)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&filter.Agent, "agent", "", "only sessions with this agent")
	c.Flags().StringVar(&filter.Workflow, "workflow", "", "only sessions in this workflow")
	c.Flags().StringVar(&status, "status", "", "only running, waiting, interrupted, completed, failed or cancelled ones")
	c.Flags().StringVar(&since, "since", "", "only sessions since then: 2h, 2026-01-31, or a time as in 2026-01-31T12:00:00Z")
	c.Flags().IntVar(&filter.Limit, "limit", listedSessions, "at most so many; 0 for all")
	return c
}

// listedSessions is how many sessions are listed if nobody says how many.
const listedSessions = 100

func (p *program) showSessionCommand() *cobra.Command {
	var events bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one session and its files; the beginning of its id will do",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error {
				if events {
					return p.withLog(c.Context(), project, args[0], p.writeEvents)
				}
				return p.showSession(c.Context(), project, args[0])
			})
		},
	}
	c.Flags().BoolVar(&events, "events", false, "print the session's events, one to a line, as JSON")
	return c
}

func (p *program) resumeSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a run that was interrupted, cancelled or failed; nothing that is on record is done again",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inSession(c.Context(), args[0], func(c *conversation, ctx context.Context) error {
				if m, err := session(ctx, c.stage.project, c.session); err == nil && m.Execution.Status == "waiting" && c.step.Name() != project.Deliver {
					return fmt.Errorf("session %s waits for an answer; to give it: troupe chat %s --session %s", c.session[:8], c.step.Name(), c.session[:8])
				}
				p.mention(ctx, c.stage)
				show, end := p.listener()
				err := c.resume(ctx, show)
				end()
				if err != nil {
					p.tellHowToGoOn(c, false, err)
					return err
				}
				p.tellSaved(c)
				return c.verdict()
			})
		},
	}
}

// inSession opens the stage for an earlier session and its agent.
func (p *program) inSession(ctx context.Context, id string, act func(*conversation, context.Context) error) error {
	return p.inProject(func(project *project.Project) error {
		m, err := session(ctx, project, id)
		if err != nil {
			return err
		}
		return p.onStage(ctx, []string{m.Agent.Name}, func(s *stage, agent string) error {
			c, err := s.converse(ctx, agent, m.SessionID)
			if err != nil {
				return err
			}
			return act(c, ctx)
		})
	})
}

// session finds the session whose id begins so.
func session(ctx context.Context, p *project.Project, id string) (outputs.Manifest, error) {
	whole, err := sessionID(ctx, p, id)
	if err != nil {
		return outputs.Manifest{}, err
	}
	found, err := p.Sessions(ctx, outputs.Filter{Session: whole})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("session %.64q: %w", id, troupe.ErrNotFound)
	}
	if err != nil {
		return outputs.Manifest{}, err
	}
	return found[0], nil
}

// sessionID completes the beginning of an id. Where the store does not know it, there
// may be a folder of that name.
func sessionID(ctx context.Context, p *project.Project, id string) (string, error) {
	if sessionid.Is(id) {
		return id, nil
	}
	reader, err := p.OpenReader(ctx)
	var found []string
	switch {
	case errors.Is(err, project.ErrNoSessions):
	case err != nil:
		return "", err
	case id == lastSession:
		info, err := infoOfSession(ctx, reader, id)
		return info.ID, errors.Join(err, reader.Close())
	default:
		found, err = reader.Complete(ctx, id, maxAlike)
		if err = errors.Join(err, reader.Close()); err != nil {
			return "", err
		}
	}
	if len(found) == 0 && id != "" {
		all, err := p.Sessions(ctx, outputs.Filter{})
		if err != nil {
			return "", err
		}
		for _, m := range all {
			if strings.HasPrefix(m.SessionID, id) {
				found = append(found, m.SessionID)
			}
		}
	}
	return onlyOne(id, found)
}

// maxAlike is how many sessions are counted whose ids begin alike.
const maxAlike = 100

// onlyOne returns the one session that was found for the beginning of an id.
func onlyOne(id string, found []string) (string, error) {
	switch {
	case id == "" || len(found) == 0:
		return "", fmt.Errorf("session %.64q: %w", id, troupe.ErrNotFound)
	case len(found) > 1:
		return "", fmt.Errorf("session %.64q: %d sessions begin like this", id, len(found))
	}
	return found[0], nil
}

// parseTime reads how long ago, or when.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("%s: %.40q is neither a duration such as 2h nor a date such as 2026-01-31", flag, text)
}

// standing says how the latest run of a session stands, and what cut its answer short.
func standing(m *outputs.Manifest) string {
	if isCutByFork(m) {
		return "not finished (forked)"
	}
	why := cmp.Or(strings.ReplaceAll(m.Execution.Stop, "_", " "), outcomes[m.Execution.Outcome])
	if why == "" {
		return m.Execution.Status
	}
	return m.Execution.Status + " (" + terminal.OneLine(why, 20) + ")"
}

// isCutByFork reports whether a session has gone no further than what it has from another, in
// the middle of a run: that is on record as cancelled, though nobody may have stopped it.
func isCutByFork(m *outputs.Manifest) bool {
	return m.Execution.Status == "cancelled" && m.Execution.Forked
}

// outcomes is what is said of work that is not done, where the run's end does not say why.
var outcomes = map[string]string{"partial": "partly done", "failed": "not done"}

func (p *program) listSessions(found []outputs.Manifest) error {
	if p.flags.json {
		return p.writeJSON(listOf(found))
	}
	if len(found) == 0 {
		p.tell("There are no sessions.")
		return nil
	}
	table := p.table()
	for _, m := range found {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.SessionID[:min(8, len(m.SessionID))],
			m.Execution.StartedAt.Local().Format("2006-01-02 15:04"), terminal.OneLine(m.Agent.Name, 30), terminal.OneLine(m.Workflow.Name, 30),
			standing(&m), words.Counted(len(m.Outputs), "file"), terminal.OneLine(m.UserSummary, 40))
	}
	return table.Flush()
}

func (p *program) showSession(ctx context.Context, project *project.Project, id string) error {
	m, err := session(ctx, project, id)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(m)
	}
	status := m.Execution.Status
	if isCutByFork(&m) {
		status = fmt.Sprintf("not finished; to go on with it: troupe sessions resume %s", m.SessionID[:min(8, len(m.SessionID))])
	} else if stop := m.Execution.Stop; stop != "" {
		status += ", not finished: " + terminal.OneLine(terminal.Unfinished(stop), 300)
	} else if outcome := outcomes[m.Execution.Outcome]; outcome != "" {
		status += ", " + outcome
	}
	fmt.Fprintf(p.out, "session   %s\ntitle     %s\nagent     %s, %s (%s)\nworkflow  %s\nstatus    %s\nstarted   %s\nmessages  %d\n", m.SessionID,
		terminal.OneLine(m.UserSummary, 80), terminal.OneLine(m.Agent.Name, 60), terminal.OneLine(m.Agent.Title, 60), terminal.OneLine(m.Agent.Bundle, 60),
		terminal.OneLine(m.Workflow.Name, 60), status, m.Execution.StartedAt.Local().Format(time.DateTime), m.MessageCount)
	if err := p.withLog(ctx, project, m.SessionID, p.writeAnswering); err != nil {
		return err
	}
	for _, output := range m.Outputs {
		path := output.File
		if filepath.IsLocal(path) && !strings.HasPrefix(path, "{") {
			path = shown(project, filepath.Join(project.DataDir(), "agent-outputs", m.SessionID, path))
		}
		fmt.Fprintf(p.out, "file      %s\n", terminal.Clean(path))
	}
	return nil
}

// writeForked says which session another goes on from, and what a person has edited there.
func (p *program) writeForked(b *troupe.SessionForked) {
	if b == nil {
		return
	}
	fmt.Fprintf(p.out, "forked    from %s after event %d\n", b.From, b.After)
	if b.Input != nil {
		fmt.Fprintf(p.out, "edited    what %s is given, by %s: %s\n", terminal.OneLine(b.Agent, 60), terminal.OneLine(words.Person(b.User), 60), terminal.OneLine(b.Input.Prompt(), 300))
	}
}

// writeAnswering names the models that have answered in a session, the first one first, and
// says why its latest run failed, if it did.
func (p *program) writeAnswering(_ troupe.SessionInfo, events iter.Seq2[troupe.Event, error]) error {
	var names []string
	var failed *troupe.RunFailed
	var forked *troupe.SessionForked
	var meter terminal.Meter
	for e, err := range events {
		if err != nil {
			return err
		}
		meter.Note(&e)
		switch b := e.Body.(type) {
		case *troupe.ModelReplied:
			if name := words.ModelName(b.Provider, b.Model); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		case *troupe.RunFailed:
			if e.Parent == "" {
				failed = b
			}
		case *troupe.RunStarted, *troupe.RunResumed, *troupe.UserSaid:
			failed = nil
		case *troupe.SessionForked:
			forked = b
		}
	}
	p.writeForked(forked)
	if failed != nil {
		said := terminal.Failure(failed.Reason, failed.Error)
		fmt.Fprintf(p.out, "problem   %s\n", terminal.OneLine(said, 400))
		if said != failed.Error {
			fmt.Fprintf(p.out, "details   %s\n", terminal.OneLine(failed.Error, 400))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(p.out, "model     %s\n", terminal.OneLine(strings.Join(names, ", "), 200))
	}
	if used := meter.Usage.Total(); used > 0 {
		text := terminal.Count(used) + " tokens"
		if spent := terminal.Spent(meter.Cost, meter.Unpriced); spent != "" {
			text += ", " + spent
		}
		fmt.Fprintf(p.out, "used      %s\n", text)
	}
	return nil
}

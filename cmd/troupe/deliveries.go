package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) deliveriesCommand() *cobra.Command {
	c := &cobra.Command{Use: "deliveries", Short: "List, show, take, resume and drop deliveries, and edit their plans", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("deliveries: list, show, plan, diff, checks, apply, undo, drop, resume or clean?")
		}}
	c.AddCommand(p.listDeliveriesCommand(), p.showDeliveryCommand(), p.planCommand(), p.diffCommand(), p.checksCommand(), p.applyCommand(), p.undoCommand(), p.dropCommand(), p.resumeDeliveryCommand(), p.cleanCommand())
	return c
}

// withSite is a command about one delivery.
func (p *program) withSite(use, short string, act func(ctx context.Context, project *project.Project, site *pipeline.Site) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return p.inProject(func(project *project.Project) error {
			site, err := project.Site(args[0])
			if err != nil {
				return err
			}
			return act(c.Context(), project, site)
		})
	}}
}

func (p *program) listDeliveriesCommand() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List deliveries, the latest first", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		return p.inProject(func(project *project.Project) error {
			sites, err := project.Sites()
			if err != nil {
				return err
			}
			if len(sites) == 0 {
				if p.flags.json {
					return p.writeJSON([]string{})
				}
				p.tell("There are no deliveries yet.")
				return nil
			}
			s, err := openStage(c.Context(), project)
			if err != nil {
				return err
			}
			return p.listDeliveries(c.Context(), s, sites)
		})
	}}
}

// stateOf is what a delivery has come to, in a word.
func (s *stage) stateOf(ctx context.Context, site *pipeline.Site, summary *pipeline.Summary) string {
	if summary.Report != nil {
		return summary.Outcome
	}
	if summary.State == "running" { // by the log alone: the process may have been killed
		for info, err := range s.folders.Sessions(ctx, troupe.SessionFilter{ID: site.Session}) {
			if err == nil && info.Status == "interrupted" {
				return info.Status
			}
		}
	}
	return summary.State
}

// inTheProject says behind the state of a delivery how much of it was taken, where that is any.
func inTheProject(taken project.Taken) string {
	switch {
	case taken.More:
		return ", partly applied"
	case taken.Any:
		return ", applied"
	case len(taken.Elsewhere) > 0:
		return ", applied to " + strings.Join(taken.Elsewhere, " and ")
	}
	return ""
}

func (p *program) listDeliveries(ctx context.Context, s *stage, sites []*pipeline.Site) error {
	rows := []map[string]any{}
	table := p.table()
	for _, site := range sites {
		events, err := s.events(ctx, site.Session)
		isDeleted := errors.Is(err, troupe.ErrNotFound)
		if err != nil && !isDeleted {
			return err
		}
		summary := pipeline.Summarize(events)
		state, about := s.stateOf(ctx, site, &summary), terminal.OneLine(site.Request, 60)
		if isDeleted {
			left := s.project.Remains(ctx, site)
			if left == "" && !site.Deleted.IsZero() {
				continue // somebody has removed the last of it with git
			}
			state, about = "deleted", cmp.Or(left, about)
		}
		if !site.Own {
			state += inTheProject(s.project.TakenOf(ctx, site))
		}
		if !site.Dropped.IsZero() {
			state += ", dropped"
		}
		rows = append(rows, map[string]any{"id": site.ID, "session": site.Session, "state": state, "branch": site.Branch, "repo": site.Repo, "request": site.Request, "created": site.Created})
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", site.ID, state, site.Created.Local().Format("2006-01-02 15:04"), site.Branch, terminal.Clean(about))
	}
	if p.flags.json {
		return p.writeJSON(rows)
	}
	if len(rows) == 0 {
		p.tell("There are no deliveries yet.")
	}
	return table.Flush()
}

// logOf reads the events of a delivery, and says of one whose session was deleted what is
// left of it.
func (s *stage) logOf(ctx context.Context, site *pipeline.Site) ([]troupe.Event, error) {
	events, err := s.events(ctx, site.Session)
	if !errors.Is(err, troupe.ErrNotFound) {
		return events, err
	}
	if left := s.project.Remains(ctx, site); left != "" {
		return nil, fmt.Errorf("delivery %s was deleted; %s: 'deliveries apply %s' takes what is on the branch, and 'deliveries drop %s' removes it", site.ID, left, site.ID, site.ID)
	}
	return nil, fmt.Errorf("delivery %s was deleted", site.ID)
}

func (p *program) showDeliveryCommand() *cobra.Command {
	return p.withSite("show ID", "Show what a delivery has come to", func(ctx context.Context, project *project.Project, site *pipeline.Site) error {
		s, err := openStage(ctx, project)
		if err != nil {
			return err
		}
		events, err := s.logOf(ctx, site)
		if err != nil {
			return err
		}
		summary := pipeline.Summarize(events)
		if p.flags.json {
			return p.writeJSON(summary)
		}
		state, taken, shownAs := s.stateOf(ctx, site, &summary), project.TakenOf(ctx, site), ""
		if !site.Own {
			shownAs = inTheProject(taken)
		}
		fmt.Fprintf(p.out, "%s  %s%s\nbranch    %s from %s in %s\nworktree  %s\nfolder    %s\n", site.ID, state, shownAs, site.Branch, short(site.Base), site.Repo, site.Worktree, shown(project, project.SiteFolder(site)))
		fmt.Fprintf(p.out, "request   %s\n", terminal.OneLine(site.Request, 200))
		if plan, err := project.DeliveryPlan(site); err == nil {
			for _, step := range plan.Steps {
				fmt.Fprintf(p.out, "step %s  %-7s %s %s\n", step.ID, step.Status, short(step.Commit), terminal.OneLine(strings.TrimSuffix(step.Title+": "+step.Reason, ": "), 160))
			}
		}
		if !site.Dropped.IsZero() {
			fmt.Fprintf(p.out, "dropped   %s: the branch and the worktree are removed\n", site.Dropped.Local().Format("2006-01-02 15:04"))
			return nil
		}
		if state == "interrupted" {
			defer p.tell("It was interrupted. Go on: %s resume %s", p.deliveriesHere(), site.ID)
		}
		return p.writeDelivery(taken, &summary)
	})
}

func (p *program) planCommand() *cobra.Command {
	var edits bool
	c := p.withSite("plan ID", "Show a delivery's plan, or edit it; it is used as it is from the next step on", func(ctx context.Context, project *project.Project, site *pipeline.Site) error {
		file := filepath.Join(project.SiteFolder(site), pipeline.PlanFile)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delivery %s has no plan yet", site.ID)
		}
		if err != nil {
			return err
		}
		if edits {
			return p.editPlan(ctx, file, data)
		}
		if p.flags.json {
			plan, err := pipeline.ReadPlan(data)
			if err != nil {
				return err
			}
			return p.writeJSON(plan)
		}
		_, err = p.out.Write(data)
		return err
	})
	c.Flags().BoolVar(&edits, "edit", false, "open it in $VISUAL or $EDITOR, check it and say what changed")
	return c
}

// editPlan opens a plan in the person's editor. One that does not make sense is refused
// and the old one stays.
func (p *program) editPlan(ctx context.Context, file string, data []byte) error {
	editor := p.getenv("VISUAL")
	if editor == "" {
		editor = p.getenv("EDITOR")
	}
	if editor == "" {
		return usage("set EDITOR to the editor that plans are to be opened in, or edit %s", file)
	}
	draft, err := p.planDraft(file, data)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", draft)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.err, p.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("editor: %w", err)
	}
	edited, err := os.ReadFile(draft)
	if err != nil {
		return err
	}
	was, _ := pipeline.ReadPlan(data) // one that is broken may be mended
	now, err := pipeline.ReadPlan(edited)
	if err == nil {
		err = pipeline.KeepsDone(was, now)
	}
	if err != nil {
		return fmt.Errorf("%w; the plan is as it was, and 'plan --edit' opens your draft again: %s", err, draft)
	}
	lines := pipeline.ComparePlans(was, now)
	if len(lines) == 0 {
		p.tell("Nothing has changed.")
		return os.Remove(draft)
	}
	for _, line := range lines {
		fmt.Fprintln(p.out, terminal.Clean(line))
	}
	if err := os.WriteFile(draft, now.YAML(), 0o644); err != nil {
		return err
	}
	return os.Rename(draft, file)
}

// planDraft is the file that a plan is edited in: a copy of it, or what somebody began
// before, where nothing has become of the plan since.
func (p *program) planDraft(file string, data []byte) (string, error) {
	draft := strings.TrimSuffix(file, ".yaml") + "-draft.yaml"
	begun, err := os.Stat(draft)
	if err != nil {
		return draft, os.WriteFile(draft, data, 0o644)
	}
	if plan, err := os.Stat(file); err == nil && !plan.ModTime().After(begun.ModTime()) {
		p.tell("This is your draft, which could not be used as it was.")
		return draft, nil
	}
	old := strings.TrimSuffix(draft, ".yaml") + "-" + begun.ModTime().UTC().Format("20060102-150405") + ".yaml"
	p.tell("The plan has changed since your draft, which is now %s.", old)
	if err := os.Rename(draft, old); err != nil {
		return "", err
	}
	return draft, os.WriteFile(draft, data, 0o644)
}

func (p *program) diffCommand() *cobra.Command {
	var step string
	c := p.withSite("diff ID", "Show what a delivery changes, or one step of it", func(ctx context.Context, project *project.Project, site *pipeline.Site) error {
		text, err := project.DeliveryDiff(ctx, site, step)
		if err == nil {
			_, err = fmt.Fprint(p.out, text)
		}
		return err
	})
	c.Flags().StringVar(&step, "step", "", "the id of a step")
	return c
}

func (p *program) checksCommand() *cobra.Command {
	var name string
	c := p.withSite("checks ID", "List the checks of a delivery, or show the last output of one", func(_ context.Context, project *project.Project, site *pipeline.Site) error {
		if name != "" {
			data, err := project.CheckOutput(site, name)
			if err == nil {
				_, err = fmt.Fprint(p.out, data)
			}
			return err
		}
		for i := range site.Checks {
			fmt.Fprintf(p.out, "%s: %s\n", site.Checks[i].Name, site.Checks[i].Command())
		}
		return nil
	})
	c.Flags().StringVar(&name, "output", "", "the check whose last output is shown")
	return c
}

func (p *program) applyCommand() *cobra.Command {
	var squash, patch bool
	c := p.withSite("apply ID", "Merge a delivery's branch into what is checked out; nothing is done where that would conflict", func(ctx context.Context, project *project.Project, site *pipeline.Site) error {
		if patch {
			text, err := project.DeliveryDiff(ctx, site, "")
			if err == nil {
				_, err = fmt.Fprint(p.out, text)
			}
			return err
		}
		before, after, err := project.ApplyDelivery(ctx, site, squash)
		if err != nil {
			return err
		}
		done := map[string]any{"id": site.ID, "repo": site.Repo, "before": before, "after": after}
		if before == after {
			return p.report(done, "nothing to apply: all of %s was taken, or is in %s already, which is at %s", site.Branch, site.Repo, short(after))
		}
		return p.report(done, "applied: %s is now at %s", site.Repo, short(after))
	})
	c.Aliases = []string{"take"}
	c.Flags().BoolVar(&squash, "squash", false, "as one commit")
	c.Flags().BoolVar(&patch, "patch", false, "print a patch and change nothing")
	return c
}

func (p *program) undoCommand() *cobra.Command {
	return p.withSite("undo ID", "Revert what was applied of a delivery, by a commit; its branch stays", func(ctx context.Context, opened *project.Project, site *pipeline.Site) error {
		reverted, err := opened.RevertDelivery(ctx, site)
		if errors.Is(err, project.ErrNotTaken) || errors.Is(err, project.ErrTakenBack) {
			return fmt.Errorf("delivery %s: %w; nothing was done. To remove its branch and worktree for good: troupe deliveries drop %s", site.ID, err, site.ID)
		}
		if err != nil {
			return err
		}
		return p.report(map[string]any{"id": site.ID, "repo": site.Repo, "after": reverted}, "reverted by %s; what was built is still there", short(reverted))
	})
}

func (p *program) dropCommand() *cobra.Command {
	return p.withSite("drop ID", "Remove the branch and worktree of a delivery for good; nothing is done where it is applied", func(ctx context.Context, opened *project.Project, site *pipeline.Site) error {
		if err := opened.DropDelivery(ctx, site); err != nil {
			return err
		}
		s, err := openStage(ctx, opened)
		if err != nil {
			return err
		}
		log := ""
		if _, err := s.events(ctx, site.Session); err == nil {
			log = "; the session " + site.ID + " has the log"
		}
		return p.report(map[string]any{"id": site.ID, "repo": site.Repo, "branch": site.Branch}, "removed %s and its worktree%s", site.Branch, log)
	})
}

func (p *program) cleanCommand() *cobra.Command {
	return &cobra.Command{Use: "clean", Short: "Remove the worktrees of deliveries that nobody works in; branches and plans stay, and a worktree is made anew when it is needed", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inProject(func(project *project.Project) error {
				n, kept, err := project.CleanDeliveries(c.Context())
				if err != nil {
					return err
				}
				for _, why := range kept {
					p.tell("kept, %s", why)
				}
				return p.report(map[string]any{"removed": n, "kept": listOf(kept)}, "%s removed", words.Counted(n, "worktree"))
			})
		}}
}

func (p *program) resumeDeliveryCommand() *cobra.Command {
	var from, message string
	var budget float64
	c := p.withSite("resume ID", "Go on with a delivery: answer its question, continue after a stop, or carry out a changed plan", func(ctx context.Context, project *project.Project, site *pipeline.Site) error {
		s, err := openStage(ctx, project)
		if err != nil {
			return err
		}
		if budget < 0 {
			return usage("--budget: %v is no amount of US dollars", budget)
		}
		return p.resumeDelivery(ctx, s, site, from, message, budget)
	})
	c.Aliases = []string{"revise"}
	c.Flags().StringVar(&from, "from", "", "the phase to run again, with all that come after it")
	c.Flags().Float64Var(&budget, "budget", 0, "what it may cost from here on, in US dollars (default: as much again, where it is at its limit)")
	c.Flags().StringVarP(&message, "message", "m", "", "the answer to its question, guidance, or what else you want of a delivery that is done")
	return c
}

// endWaiting ends a run that waits for an answer.
func (p *program) endWaiting(ctx context.Context, s *stage, site *pipeline.Site) error {
	c, err := s.converse(ctx, project.Deliver, site.Session)
	if err != nil {
		return err
	}
	return c.follow(s.engine.Run(ctx, c.step, troupe.Input{Session: site.Session, Text: "stop"}), func(*troupe.Event) {})
}

// limitOf is the limit that the latest run of a delivery has ended with, empty where that is none, and
// what it might cost.
func limitOf(events []troupe.Event) (limit string, cost float64) {
	for i := range events {
		if events[i].Parent != "" {
			continue
		}
		switch b := events[i].Body.(type) {
		case *troupe.RunStarted:
			limit, cost = "", b.Limits.Cost
		case *troupe.RunResumed:
			limit = ""
		case *troupe.RunFailed:
			if problem.IsLimit(b.Reason) {
				limit = b.Reason
			}
		}
	}
	return limit, cost
}

func (p *program) resumeDelivery(ctx context.Context, s *stage, site *pipeline.Site, from, message string, budget float64) error {
	if !site.Dropped.IsZero() {
		return pipeline.ErrDropped
	}
	events, err := s.logOf(ctx, site)
	if err != nil {
		return err
	}
	summary := pipeline.Summarize(events)
	p.mention(ctx, s)
	if summary.State == "waiting" && from != "" {
		// The question is settled: what comes is run anew, not answered.
		if err := p.endWaiting(ctx, s, site); err != nil {
			return err
		}
	}
	limit, before := limitOf(events)
	if summary.State == "completed" || from != "" || limit != "" {
		step, input, err := s.project.ContinueDelivery(ctx, site, from, message)
		if err != nil {
			return err
		}
		if limit == "cost" {
			input.Limits.Cost = max(input.Limits.Cost, before)
		}
		input.Limits.Cost = cmp.Or(budget, input.Limits.Cost)
		if limit == "cost" && input.Limits.Cost > 0 { // else it is as much as the engine's limits say
			p.tell("It goes on, and may cost another $%v.", input.Limits.Cost)
		}
		c := &conversation{stage: s, step: step, session: site.Session}
		return p.followDelivery(ctx, c, s.run(ctx, step, input), false)
	}
	c, err := s.converse(ctx, project.Deliver, site.Session)
	if err != nil {
		return err
	}
	if budget > 0 {
		p.tell("--budget is not used: it goes on where it stands, with the one it has.")
	}
	switch {
	case summary.State == "waiting" && message == "":
		fmt.Fprintln(p.out, terminal.Clean(summary.Question))
		p.tell("To answer: troupe deliveries resume %s -m '...'", site.ID)
		return errInput
	case summary.State == "waiting":
		return p.followDelivery(ctx, c, s.run(ctx, c.step, troupe.Input{Session: site.Session, Text: message}), false)
	}
	if message != "" {
		p.tell("It goes on where it was stopped. What you said is not used: say it once it asks, or at its end.")
	}
	return p.followDelivery(ctx, c, s.engine.Resume(ctx, c.step, site.Session), false)
}

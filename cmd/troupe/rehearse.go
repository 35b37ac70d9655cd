package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/rehearse"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/suggest"
)

func (p *program) rehearseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rehearse [AGENT [COMMAND]]",
		Short: "Play commands with no model and report where they lead",
		Long: "Plays every command of every agent, or those named, with no model: questions get stand-in answers, and what is saved\n" +
			"is thrown away. Token counts are of the context at the start, of the context by the end, and of the context if all files\n" +
			"that the agent names were loaded at the start.",
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: p.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(project *project) error { return p.rehearse(c.Context(), project, args) })
		},
	}
}

// A scene is a command to be played.
type scene struct {
	agent   *bundle.Definition
	command bundle.Command
}

func (p *program) rehearse(ctx context.Context, project *project, args []string) error {
	scenes, failures, err := project.scenes(args)
	if err != nil {
		return err
	}
	theatre, err := rehearse.Open(project.catalog, project.dir, project.optionsOf)
	if err != nil {
		return err
	}
	reports := failures
	for _, s := range scenes {
		report, err := theatre.Play(ctx, s.agent, s.command)
		if err != nil {
			return errors.Join(err, theatre.Close())
		}
		reports = append(reports, report)
	}
	theatre.Settle(reports)
	if err := errors.Join(p.writeRehearsal(reports), theatre.Close()); err != nil {
		return err
	}
	for i := range reports {
		if reports[i].Result == rehearse.DeadEnd {
			return errFindings
		}
	}
	return nil
}

// scenes lists what is to be played. An agent that cannot be read is a dead end
// where all are to be played.
func (p *project) scenes(args []string) (scenes []scene, failures []rehearse.Report, err error) {
	if len(args) == 0 {
		definitions, findings := p.catalog.Definitions()
		for _, f := range findings {
			if f.Severity == bundle.Error {
				failures = append(failures, rehearse.Failed(f.File, &f))
			}
		}
		for _, d := range definitions {
			for _, c := range d.Commands {
				scenes = append(scenes, scene{d, c})
			}
		}
		return scenes, failures, nil
	}
	d, err := p.definition(args[0])
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, c := range d.Commands {
		names = append(names, c.Cmd)
		if len(args) == 1 || strings.TrimPrefix(args[1], "*") == strings.TrimPrefix(c.Cmd, "*") {
			scenes = append(scenes, scene{d, c})
		}
	}
	if len(scenes) == 0 && len(args) == 2 {
		hint := suggest.Hint("*"+strings.TrimPrefix(args[1], "*"), names)
		if hint == "" {
			hint = "; there are " + strings.Join(names, ", ")
		}
		return nil, nil, fmt.Errorf("agent %s has no command %.64q%s", d.ID, args[1], hint)
	}
	return scenes, nil, nil
}

func (p *program) writeRehearsal(reports []rehearse.Report) error {
	if p.flags.json {
		if reports == nil {
			reports = []rehearse.Report{}
		}
		return p.writeJSON(reports)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "AGENT\tCOMMAND\tSTEPS\tQUESTIONS\tREAD\tWRITTEN\tSTART\tEND\tUP FRONT\tRESULT")
	dead := 0
	for _, r := range reports {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", r.Agent, terminal.OneLine(r.Command, 40), r.Steps, r.Questions, len(r.Read), len(r.Written),
			terminal.Count(r.Tokens.Start), terminal.Count(r.Tokens.End), terminal.Count(r.Tokens.UpFront), strings.ReplaceAll(r.Result, "_", " "))
		if r.Result == rehearse.DeadEnd {
			dead++
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		for _, text := range r.DeadEnds {
			fmt.Fprintf(p.out, "dead end: %s %s: %s\n", r.Agent, r.Command, terminal.OneLine(text, 1000))
		}
	}
	for _, r := range reports {
		if r.Why != "" {
			fmt.Fprintf(p.out, "ended early: %s %s: %s\n", r.Agent, r.Command, terminal.OneLine(r.Why, 1000))
		}
	}
	for _, r := range reports {
		if len(r.Unreached) > 0 {
			fmt.Fprintf(p.out, "not reached: %s %s: %s\n", r.Agent, r.Command, terminal.OneLine(strings.Join(r.Unreached, ", "), 4000))
		}
	}
	p.tell("%s, %s", counted(len(reports), "command"), counted(dead, "dead end"))
	return nil
}

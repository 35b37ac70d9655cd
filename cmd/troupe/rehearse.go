package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/rehearse"
)

func (p *program) rehearseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rehearse [AGENT [COMMAND]]",
		Short: "Play commands with no model and report where they lead",
		Long: "Plays every command of every agent, or those named, with no model: questions get stand-in answers, and what is saved\n" +
			"is thrown away. Token counts are of the context at the start, of the context by the end, and of the context if all files\n" +
			"that the agent names were loaded at the start; of a single command, also what each file adds.",
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: p.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error { return p.rehearse(c.Context(), project, args) })
		},
	}
}

func (p *program) rehearse(ctx context.Context, project *project.Project, args []string) error {
	args = append(args, "", "") // all agents, all commands
	reports, err := project.Rehearse(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	if err := p.writeRehearsal(reports); err != nil {
		return err
	}
	for i := range reports {
		if reports[i].Result == rehearse.DeadEnd {
			return errFindings
		}
	}
	return nil
}

func (p *program) writeRehearsal(reports []rehearse.Report) error {
	if p.flags.json {
		return p.writeJSON(listOf(reports))
	}
	table := p.table()
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
	if len(reports) == 1 { // one command was asked for: step by step
		for _, f := range reports[0].Tokens.Files {
			fmt.Fprintf(p.out, "%8s tokens more, %s in all: %s\n", "+"+terminal.Count(f.Added), terminal.Count(f.Context), f.File)
		}
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
	p.tell("%s, %s", words.Counted(len(reports), "command"), words.Counted(dead, "dead end"))
	return nil
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle/lint"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [PATH]",
		Short: "Read all agents, workflows and skills below a directory and report what is wrong",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := p.flags.dir
			if len(args) == 1 {
				path = within(path, args[0])
			}
			report, err := project.Lint(path, p.lookup)
			if err != nil {
				return err
			}
			return p.writeLint(report)
		},
	}
}

func (p *program) writeLint(report *lint.Report) error {
	if p.flags.json {
		if err := p.writeJSON(report); err != nil {
			return err
		}
	} else {
		for _, f := range report.Findings {
			fmt.Fprintln(p.out, terminal.Clean(fmt.Sprintf("%s:%d: %s: %s [%s]", f.File, f.Line, f.Severity, f.Message, f.Code)))
		}
		p.tell("%s, %s, %s, %s: %s, %s", words.Counted(report.Agents, "agent"), words.Counted(report.Workflows, "workflow"), words.Counted(report.Tasks, "task"),
			words.Counted(report.Skills, "skill"), words.Counted(report.Errors(), "error"), words.Counted(len(report.Findings)-report.Errors(), "warning"))
	}
	if report.Errors() > 0 {
		return errFindings
	}
	return nil
}

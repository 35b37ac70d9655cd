package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
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
			report, err := p.lint(path)
			if err != nil {
				return err
			}
			return p.writeLint(report)
		},
	}
}

// lint reports on a path, and on the configuration where there is one.
func (p *program) lint(path string) (*bundle.Report, error) {
	var options bundle.LintOptions
	var problems config.Problems
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		c, err := config.Load(path, p.lookup)
		if known, ok := errors.AsType[config.Problems](err); ok {
			problems = known
		} else if err != nil {
			return nil, err
		} else {
			options.Config = bundle.Config{Core: c.Core, Bundles: c.Bundles}
		}
	}
	report, err := bundle.Lint(path, options)
	if err != nil {
		return nil, err
	}
	for _, problem := range problems {
		report.Findings = append(report.Findings, bundle.Finding{
			Severity: bundle.Error, Code: "invalid-config", File: filepath.Base(problem.File), Line: max(1, problem.Line), Message: problem.Message,
		})
	}
	return report, nil
}

func (p *program) writeLint(report *bundle.Report) error {
	if p.flags.json {
		if err := p.writeJSON(report); err != nil {
			return err
		}
	} else {
		for _, f := range report.Findings {
			fmt.Fprintln(p.out, terminal.Clean(fmt.Sprintf("%s:%d: %s: %s [%s]", f.File, f.Line, f.Severity, f.Message, f.Code)))
		}
		p.tell("%s, %s, %s, %s: %s, %s", counted(report.Agents, "agent"), counted(report.Workflows, "workflow"), counted(report.Tasks, "task"),
			counted(report.Skills, "skill"), counted(report.Errors(), "error"), counted(len(report.Findings)-report.Errors(), "warning"))
	}
	if report.Errors() > 0 {
		return errFindings
	}
	return nil
}

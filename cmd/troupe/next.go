package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) nextCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "next",
		Short: "Show what BMAD would do next in the project",
		Long:  "Shows the tasks of the installed BMAD by phase, which documents of them there are, and the next one that is required.",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.inProject(p.showNext) },
	}
}

func (p *program) showNext(project *project.Project) error {
	tasks, err := project.Tasks()
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(listOf(tasks))
	}
	if len(tasks) == 0 {
		p.tell("There is no catalogue of tasks here: BMAD has one from version 6.0 on.")
		return nil
	}
	table := p.table()
	next := ""
	for _, t := range tasks {
		mark := ""
		if t.Required {
			mark = "required"
		}
		if t.Required && len(t.Found) == 0 && next == "" && t.Phase != "anytime" {
			next = strings.TrimSpace(t.Code + " " + t.Name)
		}
		found := ""
		if len(t.Found) > 0 {
			found = terminal.OneLine(strings.TrimPrefix(t.Found[0], "{project-root}/"), 60)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", t.Phase, t.Code, terminal.OneLine(t.Name, 40), mark, found)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if next != "" {
		p.tell("Next that is required: %s. A document that is there shows that a task was begun, not that it is done.", terminal.OneLine(next, 60))
	}
	return nil
}

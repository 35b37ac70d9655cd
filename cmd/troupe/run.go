package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) runCommand() *cobra.Command {
	var batch batchOptions
	var dry bool
	c := &cobra.Command{
		Use:   "run FLOW_OR_AGENT TASK...",
		Short: "Run a flow or an agent on a task, or on many",
		Long: "Runs a flow of troupe.yaml, or one agent, on a task. With --each it does so for every line of a file of JSON\n" +
			"texts or objects, and when run again goes on where it stopped.",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completeRunnable,
		RunE: func(c *cobra.Command, args []string) error {
			task := strings.TrimSpace(strings.Join(args[1:], " "))
			switch {
			case dry:
				return p.inProject(func(project *project.Project) error { return p.drawPlan(project, args[0]) })
			case batch.file != "" && task != "":
				return usage("with --each the tasks come from the file")
			case batch.file != "":
				return p.onStage(c.Context(), args, func(s *stage, name string) error {
					return p.runEach(c.Context(), s, name, batch)
				})
			case task == "":
				return usage("the task is empty")
			}
			return p.onStage(c.Context(), args, func(s *stage, name string) error {
				return p.chat(c.Context(), s, name, chatOptions{messages: []string{task}, prompts: true})
			})
		},
	}
	c.Flags().BoolVar(&dry, "dry", false, "print the plan as a tree and run nothing")
	c.Flags().StringVar(&batch.file, "each", "", "run once for each line of this file; - is standard input")
	c.Flags().StringVar(&batch.name, "batch", "", "the name under which --each remembers what is done (default: the file's name)")
	p.attachFlag(c)
	c.Flags().IntVar(&batch.atOnce, "at-once", 4, "how many inputs of --each are worked on at the same time")
	return c
}

// drawPlan shows what a run would run.
func (p *program) drawPlan(project *project.Project, id string) error {
	plan, err := project.Plan(id)
	if err != nil {
		return err
	}
	fmt.Fprint(p.out, terminal.Clean(plan))
	return nil
}

// completeRunnable offers flows and agents to a shell.
func (p *program) completeRunnable(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, directive := p.completeAgents(c, args, toComplete)
	if len(args) > 0 {
		return found, directive
	}
	_ = p.inProject(func(project *project.Project) error { // a shell has no use for the error
		for _, flow := range project.Flows() {
			found = append(found, cobra.CompletionWithDesc(flow.Name, flow.Description))
		}
		return nil
	})
	return found, directive
}

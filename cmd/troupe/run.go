package main

import (
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "run AGENT TASK...",
		Short:             "Run one agent on a task",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: p.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			task := strings.TrimSpace(strings.Join(args[1:], " "))
			if task == "" {
				return usage("the task is empty")
			}
			return p.onStage(c.Context(), args, func(s *stage, agent string) error {
				return p.chat(c.Context(), s, agent, "", []string{task})
			})
		},
	}
}

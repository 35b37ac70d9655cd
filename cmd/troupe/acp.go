package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/acp"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) acpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "acp [AGENT]",
		Short: "Talk with an agent in an editor, by the Agent Client Protocol",
		Long: "Is started by editors that speak the Agent Client Protocol, such as Zed, JetBrains or Neovim, and talks with them on\n" +
			"standard input and output. The directory that the editor has open is the project, unless -C names another. AGENT is\n" +
			"whom a conversation begins with; the others can be chosen in the editor.",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completeRunnable,
		RunE: func(c *cobra.Command, args []string) error {
			config := acp.Config{Version: buildVersion().Version, Open: func(dir string) (*project.Project, error) {
				if c.Flags().Changed("dir") {
					dir = p.flags.dir
				}
				options := p.options()
				options.InPlace = true
				return project.Open(dir, options)
			}}
			if len(args) > 0 {
				config.Agent = args[0]
			}
			if console := p.console(slog.LevelWarn); console != nil {
				config.Log = slog.New(console)
			}
			return acp.Serve(c.Context(), config, p.in, p.out)
		},
	}
}

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List models with window, price and abilities, and which are in use",
		Long: "Without an argument, lists the models that the project uses and the providers that there are. " +
			"With one, lists that provider's models: those that the server has, where it runs on your own machine, and else those that are known.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error {
				if len(args) == 1 {
					list, err := project.ModelsOf(c.Context(), args[0])
					if err != nil {
						return err
					}
					return p.writeModels(list)
				}
				return p.writeProviders(c.Context(), project)
			})
		},
	}
}

func (p *program) writeProviders(ctx context.Context, opened *project.Project) error {
	used, sources := opened.Models(ctx), opened.Providers()
	if p.flags.json {
		return p.writeJSON(struct {
			InUse     []project.Model    `json:"in_use"`
			Providers []project.Provider `json:"providers"`
		}{used, sources})
	}
	if err := p.writeModels(used); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	table := p.table()
	fmt.Fprintln(table, "PROVIDER\tNAME\tMODELS\tSTATE")
	for _, s := range sources {
		state := "set up"
		switch {
		case s.Needs != "":
			state = "set " + s.Needs
		case !s.IsSetUp:
			state = "runs on your own machine"
		}
		known := ""
		if s.Models > 0 {
			known = strconv.Itoa(s.Models)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Name, s.Title, known, state)
	}
	return table.Flush()
}

func (p *program) writeModels(list []project.Model) error {
	if p.flags.json {
		return p.writeJSON(struct {
			Models []project.Model `json:"models"`
		}{list})
	}
	table := p.table()
	fmt.Fprintln(table, "MODEL\tWINDOW\tIN\tOUT\tCAN\tUSE")
	for _, l := range list {
		if l.Problem != "" {
			fmt.Fprintf(table, "%s\t\t\t\t\t%s: %s\n", terminal.Clean(l.Ref), l.Use, terminal.Clean(l.Problem))
			continue
		}
		window := "?"
		if l.Window > 0 {
			window = terminal.Count(l.Window)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Clean(l.Ref), window, priced(l.In, l.Price.Free), priced(l.Out, l.Price.Free), can(l), l.Use)
	}
	return table.Flush()
}

// can says what a model can do, as far as anybody knows.
func can(m project.Model) string {
	if len(m.Can) == 0 && m.Ref != rehearsal.Name {
		return "?"
	}
	return strings.Join(m.Can, " ")
}

// priced is a price per million tokens.
func priced(price *float64, free bool) string {
	switch {
	case free:
		return "free"
	case price == nil:
		return "?"
	}
	return words.Dollars(*price)
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle/sprint"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) storiesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stories",
		Short: "Show where the epics and stories of the project stand",
		Long: "Reads the sprint files and stories in the project's document folders, in whatever words and languages they are kept,\n" +
			"and changes nothing.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.inProject(p.showStories) },
	}
}

func (p *program) showStories(project *project.Project) error {
	board, err := project.Stories()
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(board)
	}
	if len(board.Items) == 0 {
		p.tell("There are no stories here, and no sprint file.")
		return nil
	}
	table := p.table()
	for _, item := range board.Items {
		name := item.Key
		if item.Kind == "story" {
			name = "  " + name
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", terminal.OneLine(name, 70), terminal.OneLine(state(item), 40), terminal.OneLine(item.Document, 90))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, note := range board.Notes {
		fmt.Fprintln(p.out, "note: "+terminal.OneLine(note, 300))
	}
	count := board.Count()
	var parts []string
	for _, phase := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[phase], terminal.OneLine(phase, 40)))
	}
	next := ""
	if item := board.Next(); item != nil {
		next = "; next: " + terminal.OneLine(item.Key, 70)
	}
	p.tell("Stories: %s%s", strings.Join(parts, ", "), next)
	return nil
}

// state is what is written, with what it means where that is another word.
func state(item sprint.Item) string {
	plain := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(item.State))
	if item.Phase == sprint.Unknown || strings.HasPrefix(plain, string(item.Phase)) {
		return item.State
	}
	return item.State + " (" + string(item.Phase) + ")"
}

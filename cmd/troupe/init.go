package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write what a project begins with: a configuration, and agents where there are none",
		Long: "Writes a small project into DIR, or into the project's directory: a configuration, two agents with a workflow, a\n" +
			"skill. Where there is a BMAD tree, it writes only the configuration for it: documents in place, and leave to read\n" +
			"the project. A file that is there already is left alone.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := p.flags.dir
			if len(args) == 1 {
				dir = within(dir, args[0])
			}
			return p.writeProject(c.Context(), dir)
		},
	}
}

func (p *program) writeProject(ctx context.Context, dir string) error {
	made, kept, err := project.Init(dir)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(struct {
			Dir  string   `json:"dir"`
			Made []string `json:"made"`
			Kept []string `json:"kept"`
		}{filepath.ToSlash(dir), made, kept})
	}
	for _, name := range made {
		fmt.Fprintln(p.out, filepath.Join(dir, filepath.FromSlash(name)))
	}
	if n := len(kept); n > 0 {
		p.tell("%s there already, left alone.", words.Counted(n, "file"))
	}
	at := ""
	if dir != "." {
		at = " -C " + dir
	}
	opened, err := project.Open(dir, p.options())
	if err != nil {
		return err
	}
	defer opened.Close()
	if opened.IsInstalled() {
		p.tellInstalled(opened, at)
		return nil
	}
	p.tell("\nTry:\n  troupe%s agents                 who is there\n  troupe%s rehearse               play every command, with no model\n  troupe%s chat mira              talk to Mira; *decide begins her workflow\n  troupe%s serve                  the page, for the browser\n\n%s", at, at, at, at, modelFound(ctx, opened))
	return nil
}

// modelFound says which model agents will use and why, or how to choose one.
func modelFound(ctx context.Context, opened *project.Project) string {
	if ref, from := opened.Model(""); from != "" {
		return fmt.Sprintf("Agents use %s, because of %s. With --model rehearsal none of this needs a model.", ref, from)
	}
	return "No model is needed for any of this. To use one, " + opened.HowToChooseAModel(ctx) + "."
}

// tellInstalled says what the configuration of a BMAD tree grants, and what to do next.
func (p *program) tellInstalled(opened *project.Project, at string) {
	p.tell("")
	for _, grant := range opened.Grants() {
		p.tell("%s", grant)
	}
	p.tell("%s says so; change it there.", project.Name)
	first := "AGENT"
	if agent, ok := firstAgent(opened.Agents()); ok {
		first = agent.ID
	}
	p.tell("\nTry:\n  troupe%s agents                 who is there\n  troupe%s chat %s\n  troupe%s lint                   what is wrong with the bundle\n  troupe%s serve                  the page, for the browser", at, at, first, at, at)
}

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/project"
)

func (p *program) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a small project: configuration, two agents with a workflow, a skill",
		Long:  "Writes a small project into DIR, or into the project's directory. A file that is there already is left alone.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := p.flags.dir
			if len(args) == 1 {
				dir = within(dir, args[0])
			}
			return p.writeProject(dir)
		},
	}
}

func (p *program) writeProject(dir string) error {
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
		p.tell("%s there already, left alone.", counted(n, "file"))
	}
	at := ""
	if dir != "." {
		at = " -C " + dir
	}
	p.tell("\nTry:\n  troupe%s agents                 who is there\n  troupe%s rehearse               play every command, with no model\n  troupe%s chat mira              talk to Mira; *decide begins her workflow\n\nNo model is needed for any of this. To use one, set OPENAI_API_KEY, or model in troupe.yaml.", at, at, at)
	return nil
}

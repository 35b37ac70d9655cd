package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/skill"
)

func (p *program) skillsCommand() *cobra.Command {
	skills := &cobra.Command{Use: "skills", Short: "List, show, search and write skills", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage("skills: list, show, search or new?") }}
	var category string
	list := &cobra.Command{Use: "list", Short: "List the skills of the project", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return p.inProject(func(project *project.Project) error {
				for _, f := range project.Skills().Findings() {
					p.tell("%s", terminal.Clean(fmt.Sprintf("%s:%d: %s", shown(project, f.File), f.Line, f.Message)))
				}
				return p.listSkills(project.Skills().Search("", category))
			})
		}}
	search := &cobra.Command{Use: "search WORDS...", Short: "Find skills by name, description and category", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error {
				return p.listSkills(project.Skills().Search(strings.Join(args, " "), category))
			})
		}}
	for _, c := range []*cobra.Command{list, search} {
		c.Flags().StringVar(&category, "category", "", "only skills of this category")
	}
	show := &cobra.Command{Use: "show NAME", Short: "Print a skill as agents get it", Args: cobra.ExactArgs(1),
		ValidArgsFunction: p.completeSkills,
		RunE: func(c *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error {
				doc, err := project.Skills().Load(c.Context(), args[0])
				if errors.Is(err, skill.ErrNotFound) {
					return fmt.Errorf("%w%s", err, suggest.Hint(args[0], skillNames(project)))
				}
				if err != nil {
					return err
				}
				if p.flags.json {
					return p.writeJSON(doc)
				}
				fmt.Fprintln(p.out, terminal.Clean(doc.Content))
				for _, resource := range doc.Resources {
					p.tell("%s", terminal.Clean(resource))
				}
				return nil
			})
		}}
	skills.AddCommand(list, search, show, p.newSkillCommand())
	return skills
}

func (p *program) newSkillCommand() *cobra.Command {
	var draft skill.Draft
	c := &cobra.Command{Use: "new NAME", Short: "Write the scaffold of a skill", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.inProject(func(opened *project.Project) error {
				dirs := opened.SkillDirs()
				if len(dirs) == 0 {
					return usage("skills in %s names no directory", project.Name)
				}
				draft.Name = args[0]
				file, err := skill.New(within(opened.Dir(), dirs[0]), draft)
				if err != nil {
					return err
				}
				fmt.Fprintln(p.out, filepath.Join(dirs[0], filepath.FromSlash(file)))
				return nil
			})
		}}
	c.Flags().StringVar(&draft.Description, "description", "", "what the skill does and when to use it")
	c.Flags().StringVar(&draft.Category, "category", "", "its category")
	return c
}

func (p *program) listSkills(list []skill.Skill) error {
	if p.flags.json {
		return p.writeJSON(listOf(list))
	}
	if len(list) == 0 {
		p.tell("There are no such skills. 'troupe skills new NAME' writes one to begin with.")
		return nil
	}
	table := p.table()
	for _, s := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\n", terminal.OneLine(s.Name, 64), terminal.OneLine(s.Category, 30), terminal.OneLine(s.Description, 100))
	}
	return table.Flush()
}

func skillNames(p *project.Project) []string {
	var names []string
	for _, s := range p.Skills().List() {
		names = append(names, s.Name)
	}
	return names
}

// completeSkills offers the names of skills to a shell.
func (p *program) completeSkills(_ *cobra.Command, args []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = p.inProject(func(project *project.Project) error { // a shell has no use for the error
		for _, s := range project.Skills().List() {
			if len(args) == 0 {
				found = append(found, cobra.CompletionWithDesc(s.Name, terminal.OneLine(s.Description, 60)))
			}
		}
		return nil
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

func (p *program) agentsCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "agents",
		Short: "List the agents of the project",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.inProject(p.listAgents) },
	}
	var withPrompt bool
	show := &cobra.Command{
		Use:               "show ID",
		Short:             "Show one agent",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.inProject(func(project *project.Project) error {
				if withPrompt {
					return p.showPrompt(project, args[0])
				}
				return p.showAgent(project, args[0])
			})
		},
	}
	show.Flags().BoolVar(&withPrompt, "prompt", false, "what its model is told before the user speaks, with tokens per part")
	list.AddCommand(show)
	return list
}

func (p *program) listAgents(project *project.Project) error {
	list := project.Agents()
	for _, f := range project.Catalog().Findings() {
		if f.Severity == bundle.Error || f.Code == bundle.CodeLink {
			p.tell("%s", terminal.Clean(f.Error()))
		}
	}
	if p.flags.json {
		return p.writeJSON(listOf(list))
	}
	if len(list) == 0 {
		p.tell("There are no agents here. 'troupe init' writes some to begin with.")
		return nil
	}
	table := p.table()
	for _, a := range list {
		about := terminal.OneLine(a.Description, 80)
		if a.Broken != "" {
			about = "cannot start: " + terminal.OneLine(a.Broken, 400)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.ID, cmp.Or(a.Bundle, a.Path), terminal.OneLine(calledAndDoing(a.Name, a.Title), 48), about)
	}
	return table.Flush()
}

// calledAndDoing is who an agent is in one line: "Mira, Decision guide".
func calledAndDoing(name, title string) string {
	if name == "" || title == "" || strings.Contains(title, name) {
		return cmp.Or(title, name)
	}
	return name + ", " + title
}

func (p *program) showAgent(project *project.Project, id string) error {
	if instructions, ok := project.Instructions(id); ok {
		return p.showPlainAgent(agentNamed(project, id), instructions, project.ToolNames(id))
	}
	d, err := project.Definition(id)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(agentNamed(project, d.ID))
	}
	fmt.Fprintf(p.out, "%s\n%s (%s), %s\n", titleOf(d), d.ID, d.Bundle, d.File)
	for _, text := range []string{d.Description, d.Persona.Role, d.Persona.Identity} {
		if text != "" {
			fmt.Fprintf(p.out, "\n%s\n", terminal.Clean(text))
		}
	}
	for i, o := range d.Overrides {
		if i == 0 {
			fmt.Fprintln(p.out)
		}
		fmt.Fprintf(p.out, "%s overrides %s\n", o.File, cmp.Or(terminal.OneLine(strings.Join(o.Changed, ", "), 300), "nothing"))
	}
	if info := agentNamed(project, d.ID); info.Broken != "" {
		fmt.Fprintf(p.out, "\nIt cannot start: %s\n", terminal.Clean(info.Broken))
	}
	fmt.Fprintln(p.out)
	table := p.table()
	for _, c := range d.Commands {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Cmd, c.Kind, terminal.OneLine(c.Description, 100))
	}
	return table.Flush()
}

// agentNamed is an agent as it is listed.
func agentNamed(project *project.Project, id string) server.Agent {
	list := project.Agents()
	if i := slices.IndexFunc(list, func(a server.Agent) bool { return a.ID == id }); i >= 0 {
		return list[i]
	}
	return server.Agent{ID: id}
}

// showPlainAgent shows an agent that is described in troupe.yaml alone.
func (p *program) showPlainAgent(info server.Agent, instructions string, tools []string) error {
	if p.flags.json {
		return p.writeJSON(info)
	}
	fmt.Fprintf(p.out, "%s\n%s\n", info.ID, info.Path)
	for _, text := range []string{info.Description, instructions} {
		if text != "" {
			fmt.Fprintf(p.out, "\n%s\n", terminal.Clean(strings.TrimSpace(text)))
		}
	}
	if len(tools) > 0 {
		fmt.Fprintf(p.out, "\nTools: %s\n", terminal.OneLine(strings.Join(tools, ", "), 300))
	}
	return nil
}

// titleOf is an agent with its icon and name.
func titleOf(d *bundle.Definition) string {
	title := strings.TrimSpace(d.Icon + " " + d.Name)
	if d.Title != "" {
		title += ", " + d.Title
	}
	return terminal.OneLine(title, 200)
}

// A promptInfo is all that a model is told before the user speaks.
type promptInfo struct {
	Agent  string     `json:"agent"`
	Tokens int        `json:"tokens"`
	Parts  []partInfo `json:"parts"`
}

type partInfo struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
}

func (i *promptInfo) add(part partInfo) {
	i.Tokens += part.Tokens
	i.Parts = append(i.Parts, part)
}

func (p *program) showPrompt(opened *project.Project, id string) error {
	if _, ok := opened.Instructions(id); ok {
		return usage("agent %s has no bundle: its instructions are in %s", id, project.Name)
	}
	d, err := opened.Definition(id)
	if err != nil {
		return err
	}
	parts, err := opened.Catalog().PromptWith(d.ID, opened.AgentOptions(d.ID))
	if err != nil {
		return err
	}
	specs, err := opened.Catalog().Tools(d.ID, opened.AgentOptions(d.ID))
	if err != nil {
		return err
	}
	info := promptInfo{Agent: d.ID}
	for _, part := range parts {
		info.add(partInfo{part.Name, part.Source, part.Tokens, part.Text})
	}
	for _, spec := range specs {
		text := strings.TrimSpace(spec.Description) + "\n" + string(spec.Input)
		info.add(partInfo{"tool", spec.Name, bundle.EstimateTokens(spec.Name + text), text})
	}
	if p.flags.json {
		return p.writeJSON(info)
	}
	for _, part := range info.Parts {
		name := strings.TrimSpace(part.Name + " " + part.Source)
		fmt.Fprintf(p.out, "--- %s (%s tokens)\n%s\n\n", name, terminal.Count(part.Tokens), terminal.Clean(strings.TrimSpace(part.Text)))
	}
	fmt.Fprintf(p.out, "--- in all: %s tokens, estimated\n", terminal.Count(info.Tokens))
	return nil
}

// completeAgents offers the ids of agents to a shell.
func (p *program) completeAgents(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = p.inProject(func(project *project.Project) error { // a shell has no use for the error
		for _, a := range project.Agents() {
			found = append(found, cobra.CompletionWithDesc(a.ID, terminal.OneLine(cmp.Or(a.Title, a.Description), 60)))
		}
		return nil
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

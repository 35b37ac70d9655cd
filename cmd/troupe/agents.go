package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/suggest"
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
			return p.inProject(func(project *project) error {
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

// inProject opens the project for as long as f takes.
func (p *program) inProject(f func(*project) error) error {
	project, err := p.openProject()
	if err != nil {
		return err
	}
	return errors.Join(f(project), project.close())
}

// An agentInfo is how an agent is listed.
type agentInfo struct {
	Bundle      string        `json:"bundle"`
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Title       string        `json:"title"`
	Icon        string        `json:"icon"`
	Description string        `json:"description"`
	EntryPoint  bool          `json:"entry_point"`
	Format      string        `json:"format"`
	Path        string        `json:"path"`
	Commands    []commandInfo `json:"commands"`
}

type commandInfo struct {
	Cmd         string `json:"cmd"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Target      string `json:"target"`
}

func infoOf(d *bundle.Definition) agentInfo {
	info := agentInfo{
		Bundle: d.Bundle, ID: d.ID, Name: d.Name, Title: d.Title, Icon: d.Icon, Description: d.Description,
		EntryPoint: d.EntryPoint, Format: string(d.Format), Path: d.File, Commands: []commandInfo{},
	}
	for _, c := range d.Commands {
		info.Commands = append(info.Commands, commandInfo{c.Cmd, c.Description, string(c.Kind), c.Target})
	}
	return info
}

func (p *program) listAgents(project *project) error {
	definitions, findings := project.catalog.Definitions()
	for _, f := range findings {
		if f.Severity == bundle.Error {
			p.tell("%s", terminal.Clean(f.Error()))
		}
	}
	list := []agentInfo{}
	for _, d := range definitions {
		list = append(list, infoOf(d))
	}
	for _, id := range project.agentIDs() {
		if project.isPlain(id) {
			list = append(list, project.plainInfo(id))
		}
	}
	if p.flags.json {
		return p.writeJSON(list)
	}
	if len(list) == 0 {
		p.tell("There are no agents here. 'troupe init' writes some to begin with.")
		return nil
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, a := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", a.ID, cmp.Or(a.Bundle, a.Path), terminal.OneLine(cmp.Or(a.Title, a.Name), 40), terminal.OneLine(a.Description, 80))
	}
	return table.Flush()
}

// plainInfo is how an agent is listed that is described in troupe.yaml alone.
func (p *project) plainInfo(id string) agentInfo {
	return agentInfo{
		ID: id, Name: id, Description: p.config.Agents[id].Description, EntryPoint: true,
		Format: "config", Path: config.Name, Commands: []commandInfo{},
	}
}

func (p *program) showAgent(project *project, id string) error {
	if project.isPlain(id) {
		return p.showPlainAgent(project, id)
	}
	d, err := project.definition(id)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(infoOf(d))
	}
	fmt.Fprintf(p.out, "%s\n%s (%s), %s\n", titleOf(d), d.ID, d.Bundle, d.File)
	for _, text := range []string{d.Description, d.Persona.Role, d.Persona.Identity} {
		if text != "" {
			fmt.Fprintf(p.out, "\n%s\n", terminal.Clean(text))
		}
	}
	fmt.Fprintln(p.out)
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, c := range d.Commands {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Cmd, c.Kind, terminal.OneLine(c.Description, 100))
	}
	return table.Flush()
}

func (p *program) showPlainAgent(project *project, id string) error {
	info := project.plainInfo(id)
	if p.flags.json {
		return p.writeJSON(info)
	}
	fmt.Fprintf(p.out, "%s\n%s\n", id, config.Name)
	for _, text := range []string{info.Description, project.config.Agents[id].Instructions} {
		if text != "" {
			fmt.Fprintf(p.out, "\n%s\n", terminal.Clean(strings.TrimSpace(text)))
		}
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

func (p *program) showPrompt(project *project, id string) error {
	if project.isPlain(id) {
		return usage("agent %s has no bundle: its instructions are in %s", id, config.Name)
	}
	d, err := project.definition(id)
	if err != nil {
		return err
	}
	parts, err := project.catalog.PromptWith(d.ID, project.optionsOf(d.ID))
	if err != nil {
		return err
	}
	specs, err := project.catalog.Tools(d.ID, project.optionsOf(d.ID))
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

// definition reads an agent. Whoever mistypes its name is told the one they meant.
func (p *project) definition(id string) (*bundle.Definition, error) {
	d, err := p.catalog.Definition(id)
	if !errors.Is(err, bundle.ErrNoAgent) {
		return d, err
	}
	ids := p.agentIDs()
	if name, ok := suggest.Closest(id, ids); ok {
		return nil, fmt.Errorf("agent %.64q: %w; did you mean %s?", id, bundle.ErrNoAgent, name)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("agent %.64q: %w: there are none in %s; 'troupe init' writes some to begin with", id, bundle.ErrNoAgent, p.dir)
	}
	return nil, err
}

// completeAgents offers the ids of agents to a shell.
func (p *program) completeAgents(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = p.inProject(func(project *project) error { // a shell has no use for the error
		for _, id := range project.agentIDs() {
			found = append(found, cobra.CompletionWithDesc(id, terminal.OneLine(project.describeAgent(id), 60)))
		}
		return nil
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

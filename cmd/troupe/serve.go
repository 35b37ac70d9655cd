package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/models"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/web"
	"github.com/troupe-dev/troupe/workspace"
)

// usualAddress is where the server listens where nobody says.
const usualAddress = "127.0.0.1:7717"

func (p *program) serveCommand() *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Offer the agents over HTTP, with a page and an OpenAI-compatible endpoint",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inProject(func(project *project) error { return p.serve(c.Context(), project, address) })
		},
	}
	c.Flags().StringVar(&address, "addr", "", "the address to listen on (default "+usualAddress+")")
	return c
}

func (p *program) serve(ctx context.Context, project *project, address string) error {
	metrics := observe.NewMetrics()
	project.sinks = append(project.sinks, metrics)
	s, err := project.openStage(ctx)
	if err != nil {
		return err
	}
	settings := newSettings(s, p.lookup)
	web, err := server.New(server.Config{
		Engine: s.engine, Store: s.folders, Cast: &cast{s, settings}, Folders: s.folders, Logs: s.searchLogs, Metrics: metrics,
		Users: project.users(), Operators: project.config.Server.Operators, Hosts: project.config.Server.Hosts, Page: web.Page(), Log: project.log,
		Dir: filepath.Join(project.dataDir(), "page"), Version: buildVersion().Version, Models: settings, Settings: settings,
		Skills: project.listSkills, Made: s.readMade,
	})
	if err != nil {
		return errors.Join(err, s.close())
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(address, project.config.Server.Addr, usualAddress))
	if err != nil {
		return errors.Join(fmt.Errorf("serve: %w", err), s.close())
	}
	link := "http://" + listener.Addr().String() + "/"
	if token := web.Token(); token != "" {
		link += "#token=" + token
	}
	p.tell("Open this link; it lets in whoever has it:")
	fmt.Fprintln(p.out, link)
	err = web.Serve(ctx, listener)
	return errors.Join(err, s.close())
}

// users are the tokens of the configuration, by user, from the environment.
func (p *project) users() map[string]string {
	users := map[string]string{}
	for name, variable := range p.config.Server.Users {
		users[name] = p.models.Getenv(variable)
	}
	return users
}

// listSkills lists the project's skills for the page.
func (p *project) listSkills(context.Context) ([]server.Skill, error) {
	var list []server.Skill
	for _, skill := range p.skills.List() {
		list = append(list, server.Skill{Name: skill.Name, Description: skill.Description, Category: skill.Category})
	}
	return list, nil
}

// readMade reads a file that a delivery has written into its output.
func (s *stage) readMade(ctx context.Context, session, name string) (string, error) {
	order, err := s.orderOf(ctx, session)
	if err != nil {
		return "", err
	}
	output, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: "output", Dir: within(s.project.dir, order.Out), Access: workspace.ReadOnly}}})
	if err != nil {
		return "", err
	}
	defer output.Close()
	place, err := output.Resolve("{output}/" + name)
	if err != nil {
		return "", err
	}
	return output.ReadFile(place)
}

// A cast is what the server can run, each agent with the model that the settings have
// for it.
type cast struct {
	stage    *stage
	settings *settings
}

// Agents implements [server.Cast].
func (c *cast) Agents() []server.Agent {
	p := c.stage.project
	definitions, _ := p.catalog.Definitions() // what is wrong with others, lint says
	var list []server.Agent
	for _, d := range definitions {
		list = append(list, served(infoOf(d)))
	}
	for _, id := range p.agentIDs() {
		if p.isPlain(id) {
			list = append(list, served(p.plainInfo(id)))
		}
	}
	for i := range list {
		list[i].Model = c.settings.choose(list[i].ID).Ref
	}
	return list
}

// served is an agent as the server lists it: as 'troupe agents' does.
func served(a agentInfo) server.Agent {
	agent := server.Agent{
		Bundle: a.Bundle, ID: a.ID, Name: a.Name, Title: a.Title, Icon: a.Icon, Description: a.Description,
		EntryPoint: a.EntryPoint, Format: a.Format, Path: a.Path, Commands: []server.Command{},
	}
	for _, command := range a.Commands {
		agent.Commands = append(agent.Commands, server.Command{Cmd: command.Cmd, Description: command.Description, Kind: command.Kind, Target: command.Target})
	}
	return agent
}

// Flows implements [server.Cast].
func (c *cast) Flows() []server.Flow {
	p := c.stage.project
	var list []server.Flow
	for _, name := range slices.Sorted(maps.Keys(p.config.Flows)) {
		nodes, edges := flowGraph(p.config.Flows, name)
		tree := p.maker(nil).Plan(name, func(string) string { return "" })
		list = append(list, server.Flow{Name: name, Description: p.config.Flows[name].Description, Tree: tree, Nodes: nodes, Edges: edges})
	}
	return list
}

// Step implements [server.Cast].
func (c *cast) Step(ctx context.Context, name string) (troupe.Step, error) {
	return c.stage.stepWith(ctx, name, c.settings.choose)
}

// stepWith makes the step of a name with a choice of models, for the server.
func (s *stage) stepWith(ctx context.Context, name string, choose func(id string) models.Choice) (troupe.Step, error) {
	player, err := s.findWith(ctx, name, "", choose)
	if errors.Is(err, bundle.ErrNoAgent) {
		return nil, fmt.Errorf("%.64q: %w", name, server.ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	return player.Step, nil
}

// searchLogs finds events for the server, as 'troupe logs' does.
func (s *stage) searchLogs(ctx context.Context, q server.LogQuery) iter.Seq2[server.LogHit, error] {
	query := sqlite.Query{
		Text: q.Text, Session: q.Session, Agent: q.Agent, Tool: q.Tool, Errors: q.Errors, Since: q.Since, Until: q.Until, Before: q.Before,
	}
	if level, err := parseLevel(q.Level); err == nil && q.Level != "" {
		query.Kinds, query.OrErrors = atLeast(level)
	}
	return func(yield func(server.LogHit, error) bool) {
		for hit, err := range s.store.Search(ctx, query) {
			if err == nil && hit.Err != nil {
				continue // what cannot be read is of no use to a page
			}
			if !yield(server.LogHit{Number: hit.Number, Event: hit.Event}, err) {
				return
			}
		}
	}
}

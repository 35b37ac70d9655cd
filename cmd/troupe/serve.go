package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store/sqlite"
	"github.com/troupe-dev/troupe/web"
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
	web, err := server.New(server.Config{
		Engine: s.engine, Store: s.folders, Cast: &cast{s}, Folders: s.folders, Logs: s.searchLogs, Metrics: metrics,
		Users: project.users(), Hosts: project.config.Server.Hosts, Page: web.Page(), Log: project.log,
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

// A cast is what the server can run.
type cast struct{ stage *stage }

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
		tree := p.maker(nil).Plan(name, func(string) string { return "" })
		list = append(list, server.Flow{Name: name, Description: p.config.Flows[name].Description, Tree: tree})
	}
	return list
}

// Step implements [server.Cast].
func (c *cast) Step(ctx context.Context, name string) (troupe.Step, error) {
	player, err := c.stage.find(ctx, name, "")
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

package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/server"
)

// Agents lists the agents as they are now: those of the bundles, then those of
// troupe.yaml. One that cannot start says why.
func (p *Project) Agents() []server.Agent {
	catalog := p.look()
	titles := map[string]string{}
	for _, b := range catalog.Bundles() {
		titles[b.Name] = b.Description
	}
	var list []server.Agent
	for _, found := range catalog.List(p.optionsOf) {
		agent := p.listedAgent(catalog, &found)
		agent.BundleTitle = titles[agent.Bundle]
		list = append(list, agent)
	}
	for _, id := range p.agentIDs() {
		if p.isPlain(id) {
			list = append(list, p.plainInfo(id))
		}
	}
	s := &stage{project: p}
	for i := range list {
		if list[i].Broken == "" && len(p.config.Agents[list[i].ID].Tools) > 0 {
			if err := s.examineTools(list[i].ID); err != nil {
				list[i].Broken = err.Error()
			}
		}
	}
	return list
}

// listedAgent is how an agent of a bundle is listed.
func (p *Project) listedAgent(catalog *bundle.Catalog, found *bundle.Listed) server.Agent {
	info := server.Agent{
		Bundle: found.Bundle, ID: found.ID, Name: cmp.Or(found.Name, found.ID), Title: found.Title, Icon: found.Icon, Description: found.Description,
		EntryPoint: found.EntryPoint, Path: found.File, Commands: []server.Command{},
	}
	if found.Broken != nil {
		info.Broken = found.Broken.Error()
		if failure, ok := errors.AsType[*bundle.CriticalError](found.Broken); ok && failure.Missing != "" {
			info.Lacks = path.Base(failure.Missing)
		}
	}
	d := found.Definition
	if d == nil {
		return info
	}
	info.Format = string(d.Format)
	if info.Description == "" || info.Description == info.Title {
		info.About = firstSentence(d.Persona.Identity)
	}
	_, info.Greets = d.Opening()
	for _, c := range d.Commands {
		info.Commands = append(info.Commands, server.Command{
			Cmd: c.Cmd, Description: c.Description, Kind: string(c.Kind), Target: c.Target,
			Label: c.Label, Synonyms: synonyms(&c), Group: c.Group, Hidden: c.IsHelp() || c.IsExit(),
		})
	}
	info.Tools = p.config.Agent(found.ID).Tools
	if info.Tools == nil || slices.Contains(info.Tools, ofTheBundle) {
		specs, err := catalog.Tools(found.ID, p.optionsOf(found.ID))
		if err != nil {
			return info
		}
		names := slices.DeleteFunc(slices.Clone(info.Tools), func(name string) bool { return name == ofTheBundle })
		for _, spec := range specs {
			names = append(names, spec.Name)
		}
		info.Tools = names
	}
	return info
}

// mostOfSentence is how long a sentence may be that people read at a glance.
const mostOfSentence = 200

// firstSentence is how a text begins, empty where that is too long to be read at a glance.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	if len(text) > mostOfSentence {
		return ""
	}
	return strings.TrimSpace(text)
}

// synonyms are what else a command can be called by.
func synonyms(c *bundle.Command) []string {
	if c.Code == "" || c.Code == strings.TrimPrefix(c.Cmd, "*") {
		return c.Synonyms
	}
	return append([]string{c.Code}, c.Synonyms...)
}

// plainInfo is how an agent is listed that is described in troupe.yaml alone.
func (p *Project) plainInfo(id string) server.Agent {
	return server.Agent{
		ID: id, Name: id, Description: p.config.Agents[id].Description, EntryPoint: true,
		Format: "config", Path: config.Name, Commands: []server.Command{}, Tools: (&stage{project: p}).plainTools(id),
	}
}

// plainTools names the tools of such an agent. A pattern stays as it was written where tool servers
// alone know what fits it.
func (s *stage) plainTools(id string) (names []string) {
	known := slices.Sorted(maps.Keys(s.ready(id)))
	for _, pattern := range s.wanted(id) {
		meant := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !fits(pattern, name) })
		if len(meant) == 0 && s.isAbsent(pattern) {
			meant = []string{pattern}
		}
		for _, name := range meant {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Flows lists the flows of troupe.yaml by name, then the teams of the bundles.
func (p *Project) Flows() []server.Flow {
	var list []server.Flow
	for _, name := range slices.Sorted(maps.Keys(p.config.Flows)) {
		tree := p.maker(nil).Plan(name, func(string) string { return "" })
		nodes, edges := flowGraph(p.config.Flows, name)
		list = append(list, server.Flow{Name: name, Description: p.config.Flows[name].Description, Tree: tree, Nodes: nodes, Edges: edges})
	}
	return append(list, p.listTeams()...)
}

// Agent makes the agent of an id, once. It may be written as BUNDLE/ID where two
// bundles have agents of one name. The error is [bundle.ErrNoAgent] if there is none,
// and then names the one that was probably meant.
func (p *Project) Agent(ctx context.Context, id string) (*troupe.Agent, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.agent(ctx, id)
	if err != nil {
		return nil, err
	}
	return made.agent, nil
}

// Step makes the flow or the agent of a name. [Deliver] is the name of the delivery.
func (p *Project) Step(ctx context.Context, name string) (troupe.Step, error) {
	return p.StepIn(ctx, name, "")
}

// StepIn makes the flow or the agent of a name as it was when a session began, so that
// the session goes on with it, and with the model that a person chose for the session. An
// empty session is one that has not begun.
func (p *Project) StepIn(ctx context.Context, name, session string) (troupe.Step, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	choose, err := s.choiceOf(session)
	if err != nil {
		return nil, err
	}
	made, err := s.findWith(ctx, name, session, casting{choose: choose})
	if err == nil {
		return made.Step, nil
	}
	if choice := choose(name); choice != p.models.For(name) {
		// Who chose the model for the session can no longer use it, nor say so there.
		return nil, fmt.Errorf("%w; with --model provider/name the conversation goes on with another one", err)
	}
	return nil, err
}

// Catalog returns the agents of the project's bundles as they are now. It is the
// project's to close.
func (p *Project) Catalog() *bundle.Catalog { return p.look() }

// catalog is the catalog as it was when somebody last looked.
func (p *Project) catalog() *bundle.Catalog { return p.bundles.Last() }

// look returns the catalog as it is now. Where the directory cannot be read, for as long
// as somebody is moving it say, it is the one before.
func (p *Project) look() *bundle.Catalog {
	catalog, err := p.bundles.Catalog()
	if err != nil {
		if p.log != nil {
			p.log.Warn("bundles not read again", "err", err)
		}
		return p.bundles.Last()
	}
	return catalog
}

// AgentOptions returns what troupe.yaml says of a bundle's agent, its model and its
// tools aside: for calls of Catalog.
func (p *Project) AgentOptions(id string) bundle.Options { return p.optionsOf(id) }

// Definition reads an agent of a bundle as it is now. Its errors are those of Agent.
func (p *Project) Definition(id string) (*bundle.Definition, error) {
	return p.definitionIn(p.look(), id)
}

func (p *Project) definitionIn(catalog *bundle.Catalog, id string) (*bundle.Definition, error) {
	d, err := catalog.Definition(id)
	if !errors.Is(err, bundle.ErrNoAgent) {
		return d, err
	}
	ids := p.agentIDs()
	names := append(slices.Clone(ids), slices.Sorted(maps.Keys(p.config.Flows))...)
	name, isClose := suggest.Closest(id, names)
	_, isFlow := p.config.Flows[id]
	switch {
	case isFlow:
		return nil, fmt.Errorf("agent %.64q: %w: it is a flow", id, bundle.ErrNoAgent)
	case isClose:
		return nil, fmt.Errorf("agent %.64q: %w; did you mean %s?", id, bundle.ErrNoAgent, name)
	case len(ids) == 0:
		return nil, fmt.Errorf("agent %.64q: %w: there are none in %s; 'troupe init' writes some to begin with", id, bundle.ErrNoAgent, p.dir)
	case errors.Is(err, bundle.ErrAmbiguous):
		return nil, err
	}
	return nil, fmt.Errorf("agent %.64q: %w; there are: %s", id, bundle.ErrNoAgent, strings.Join(names, ", "))
}

// Instructions returns those of an agent that is described in troupe.yaml alone, and
// false for all others.
func (p *Project) Instructions(id string) (string, bool) {
	return p.config.Agents[id].Instructions, p.isPlain(id)
}

// DefaultAgent is the agent or flow that troupe.yaml says people talk with where they name
// none, empty where it says nothing.
func (p *Project) DefaultAgent() string { return p.config.DefaultAgent }

// Find returns the name of the flow or the agent that a name means. Its errors are
// those of Agent.
func (p *Project) Find(name string) (string, error) {
	if _, ok := p.config.Flows[name]; ok || p.isPlain(name) || name == Deliver {
		return name, nil
	}
	if t, ok := p.teamNamed(p.look(), name); ok {
		return t.name, nil
	}
	d, err := p.Definition(name)
	if err != nil {
		return "", err
	}
	return d.ID, nil
}

// Plan draws a flow or an agent as a tree, with the model and the tools of each agent,
// and makes nothing.
func (p *Project) Plan(name string) (string, error) {
	name, err := p.Find(name)
	if err != nil {
		return "", err
	}
	details := func(agent string) string {
		text := p.models.For(agent).Ref
		if tools := p.config.Agent(agent).Tools; len(tools) > 0 {
			text += ", " + strings.Join(tools, " ")
		}
		return text
	}
	if t, ok := p.teamNamed(p.catalog(), name); ok {
		maker := p.maker(nil)
		maker.Flows = map[string]config.Flow{name: t.flow()}
		return maker.Plan(name, details), nil
	}
	if _, ok := p.config.Flows[name]; !ok {
		return name + "  " + details(name) + "\n", nil
	}
	return p.maker(nil).Plan(name, details), nil
}

// FoundModel is the model of an agent that was made, if nobody has chosen it and it was
// found on this machine; see [Options.LookForOllama].
func (p *Project) FoundModel() (ref string, ok bool) {
	p.opening.Lock()
	s := p.opened
	p.opening.Unlock()
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, s.found != ""
}

// noteUnchosen remembers that nobody has chosen the model of an agent. The caller holds
// the lock.
func (s *stage) noteUnchosen(model models.Opened) {
	s.rehearses = s.rehearses || model.From == ""
	if model.IsFound() {
		s.found = model.Ref
	}
}

// Rehearses reports whether an agent was made, by Agent, Step or a server, that has no
// model because nobody has chosen one. Before any is made it is false.
func (p *Project) Rehearses() bool {
	p.opening.Lock()
	s := p.opened
	p.opening.Unlock()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rehearses
}

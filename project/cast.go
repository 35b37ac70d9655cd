package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/flows"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/workspace"
)

// A player is something that can run: an agent, or a flow.
type player struct {
	troupe.Step
	// agent is nil for a flow, and definition for an agent that has no bundle.
	agent      *troupe.Agent
	definition *bundle.Definition
	model      models.Opened
}

// find makes the flow or the agent of a name, as it was when the session began
// where there is one.
func (s *stage) find(ctx context.Context, name, session string) (*player, error) {
	return s.findWith(ctx, name, session, casting{choose: s.project.models.For})
}

// A casting says with what agents are made beside what the project says of them.
type casting struct {
	choose func(id string) models.Choice
	extras *Extras // nil for none
}

// findWith is find with what the caller says of agents.
func (s *stage) findWith(ctx context.Context, name, session string, c casting) (*player, error) {
	if name == Deliver {
		order, err := s.orderOf(ctx, session)
		if errors.Is(err, troupe.ErrNotFound) { // the session is about to begin
			order, err = s.project.Delivery(), nil
		}
		if err != nil {
			return nil, err
		}
		step, err := s.delivery(ctx, order)
		if err != nil {
			return nil, err
		}
		return &player{Step: step}, nil
	}
	catalog := s.catalogOf(session)
	if t, ok := s.project.teamNamed(catalog, name); ok {
		step, err := s.party(ctx, catalog, t, c)
		if err != nil {
			return nil, err
		}
		return &player{Step: step}, nil
	}
	if _, ok := s.project.config.Flows[name]; !ok {
		return s.agentWith(ctx, catalog, name, c)
	}
	step, err := s.project.maker(func(id string) (*troupe.Agent, error) {
		player, err := s.agentWith(ctx, catalog, id, c)
		if err != nil {
			return nil, err
		}
		return player.agent, nil
	}).Step(name)
	if err != nil {
		return nil, err
	}
	return &player{Step: step}, nil
}

// A playerKey says what makes two agents the same: where they come from, and with what
// models they work.
type playerKey struct {
	catalog *bundle.Catalog
	id      string
	choice  models.Choice
}

// agent makes the agent of an id as it is now, once. Those that it invokes have the
// model and the rights that are theirs, not its own.
func (s *stage) agent(ctx context.Context, id string) (*player, error) {
	return s.agentWith(ctx, s.catalogOf(""), id, casting{choose: s.project.models.For})
}

// maxPinned is how many sessions are remembered for the agents they began with.
const maxPinned = 10_000

// catalogOf returns the bundles that a session goes on with: those that it was first seen
// with, so that nobody loses an agent in the middle of a conversation because its author
// is editing it. An empty session is one that has not begun, and has them as they are now.
func (s *stage) catalogOf(session string) *bundle.Catalog {
	s.mu.Lock()
	pinned := s.pinned[session]
	s.mu.Unlock()
	if pinned != nil {
		return pinned
	}
	catalog := s.project.look()
	if session == "" {
		return catalog
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pinned) >= maxPinned {
		clear(s.pinned) // they go on with what there is now
	}
	s.pinned[session] = catalog
	for key := range s.agents {
		if key.catalog != catalog && !s.isPinned(key.catalog) {
			delete(s.agents, key)
		}
	}
	return catalog
}

// isPinned says whether a session goes on with a catalog; s.mu is held.
func (s *stage) isPinned(catalog *bundle.Catalog) bool {
	for _, pinned := range s.pinned {
		if pinned == catalog {
			return true
		}
	}
	return false
}

// agentWith makes the agent of an id, once for each model and for each of the extras.
func (s *stage) agentWith(ctx context.Context, catalog *bundle.Catalog, id string, c casting) (*player, error) {
	var d *bundle.Definition
	if !s.project.isPlain(id) {
		var err error
		if d, err = s.project.definitionIn(catalog, id); err != nil {
			return nil, err
		}
		id = d.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	choice := c.choose(id)
	key := playerKey{catalog, id, choice}
	kept := c.extras.agents(s.agents)
	if made := kept[key]; made != nil {
		return made, nil
	}
	model, err := s.project.models.Open(choice)
	if err != nil {
		return nil, err
	}
	s.noteUnchosen(model)
	made := &player{definition: d, model: model}
	if d == nil {
		made.agent, err = s.plainAgent(ctx, id, model, c.extras)
	} else {
		made.agent, err = s.bundleAgent(ctx, catalog, id, model, c.extras)
	}
	if err != nil {
		return nil, err
	}
	made.Step = made.agent
	kept[key] = made
	return made, nil
}

// bundleAgent makes an agent of a bundle.
func (s *stage) bundleAgent(ctx context.Context, catalog *bundle.Catalog, id string, model models.Opened, extras *Extras) (*troupe.Agent, error) {
	options := s.project.optionsOf(id)
	options.Model, options.Price, options.Window = model.Model, model.Charge, model.Window
	options.Events = s.engine.Events
	options.Invoke = func(id string) (troupe.Step, error) {
		other, err := s.agentWith(context.Background(), catalog, id, casting{s.project.models.For, extras})
		if err != nil {
			return nil, err
		}
		return other.agent, nil
	}
	if err := s.equip(ctx, catalog, id, &options); err != nil {
		return nil, err
	}
	extras.equip(&options)
	options.Tools = forModel(&model, options.Tools)
	return catalog.Agent(id, options)
}

// plainAgent makes an agent that is described in troupe.yaml alone.
func (s *stage) plainAgent(ctx context.Context, id string, model models.Opened, extras *Extras) (*troupe.Agent, error) {
	tools, err := s.toolsOf(ctx, id, extras)
	if err != nil {
		return nil, err
	}
	instructions := troupe.ContextLoaded{Source: "instructions", Content: s.project.config.Agents[id].Instructions}
	return troupe.NewAgent(troupe.AgentConfig{
		ID: id, Model: model.Model, Price: model.Charge, Window: model.Window, Params: s.project.paramsOf(id), Tools: s.project.guard(forModel(&model, tools)...),
		Context: func(context.Context, *troupe.Run) ([]troupe.ContextLoaded, error) {
			return append([]troupe.ContextLoaded{instructions}, s.project.tell(id)...), nil
		},
	})
}

// optionsOf is what the configuration says of an agent, its model and tools aside.
func (p *Project) optionsOf(id string) bundle.Options {
	own := p.config.Agent(id)
	return bundle.Options{
		Logger: p.log, Outputs: p.outputsDir(), Documents: p.documents(), ReadProject: own.MayReadProject() || p.inPlace, Roots: p.rootsOf(id), Closed: p.walls, Params: p.paramsOf(id),
		Guard: p.guard, Tell: func() []troupe.ContextLoaded { return p.tell(id) },
	}
}

// documents says where the documents of the project are, and whose.
func (p *Project) documents() bundle.Documents {
	documents := bundle.Documents{Dir: filepath.Join(p.DataDir(), "documents"), InPlace: p.config.Documents == "in-place" || p.inPlace && p.config.Documents == ""}
	if p.hasUsers() && p.config.Documents != "shared" && !documents.InPlace {
		documents.Owner = (*troupe.Run).User
	}
	return documents
}

// Opening returns the text with which an agent is asked to open a conversation, where
// its author has written how.
func (p *Project) Opening(agent string) (text string, ok bool) {
	definition, err := p.look().Definition(agent)
	if err != nil {
		return "", false
	}
	return definition.Opening()
}

func (p *Project) paramsOf(id string) troupe.Params {
	own := p.config.Agent(id)
	params := troupe.Params{Temperature: own.Temperature, TopP: own.TopP, MaxTokens: own.MaxTokens, Effort: own.Effort}
	if own.Seed != nil {
		seed := int64(*own.Seed)
		params.Seed = &seed
	}
	return params
}

// rootsOf are the directories that an agent is granted beside those of its bundle.
func (p *Project) rootsOf(id string) []workspace.Root {
	own := p.config.Agent(id)
	var roots []workspace.Root
	for name, dir := range own.Read {
		roots = append(roots, workspace.Root{Name: name, Dir: within(p.dir, dir), Access: workspace.ReadOnly})
	}
	for name, dir := range own.Write {
		roots = append(roots, workspace.Root{Name: name, Dir: within(p.dir, dir), Access: workspace.ReadWrite})
	}
	if p.usesSkills(id) {
		roots = append(roots, p.skills.Roots()...)
	}
	return roots
}

// maker makes the project's flows of the agents that make returns.
func (p *Project) maker(make func(id string) (*troupe.Agent, error)) *flows.Maker {
	return &flows.Maker{
		File: p.config.Path, Flows: p.config.Flows, Agents: p.agentIDs(), Agent: make, Describe: p.describeAgent, Guard: p.guard,
	}
}

// describeAgent says what an agent is good for, as far as anybody has said.
func (p *Project) describeAgent(id string) string {
	if text := p.config.Agents[id].Description; text != "" {
		return text
	}
	if d, err := p.catalog().Definition(id); err == nil {
		return d.Title
	}
	return ""
}

// isPlain says whether an agent is described in troupe.yaml alone.
func (p *Project) isPlain(id string) bool { return p.config.Agents[id].Instructions != "" }

// agentIDs are those of the bundles, then those of troupe.yaml.
func (p *Project) agentIDs() []string {
	var ids []string
	for _, e := range p.catalog().Entries() {
		ids = append(ids, e.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(p.config.Agents)) {
		if p.isPlain(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Warnings says what of the configuration has no effect: agents that are configured
// and not there, because somebody mistyped a name, and tools that nobody here has, where
// [Options.AllowUnknownTools] lets them pass.
func (p *Project) Warnings() []string {
	var told []string
	ids := p.agentIDs()
	for _, id := range slices.Sorted(maps.Keys(p.config.Agents)) {
		if id != config.Everyone && !slices.Contains(ids, id) {
			told = append(told, fmt.Sprintf("agents.%s in %s: there is no such agent%s", id, config.Name, suggest.Hint(id, ids)))
		}
	}
	if name := p.config.DefaultAgent; name != "" {
		if _, err := p.Find(name); err != nil {
			told = append(told, fmt.Sprintf("default_agent in %s: there is no agent %s%s", config.Name, name, suggest.Hint(name, ids)))
		}
	}
	for _, problem := range slices.Concat(p.unknown.agents, p.unknown.rules) {
		told = append(told, problem.Error())
	}
	return told
}

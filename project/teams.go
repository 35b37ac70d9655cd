package project

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/flow"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// partyName is the name of the group chat of all agents of an installation: BMAD's party
// mode.
const partyName = "party"

// A team is agents of the bundles that can be talked to together.
type team struct {
	name, description string
	agents            []string
}

var notInNames = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// teams are those that the bundles describe, and one of all agents, under names that
// neither a flow nor an agent has.
func (p *Project) teams(catalog *bundle.Catalog) []team {
	var list []team
	add := func(t team) {
		_, isFlow := p.config.Flows[t.name]
		isKnown := slices.ContainsFunc(list, func(o team) bool { return o.name == t.name })
		if isFlow || isKnown || t.name == "" || t.name == Deliver || p.isPlain(t.name) || len(t.agents) < 2 || p.isAgent(catalog, t.name) {
			return
		}
		list = append(list, t)
	}
	for _, t := range catalog.Teams() {
		name := t.Name
		if ext := path.Ext(t.File); ext == ".yaml" || ext == ".yml" {
			name = strings.TrimSuffix(path.Base(t.File), ext)
		}
		add(team{strings.ToLower(strings.Trim(notInNames.ReplaceAllString(name, "-"), "-")), t.Description, t.Agents})
	}
	if isInstalled(catalog) {
		all := team{name: partyName, description: "All agents, in one conversation"}
		for _, e := range catalog.Entries() {
			all.agents = append(all.agents, e.ID)
		}
		add(all)
	}
	return list
}

// isAgent says whether an agent has that very id.
func (p *Project) isAgent(catalog *bundle.Catalog, id string) bool {
	return slices.ContainsFunc(catalog.Entries(), func(e bundle.Entry) bool { return e.ID == id })
}

// teamNamed finds a team.
func (p *Project) teamNamed(catalog *bundle.Catalog, name string) (team, bool) {
	if p.isAgent(catalog, name) {
		return team{}, false
	}
	for _, t := range p.teams(catalog) {
		if strings.EqualFold(t.name, name) || t.name == partyName && strings.EqualFold(name, "party-mode") {
			return t, true
		}
	}
	return team{}, false
}

// flow describes the team as troupe.yaml would.
func (t *team) flow() config.Flow { return config.NewGroupChat(t.description, t.agents...) }

// listTeams shows the teams as flows.
func (p *Project) listTeams() []server.Flow {
	var list []server.Flow
	for _, t := range p.teams(p.catalog()) {
		flows := map[string]config.Flow{t.name: t.flow()}
		maker := p.maker(nil)
		maker.Flows = flows
		nodes, edges := flowGraph(flows, t.name)
		list = append(list, server.Flow{
			Name: t.name, Description: t.description, Tree: maker.Plan(t.name, func(string) string { return "" }), Nodes: nodes, Edges: edges,
		})
	}
	return list
}

// What one message to a team may bring about, and what of earlier ones is heard again.
const (
	partyTurns  = 4
	partyMemory = 24
)

const hostInstructions = `You host a group conversation between a user and the agents of a project. The user hears what the agents say, and you only choose who speaks.

For each message of the user, let two or three agents speak, one after the other: first the one that the user names, then those whose work the message is about. Do not always choose the same ones. Let an agent answer another where they disagree.
When the agents have answered the user, or one of them has asked the user a question, end the round: answer with that question, or with one short sentence that sums up where the agents agree and differ. Add no facts of your own. When the user says goodbye, exit or end party, let nobody speak and say goodbye in one sentence.`

// party makes the step with which a user talks to a team. Agents that cannot start stay
// away.
func (s *stage) party(ctx context.Context, catalog *bundle.Catalog, t team, c casting) (troupe.Step, error) {
	var members []troupe.Step
	for _, id := range t.agents {
		if _, err := catalog.PromptWith(id, s.project.optionsOf(id)); err != nil {
			s.project.log.Warn("an agent cannot join", "team", t.name, "agent", id, "err", err)
			continue
		}
		made, err := s.agentWith(ctx, catalog, id, c)
		if err != nil {
			return nil, err
		}
		members = append(members, made.agent)
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("team %s: none of its agents can start; 'troupe agents' says why", t.name)
	}
	model, err := s.project.models.Open(c.choose(""))
	if err != nil {
		return nil, err
	}
	chatting := flow.GroupChatConfig{Name: t.name + "-round", Members: members, Turns: partyTurns}
	if model.From == "" || c.choose("").IsRehearsal() {
		chatting.Turns = min(3, len(members)) // nobody could choose: they speak in turn
	} else if chatting.Manager, err = troupe.NewAgent(troupe.AgentConfig{ID: "host", Model: model.Model, Price: model.Price, Window: model.Window, Instructions: hostInstructions}); err != nil {
		return nil, err
	}
	chat, err := flow.NewGroupChat(chatting)
	if err != nil {
		return nil, err
	}
	return troupe.NewStep(t.name, func(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
		before, _ := run.Before()
		said := partySaid(before)
		task := in
		if len(said) > 0 {
			task.Task = "What was said so far:\n\n" + strings.Join(said, "\n\n") + "\n\nThe user now says:\n" + in.Task
		}
		out, err := run.Do(ctx, chat, task)
		if err != nil {
			return troupe.Handoff{}, err
		}
		said = append(said, "[user]\n"+in.Task)
		said = append(said, partyRemarks(out)...)
		out.Outputs = map[string]any{"said": said[max(0, len(said)-partyMemory):]}
		return out, nil
	}, chat), nil
}

// partySaid is what the round before has handed back of the conversation.
func partySaid(before troupe.Handoff) (said []string) {
	if data, err := json.Marshal(before.Outputs["said"]); err == nil && json.Unmarshal(data, &said) != nil {
		return nil
	}
	return said
}

// partyRemarks are what the agents have said in a round, each with its speaker.
func partyRemarks(out troupe.Handoff) (said []string) {
	var remarks []struct{ Speaker, Text string }
	if data, err := json.Marshal(out.Outputs["conversation"]); err != nil || json.Unmarshal(data, &remarks) != nil {
		return nil
	}
	for _, r := range remarks {
		said = append(said, "["+r.Speaker+"]\n"+r.Text)
	}
	return said
}

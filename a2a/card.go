package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/troupe-dev/troupe/server"
)

// listed is an agent in the list of agents.
type listed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Card        string `json:"card"`
}

func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) {
	list := []listed{}
	for _, a := range s.config.Project.Agents() {
		list = append(list, listed{a.ID, describe(a), s.address(r, a.ID) + cardSuffix})
	}
	for _, f := range s.config.Project.Flows() {
		list = append(list, listed{f.Name, f.Description, s.address(r, f.Name) + cardSuffix})
	}
	sendJSON(w, map[string]any{"agents": list})
}

func sendJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}

func (s *Server) address(r *http.Request, name string) string {
	return s.baseOf(r) + Path + "/" + url.PathEscape(name)
}

// offers says whether there is an agent or a flow of a name.
func (s *Server) offers(name string) bool {
	for _, a := range s.config.Project.Agents() {
		if a.ID == name {
			return true
		}
	}
	for _, f := range s.config.Project.Flows() {
		if f.Name == name {
			return true
		}
	}
	return false
}

// sendCard sends the card of an agent or flow, which clients of both versions of the
// protocol can read.
func (s *Server) sendCard(w http.ResponseWriter, r *http.Request, name string) {
	card := s.cardOf(r, name)
	if card == nil {
		http.Error(w, `{"error":"there is no such agent: GET `+Path+` lists them"}`, http.StatusNotFound)
		return
	}
	// The protocol's own handler would let pages of others read it with our cookie.
	data, err := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer).CardJSON(r.Context())
	if err != nil {
		s.config.Log.Error("agent card not made", "agent", name, "err", err)
		http.Error(w, `{"error":"the card could not be made"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

// cardOf is nil where there is no such agent.
func (s *Server) cardOf(r *http.Request, name string) *sdk.AgentCard {
	for _, a := range s.config.Project.Agents() {
		if a.ID == name {
			return s.card(s.address(r, name), joined(a.Name, a.ID), describe(a), skillsOf(a))
		}
	}
	for _, f := range s.config.Project.Flows() {
		if f.Name == name {
			skill := sdk.AgentSkill{ID: f.Name, Name: f.Name, Description: orName(f.Description, f.Name), Tags: []string{"flow"}}
			return s.card(s.address(r, name), f.Name, orName(f.Description, f.Name), []sdk.AgentSkill{skill})
		}
	}
	return nil
}

func (s *Server) card(address, name, description string, skills []sdk.AgentSkill) *sdk.AgentCard {
	older := sdk.NewAgentInterface(address, sdk.TransportProtocolJSONRPC)
	older.ProtocolVersion = a2av0.Version
	return &sdk.AgentCard{
		Name: name, Description: description, Version: s.config.Version, Skills: skills,
		SupportedInterfaces: []*sdk.AgentInterface{sdk.NewAgentInterface(address, sdk.TransportProtocolJSONRPC), older},
		Capabilities:        sdk.AgentCapabilities{Streaming: true, PushNotifications: s.config.Push != nil},
		DefaultInputModes:   []string{"text/plain", "text/markdown", "image/png", "image/jpeg"},
		DefaultOutputModes:  []string{"text/markdown", "text/plain"},
		SecuritySchemes: sdk.NamedSecuritySchemes{"token": sdk.HTTPAuthSecurityScheme{
			Scheme: "Bearer", Description: "The token of a user of the server.",
		}},
		SecurityRequirements: sdk.SecurityRequirementsOptions{{"token": {}}},
	}
}

// skillsOf are what an agent can be asked for: a conversation, and each of its commands.
func skillsOf(a server.Agent) []sdk.AgentSkill {
	skills := []sdk.AgentSkill{{ID: a.ID, Name: joined(a.Name, a.ID), Description: describe(a), Tags: []string{"conversation"}}}
	for _, c := range a.Commands {
		skills = append(skills, sdk.AgentSkill{
			ID: a.ID + "/" + strings.TrimLeft(c.Cmd, "*/"), Name: c.Cmd, Description: orName(c.Description, c.Cmd), Tags: []string{"command"}, Examples: []string{c.Cmd},
		})
	}
	return skills
}

func describe(a server.Agent) string {
	return orName(strings.TrimSpace(joined(a.Title, "")+". "+a.Description), a.ID)
}

func joined(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func orName(text, name string) string {
	if text = strings.Trim(strings.TrimSpace(text), ". "); text == "" {
		return name
	}
	return text
}

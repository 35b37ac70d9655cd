package a2a

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// listed is an agent in the list of agents.
type listed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Card        string `json:"card"`
}

// An offer is something that others can give tasks to.
type offer struct {
	name, title, description string
	skills                   []sdk.AgentSkill
}

// offers are the agents and flows of the project, and the delivery.
func (s *Server) offers() []offer {
	var all []offer
	for _, a := range s.config.Project.Agents() {
		all = append(all, offer{a.ID, joined(a.Name, a.ID), describe(a), skillsOf(a)})
	}
	for _, f := range s.config.Project.Flows() {
		all = append(all, offerOf(f.Name, orName(f.Description, f.Name), "flow"))
	}
	return append(all, offerOf(project.Deliver, "Turns a request into a branch of the project's repository that is built, checked and reviewed. It takes long", "delivery"))
}

// offerOf is an offer that can do one thing.
func offerOf(name, description, tag string) offer {
	return offer{name, name, description, []sdk.AgentSkill{{ID: name, Name: name, Description: description, Tags: []string{tag}}}}
}

// find returns the offer of a name.
func (s *Server) find(name string) (offer, bool) {
	for _, o := range s.offers() {
		if o.name == name {
			return o, true
		}
	}
	return offer{}, false
}

func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) {
	list := []listed{}
	for _, o := range s.offers() {
		list = append(list, listed{o.name, o.description, s.address(r, o.name) + cardSuffix})
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

// sendCard sends the card of an agent or flow, which clients of both versions of the
// protocol can read.
func (s *Server) sendCard(w http.ResponseWriter, r *http.Request, name string) {
	found, ok := s.find(name)
	if !ok {
		http.Error(w, `{"error":"there is no such agent: GET `+Path+` lists them"}`, http.StatusNotFound)
		return
	}
	// The protocol's own handler would let pages of others read it with our cookie.
	data, err := a2av0.NewStaticAgentCardProducer(s.card(s.address(r, name), found)).(a2asrv.AgentCardJSONProducer).CardJSON(r.Context())
	if err != nil {
		s.config.Log.Error("agent card not made", "agent", name, "err", err)
		http.Error(w, `{"error":"the card could not be made"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}

func (s *Server) card(address string, o offer) *sdk.AgentCard {
	older := sdk.NewAgentInterface(address, sdk.TransportProtocolJSONRPC)
	older.ProtocolVersion = a2av0.Version
	return &sdk.AgentCard{
		Name: o.title, Description: o.description, Version: s.config.Version, Skills: o.skills,
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

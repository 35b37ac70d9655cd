package server

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Documents are the project's own, one of each name with versions, that every agent
// reads and writes by that name.
type Documents interface {
	// Documents lists those that a user may see.
	Documents(ctx context.Context, user string) ([]Document, error)
	// Versions lists the versions of a document, the latest first.
	Versions(ctx context.Context, user, name string) ([]Version, error)
	// Read returns a version of a document, the latest if version is 0.
	Read(ctx context.Context, user, name string, version int) ([]byte, error)
	// Write adds a version that a person has written.
	Write(ctx context.Context, user, name string, content []byte) (Version, error)
	// Add puts a file that a person brings where agents find it, and returns its name
	// there. Its error says what is wrong in words for that person.
	Add(ctx context.Context, user, file string, content []byte) (name string, _ Version, _ error)
}

// A Document is how a document is listed.
type Document struct {
	Name string `json:"name"`
	// Heading is its first heading, if it has one.
	Heading string    `json:"heading,omitempty"`
	Size    int64     `json:"size"`
	Version int       `json:"version"`
	Changed time.Time `json:"changed"`
	// By is the agent, or the person, who wrote the latest version.
	By     string `json:"by,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"`
	// Session is the conversation in which it was written.
	Session string `json:"session,omitempty"`
	// Readers are the agents that have read it.
	Readers []string `json:"readers,omitempty"`
}

// A Version is one state of a file or document.
type Version struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Size   int64     `json:"size"`
	// By is the agent who wrote it, or the person, if ByHand.
	By     string `json:"by,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"`
	// Node is the step of a flow in which the agent wrote it, and Round the round of its loop.
	Node  string `json:"node,omitempty"`
	Round int    `json:"round,omitempty"`
	// Known says that its content is kept, so that it can be read and restored.
	Known       bool   `json:"known"`
	SHA256      string `json:"sha256,omitempty"`
	Description string `json:"description,omitempty"`
}

// ToolServers are the MCP servers that give agents tools.
type ToolServers interface {
	ToolServers(ctx context.Context) ([]ToolServer, error)
	// Accept takes tools of a server as they are now: each by its name and the hash of
	// what was looked at, so that nothing else is accepted.
	Accept(ctx context.Context, name string, tools map[string]string) error
	Restart(ctx context.Context, name string) error
	// Add configures a server that runs at an address, if it can be reached. Its error
	// says what is wrong in words for the operator.
	Add(ctx context.Context, name, url string) error
	// Switch has a server used, or not.
	Switch(ctx context.Context, name string, on bool) error
	// Remove forgets a server. It refuses one that a setting names; what was accepted of its
	// tools stays on record, for whatever is called so next.
	Remove(ctx context.Context, name string) error
}

// A ToolServer is how an MCP server is listed.
type ToolServer struct {
	Name string `json:"name"`
	// State is running, stopped, changed or off.
	State string `json:"state"`
	// Detail says why it is not running, Said is the whole message.
	Detail  string       `json:"detail,omitempty"`
	Said    string       `json:"said,omitempty"`
	Tools   []string     `json:"tools"`
	Changed []ToolChange `json:"changed,omitempty"`
	// IsProgram says that Troupe starts it, which only the configuration can ask for; UsedBy are the
	// settings that name it, as in agents.mary.tools: while there are any it is not removed.
	IsProgram bool     `json:"program,omitempty"`
	UsedBy    []string `json:"used_by,omitempty"`
}

// A ToolChange is a tool that describes itself otherwise than when it was accepted.
type ToolChange struct {
	Tool string `json:"tool"`
	// Hash is what accepting it takes.
	Hash string `json:"hash,omitempty"`
	// Reason says why it is kept off; Before is empty for a tool that is new.
	Reason string `json:"reason,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// A Skill is know-how that agents load when a task calls for it.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Category    string `json:"category,omitempty"`
	// Off says that it is switched off: no agent hears of it.
	Off bool `json:"off,omitempty"`
	// Used is how often agents have loaded it in the last seven days.
	Used int `json:"used,omitempty"`
}

// A skillSwitch says whether agents may use a skill.
type skillSwitch struct {
	On bool `json:"on"`
}

func (s *Server) switchSkill(c *call, in skillSwitch) (none, error) {
	if s.config.SwitchSkill == nil {
		return none{}, absent("way to switch skills")
	}
	return none{}, s.reconfigured(s.config.SwitchSkill(c.r.Context(), c.r.PathValue("name"), in.On))
}

func (s *Server) listToolServers(c *call) ([]ToolServer, error) {
	if s.config.ToolServers == nil {
		return []ToolServer{}, nil
	}
	list, err := s.config.ToolServers.ToolServers(c.r.Context())
	return listed(list), err
}

// An acceptance names the tools that are taken as they are: by name, the hash of each.
type acceptance struct {
	Tools map[string]string `json:"tools" jsonschema:"the hash of each tool that is accepted, by its name"`
}

func (s *Server) acceptTools(c *call, in acceptance) (none, error) {
	return s.actOnTools(c, func(t ToolServers, ctx context.Context, name string) error { return t.Accept(ctx, name, in.Tools) })
}

// A newToolServer is one that runs already. Programs to start are named in the
// configuration alone: whoever has a token must not be able to run what they like.
type newToolServer struct {
	Name string `json:"name" jsonschema:"what it is called: small letters, digits and dashes"`
	URL  string `json:"url" jsonschema:"where it runs"`
}

func (s *Server) addToolServer(c *call, in newToolServer) (none, error) {
	return s.actOnTools(c, func(t ToolServers, ctx context.Context, _ string) error { return t.Add(ctx, in.Name, in.URL) })
}

// A toolSwitch says whether a tool server is used.
type toolSwitch struct {
	On bool `json:"on"`
}

func (s *Server) switchToolServer(c *call, in toolSwitch) (none, error) {
	return s.actOnTools(c, func(t ToolServers, ctx context.Context, name string) error { return t.Switch(ctx, name, in.On) })
}

func (s *Server) removeToolServer(c *call) (none, error) { return s.actOnTools(c, ToolServers.Remove) }

// An Instruction is a part of what an agent's model is told before anybody speaks.
type Instruction struct {
	Name string `json:"name"`
	// Origin is the file that it comes from, empty where Troupe itself says it.
	Origin string `json:"origin,omitempty"`
	Tokens int    `json:"tokens,omitempty"`
	Text   string `json:"text"`
}

func (s *Server) showInstructions(c *call) ([]Instruction, error) {
	if s.config.Instructions == nil {
		return nil, absent("instructions to show")
	}
	list, err := s.config.Instructions(c.r.Context(), c.r.PathValue("id"))
	if errors.Is(err, ErrUnknown) {
		return nil, refuse(http.StatusNotFound, "there is no agent %.64q", c.r.PathValue("id"))
	} else if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err).withCode("agent_broken")
	}
	return listed(list), nil
}

func (s *Server) restartTools(c *call) (none, error) { return s.actOnTools(c, ToolServers.Restart) }

func (s *Server) actOnTools(c *call, act func(ToolServers, context.Context, string) error) (none, error) {
	if s.config.ToolServers == nil {
		return none{}, absent("tool servers")
	}
	return none{}, s.reconfigured(act(s.config.ToolServers, c.r.Context(), c.r.PathValue("name")))
}

func (s *Server) listSkills(c *call) ([]Skill, error) {
	if s.config.Skills == nil {
		return []Skill{}, nil
	}
	list, err := s.config.Skills(c.r.Context())
	return listed(list), err
}

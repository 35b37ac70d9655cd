package server

import (
	"cmp"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// The routes of the original application, in its shapes: what its clients know keeps
// working. The rules are those of every other route.

// initializing is what its clients send to have an agent begin. The two paths are not
// needed: an agent is found by its id.
type initializing struct {
	AgentID    string `json:"agentId"`
	BundlePath string `json:"bundlePath,omitempty"`
	FilePath   string `json:"filePath,omitempty"`
}

type initialized struct {
	Success bool            `json:"success"`
	Data    initializedData `json:"data"`
}

type initializedData struct {
	Greeting string `json:"greeting"`
	// ConversationID is the conversation that has begun, empty where the agent's author
	// has it not speak first.
	ConversationID string `json:"conversationId,omitempty"`
}

// initialize has an agent carry out its critical actions and greet.
func (s *Server) initialize(c *call, in initializing) (initialized, error) {
	out := initialized{Success: true}
	if _, err := s.step(c.r.Context(), in.AgentID); err != nil {
		return initialized{}, err
	}
	var input troupe.Input
	speaks := false
	if s.config.Greeter != nil {
		input, speaks = s.config.Greeter(in.AgentID)
	}
	if !speaks {
		for _, agent := range s.config.Cast.Agents() {
			if agent.ID == in.AgentID && agent.Broken != "" {
				return initialized{}, refuse(http.StatusUnprocessableEntity, "%s", agent.Broken)
			}
		}
		return out, nil
	}
	run, err := s.say(c, in.AgentID, input)
	if err != nil {
		return initialized{}, err
	}
	var said speech
	if _, err := said.listen(c.r.Context(), run, func(string) error { return nil }); err != nil {
		return initialized{}, said.failure(err)
	}
	out.Data = initializedData{Greeting: said.kept.String(), ConversationID: run.Session}
	return out, nil
}

// An originalConversation is a session as its clients list it.
type originalConversation struct {
	ID           string    `json:"id"`
	AgentID      string    `json:"agentId"`
	AgentTitle   string    `json:"agentTitle"`
	Title        string    `json:"title"`
	Status       string    `json:"status"`
	MessageCount int       `json:"messageCount"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
}

type originalConversations struct {
	Conversations  []originalConversation            `json:"conversations"`
	GroupedByAgent map[string][]originalConversation `json:"groupedByAgent"`
}

func (s *Server) listConversations(c *call) (originalConversations, error) {
	out := originalConversations{Conversations: []originalConversation{}, GroupedByAgent: map[string][]originalConversation{}}
	titles := map[string]string{}
	for _, agent := range s.config.Cast.Agents() {
		titles[agent.ID] = agent.Title
	}
	for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user, Limit: mostSessions}) {
		if err != nil {
			return out, err
		}
		known, err := s.summaryOf(c.r.Context(), &info)
		if err != nil {
			return out, err
		}
		known.mu.Lock()
		one := originalConversation{
			ID: info.ID, AgentID: info.Agent, AgentTitle: cmp.Or(titles[info.Agent], info.Agent), Title: info.Title, Status: info.Status,
			MessageCount: known.messages, CreatedAt: info.Started, UpdatedAt: info.Updated,
		}
		known.mu.Unlock()
		out.Conversations = append(out.Conversations, one)
		out.GroupedByAgent[info.Agent] = append(out.GroupedByAgent[info.Agent], one)
	}
	return out, nil
}

// An originalMessage is what a user or an agent has said.
type originalMessage struct {
	Role      string    `json:"role"`
	Content   string    `json:"content"`
	Timestamp time.Time `json:"timestamp"`
}

type originalTalk struct {
	ID       string            `json:"id"`
	AgentID  string            `json:"agentId"`
	Title    string            `json:"title"`
	Messages []originalMessage `json:"messages"`
	Files    []file            `json:"files"`
	// Truncated says that there were more messages before these.
	Truncated bool `json:"truncated,omitempty"`
}

// mostMessages bounds the messages of a conversation that are sent at once.
const mostMessages = 2000

func (s *Server) showConversation(c *call) (originalTalk, error) {
	info, _, err := s.find(c, c.r.PathValue("id"))
	if err != nil {
		return originalTalk{}, err
	}
	out := originalTalk{ID: info.ID, AgentID: info.Agent, Title: info.Title, Messages: []originalMessage{}}
	add := func(role, content string, at time.Time) {
		if content != "" {
			out.Messages = append(out.Messages, originalMessage{role, content, at})
		}
		if len(out.Messages) > mostMessages {
			out.Messages, out.Truncated = slices.Delete(out.Messages, 0, 1), true
		}
	}
	for e, err := range s.config.Store.Events(c.r.Context(), info.ID, 0) {
		if err != nil {
			return out, err
		}
		if e.Parent != "" {
			continue // what agents say among themselves
		}
		switch b := e.Body.(type) {
		case *troupe.UserSaid:
			if !b.Hidden {
				add("user", b.Text, e.Time)
			}
		case *troupe.RunFinished:
			add("assistant", b.Output.Summary, e.Time)
		}
	}
	files, err := s.listFiles(c)
	out.Files = files.Files
	return out, err
}

// An originalNode is a file, or a directory with what is in it.
type originalNode struct {
	Name        string     `json:"name"`
	Path        string     `json:"path"`
	Type        string     `json:"type" jsonschema:"file or directory"`
	DisplayName string     `json:"displayName,omitempty"`
	Size        int64      `json:"size,omitempty"`
	Modified    *time.Time `json:"modified,omitempty"`
	IsInternal  bool       `json:"isInternal,omitempty"`
	// Children are further nodes, which no schema can say of itself.
	Children []any `json:"children,omitempty" jsonschema:"nodes like this one"`

	dirs []*originalNode // those of the children that are directories
}

type originalTree struct {
	Success bool          `json:"success"`
	Root    *originalNode `json:"root"`
}

// showTree shows the files of all conversations, by agent and conversation.
func (s *Server) showTree(c *call) (originalTree, error) {
	library, err := s.listLibrary(c)
	if err != nil {
		return originalTree{}, err
	}
	agents := map[string]string{}
	for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user}) {
		if err != nil {
			return originalTree{}, err
		}
		agents[info.ID] = info.Agent
	}
	root := &originalNode{Name: "agent-outputs", Type: "directory"}
	for _, f := range library.Files {
		session := root.child(agents[f.Session], "").child(f.Session, f.Session)
		session.DisplayName = f.Title
		at, dirs := session, strings.Split(f.Path, "/")
		for i, dir := range dirs[:len(dirs)-1] {
			at = at.child(dir, path.Join(f.Session, path.Join(dirs[:i+1]...)))
		}
		leaf := &originalNode{Name: path.Base(f.Path), Path: path.Join(f.Session, f.Path), Type: "file", Size: f.Size, Modified: &f.Changed}
		leaf.IsInternal = leaf.Name == "manifest.json"
		at.Children = append(at.Children, leaf)
	}
	return originalTree{true, root}, nil
}

// child returns the directory of a name in another.
func (n *originalNode) child(name, at string) *originalNode {
	for _, c := range n.dirs {
		if c.Name == name {
			return c
		}
	}
	c := &originalNode{Name: name, Path: cmp.Or(at, name), Type: "directory"}
	n.dirs, n.Children = append(n.dirs, c), append(n.Children, c)
	return c
}

type originalContent struct {
	Success  bool   `json:"success"`
	Path     string `json:"path"`
	Content  string `json:"content"`
	MimeType string `json:"mimeType"`
	Size     int    `json:"size"`
	// IsBinary files are not shown, and of long ones only the beginning.
	IsBinary  bool `json:"isBinary,omitempty"`
	Truncated bool `json:"truncated,omitempty"`
}

// A file above longContent bytes is cut after longLines lines.
const (
	longContent = 1 << 20
	longLines   = 5000
)

// showContent sends a file by the path that showTree has for it.
func (s *Server) showContent(c *call) (originalContent, error) {
	asked := c.r.URL.Query().Get("path")
	session, name, ok := strings.Cut(asked, "/")
	if !ok || !sessionid.Is(session) {
		return originalContent{}, refuse(http.StatusBadRequest, "path is that of a file: a conversation's id, a slash and the file")
	}
	info, _, err := s.find(c, session)
	if err != nil {
		return originalContent{}, errNoFile
	}
	content, err := s.readFile(c.r.Context(), info.ID, name)
	if err != nil {
		return originalContent{}, err
	}
	out := originalContent{Success: true, Path: asked, Content: content, MimeType: cmp.Or(mime.TypeByExtension(path.Ext(name)), "text/plain; charset=utf-8"), Size: len(content)}
	if !utf8.ValidString(content) {
		out.Content, out.IsBinary = "", true
		return out, nil
	}
	if len(content) > longContent {
		lines := strings.SplitAfterN(content, "\n", longLines+1)
		out.Content, out.Truncated = strings.Join(lines[:min(len(lines), longLines)], ""), len(lines) > longLines
	}
	return out, nil
}

type originalHealth struct {
	Status      string    `json:"status"`
	Timestamp   time.Time `json:"timestamp"`
	Uptime      float64   `json:"uptime" jsonschema:"seconds"`
	Environment string    `json:"environment"`
}

func (s *Server) showHealth(*call) (originalHealth, error) {
	return originalHealth{"ok", time.Now().UTC(), time.Since(s.started).Seconds(), "production"}, nil
}

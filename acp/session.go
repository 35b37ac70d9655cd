package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/server"
)

// A session is a conversation in the editor.
type session struct {
	agent   *agent
	project *project.Project

	// prompting is held while a prompt is answered.
	prompting    sync.Mutex
	conversation *converse.Conversation
	plan         *plan
	// allowed are the tools that the person has allowed for the whole session.
	allowed map[string]bool
	// extras are what the editor brought along, and complaint what is missing of it.
	extras    *project.Extras
	complaint string
	// model is what the person has chosen of the choices, empty for nothing.
	model   string
	choices []project.Model

	mu   sync.Mutex
	quit context.CancelFunc // ends the prompt that is being answered, nil for none
	over bool
}

// newSessionID makes a UUID of version 4.
func newSessionID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// cancel ends the prompt that is being answered.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quit != nil {
		s.quit()
	}
}

// stop ends the session's prompt and waits for it.
func (s *session) stop() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cancel()
	s.prompting.Lock()
	defer s.prompting.Unlock()
	s.leave()
}

// begin returns the context of a prompt, which cancel ends.
func (s *session) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, errors.New("the session is closed")
	}
	ctx, cancel := context.WithCancel(ctx)
	s.quit = cancel
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.quit = nil
		cancel()
	}, nil
}

// update sends the editor news of the session.
func (s *session) update(ctx context.Context, u acp.SessionUpdate) {
	// An editor that is gone takes no news, and its prompts are ended elsewhere.
	_ = s.agent.editor.SessionUpdate(ctx, acp.SessionNotification{SessionId: acp.SessionId(s.conversation.Session), Update: u})
}

// modes are the agents and flows that the person may talk with.
func (s *session) modes() *acp.SessionModeState {
	state := &acp.SessionModeState{CurrentModeId: acp.SessionModeId(s.conversation.Agent)}
	for _, a := range s.project.Agents() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{Id: acp.SessionModeId(a.ID), Name: nameOf(a), Description: optional(a.Description)})
	}
	for _, f := range s.project.Flows() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode{Id: acp.SessionModeId(f.Name), Name: f.Name, Description: optional(f.Description)})
	}
	return state
}

func nameOf(a server.Agent) string {
	name := strings.TrimSpace(a.Icon + " " + a.Name)
	if a.Title != "" && a.Title != a.Name {
		name += " (" + a.Title + ")"
	}
	if name == "" {
		return a.ID
	}
	return name
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// commands are those of the agent that has the conversation.
func (s *session) commands() []server.Command {
	for _, a := range s.project.Agents() {
		if a.ID == s.conversation.Agent {
			return a.Commands
		}
	}
	return nil
}

// slash is what a person types for a command in the editor.
func slash(cmd string) string {
	return strings.Trim(strings.Join(strings.Fields(strings.TrimLeft(cmd, "*/")), "-"), "-")
}

// announce tells the editor what it cannot know of a session: its commands, and what is
// missing of what it brought along.
func (s *session) announce(ctx context.Context) {
	if s.complaint != "" {
		s.update(ctx, acp.UpdateAgentThoughtText(s.complaint+"\n"))
	}
	s.announceCommands(ctx)
}

// announceCommands tells the editor which commands there are.
func (s *session) announceCommands(ctx context.Context) {
	list := []acp.AvailableCommand{}
	for _, c := range s.commands() {
		if name := slash(c.Cmd); name != "" {
			list = append(list, acp.AvailableCommand{
				Name: name, Description: c.Description,
				Input: &acp.AvailableCommandInput{Unstructured: &acp.UnstructuredCommandInput{Hint: "what it is about"}},
			})
		}
	}
	s.update(ctx, acp.SessionUpdate{AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{SessionUpdate: "available_commands_update", AvailableCommands: list}})
}

// spoken is what a person typed as the agent knows it: /decide becomes *decide.
func (s *session) spoken(text string) string {
	typed, ok := strings.CutPrefix(text, "/")
	if !ok {
		return text
	}
	word, rest := typed, ""
	if i := strings.IndexAny(typed, " \t\r\n"); i >= 0 {
		word, rest = typed[:i], typed[i:]
	}
	for _, c := range s.commands() {
		if strings.EqualFold(slash(c.Cmd), word) {
			return c.Cmd + rest
		}
	}
	return text
}

// failure is an error as the editor shows it.
func failure(err error) error {
	if _, ok := errors.AsType[*acp.RequestError](err); ok {
		return err
	}
	if errors.Is(err, troupe.ErrNotFound) {
		return &acp.RequestError{Code: -32002, Message: err.Error()}
	}
	message := err.Error()
	if _, ok := errors.AsType[*troupe.ModelError](err); ok {
		message = problem.Of(err).String()
	}
	return &acp.RequestError{Code: -32603, Message: message, Data: map[string]any{"details": err.Error()}}
}

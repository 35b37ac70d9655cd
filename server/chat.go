package server

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// A chatMessage is what clients of the original application send. Its attachments
// are files that sessions have written.
type chatMessage struct {
	AgentID        string           `json:"agentId"`
	Message        string           `json:"message"`
	ConversationID string           `json:"conversationId,omitempty"`
	Attachments    []chatAttachment `json:"attachments,omitempty"`
}

type chatAttachment struct {
	Filepath string `json:"filepath" jsonschema:"a file of the conversation, or a conversation's id, a slash and a file of that"`
	Filename string `json:"filename,omitempty"`
}

// A chatEvent is one of the stream that they read, which ends with [DONE].
type chatEvent struct {
	Type           string `json:"type"` // token, status, conversationId or error
	Content        string `json:"content,omitempty"`
	Message        string `json:"message,omitempty"`
	Code           string `json:"code,omitempty"` // of an error, in one word
	ConversationID string `json:"conversationId,omitempty"`
}

var doneMark = []byte("[DONE]")

func (s *Server) chat(c *call, in chatMessage) error {
	if in.ConversationID != "" {
		if _, _, err := s.find(c, in.ConversationID); err != nil {
			return err
		}
	}
	parts, err := s.chatParts(c, in)
	if err != nil {
		return err
	}
	input, err := s.input(message{Text: in.Message})
	if err != nil {
		return err
	}
	if input.IdempotencyKey, err = c.key(); err != nil {
		return err
	}
	input.Session, input.Parts = in.ConversationID, parts
	return s.stream(c, func() (feed, error) {
		run, err := s.say(c, in.AgentID, input)
		if err != nil {
			return nil, s.withSeq(c, in.ConversationID, err)
		}
		return func(ctx context.Context, out *events) error { return out.chat(ctx, run) }, nil
	})
}

// maxChatFile is the most bytes of a file that is attached by its name.
const maxChatFile = 1 << 20

// chatParts reads the files that a message names.
func (s *Server) chatParts(c *call, in chatMessage) ([]troupe.Part, error) {
	if len(in.Attachments) > mostAttachments {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a message has at most %d attachments", mostAttachments)
	}
	var parts []troupe.Part
	for _, a := range in.Attachments {
		session, name := in.ConversationID, a.Filepath
		if first, rest, ok := strings.Cut(a.Filepath, "/"); ok && sessionid.Is(first) {
			session, name = first, rest
		}
		info, _, err := s.find(c, session)
		if err != nil {
			return nil, err
		}
		content, err := s.readFile(c.r.Context(), info.ID, name)
		if err != nil {
			return nil, err
		}
		if len(content) > maxChatFile {
			return nil, refuse(http.StatusRequestEntityTooLarge, "attachment %.64q: it has more than %d bytes", name, maxChatFile)
		}
		shown := path.Base(name)
		if isPlainName(a.Filename) {
			shown = a.Filename
		}
		parts = append(parts, troupe.Part{MIME: mediaOf(name), Name: shown, Data: []byte(content)})
	}
	return parts, nil
}

// mediaOf guesses what a file is from its name: text, unless it is known not to be.
func mediaOf(name string) string {
	if media := mime.TypeByExtension(path.Ext(name)); media != "" {
		return media
	}
	return "text/plain"
}

// chat sends what a run says and does until it has ended.
func (e *events) chat(ctx context.Context, run *running) error {
	if err := e.sendJSON(chatEvent{Type: "conversationId", ConversationID: run.Session}); err != nil {
		return err
	}
	var said speech
	for {
		select {
		case h, ok := <-run.events:
			if !ok {
				return e.send(doneMark)
			}
			if err := e.tell(&said, &h); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *events) tell(said *speech, h *happening) error {
	if h.err != nil {
		why := said.failure(h.err)
		return e.sendJSON(chatEvent{Type: "error", Message: why.Detail, Code: why.Code})
	}
	if status := statusOf(&h.event); status != "" {
		if err := e.sendJSON(chatEvent{Type: "status", Message: status}); err != nil {
			return err
		}
	}
	if text := said.note(&h.event); text != "" {
		return e.sendJSON(chatEvent{Type: "token", Content: text})
	}
	return nil
}

// statusOf says in a few words what an agent is doing. The names of files that it
// only reads are its own affair.
func statusOf(e *troupe.Event) string {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent != "" {
			return e.Agent + " is working..."
		}
	case *troupe.ToolCalled:
		switch b.Tool {
		case "read_file", "list_files", "execute_workflow", "use_skill", "search_skills":
			return "Loading resources..."
		case "save_output":
			return "Writing a file..."
		}
		return fmt.Sprintf("Using %s...", b.Tool)
	case *troupe.ArtifactSaved:
		return "Saved " + path.Base(b.Path)
	case *troupe.ContextCompacted:
		return "Summing up the conversation..."
	}
	return ""
}

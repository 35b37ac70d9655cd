package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/troupe-dev/troupe"
)

// A conversation is what a model is told as one word: the context, and the task that
// waits for an answer in it.
func conversationOf(contextID string, task sdk.TaskID, waits bool) string {
	if waits {
		return contextID + "/" + string(task)
	}
	return contextID
}

// A hearing collects what an agent answers, from the events of a stream or from a task.
type hearing struct {
	contextID string
	task      sdk.TaskID
	state     sdk.TaskState
	status    string // what the latest status says
	said      string // in a message
	artifacts map[sdk.ArtifactID]*sdk.Artifact
	order     []sdk.ArtifactID
}

// ask sends a message and returns what comes of it, as a model is told. A call that is
// repeated sends the same message, which an agent may know by its id.
func ask(ctx context.Context, client *a2aclient.Client, id, message, conversation string, progress func(string) error) (string, error) {
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(message))
	m.ID = id
	contextID, task, _ := strings.Cut(conversation, "/")
	m.ContextID, m.TaskID = contextID, sdk.TaskID(task)
	h := &hearing{artifacts: map[sdk.ArtifactID]*sdk.Artifact{}}
	for event, err := range client.SendStreamingMessage(ctx, &sdk.SendMessageRequest{Message: m}) {
		if err != nil {
			return "", err
		}
		h.note(event)
		if update, ok := event.(*sdk.TaskStatusUpdateEvent); ok && h.state == sdk.TaskStateWorking && h.status != "" {
			if err := progress(statusText(&update.Status)); err != nil {
				return "", err
			}
		}
	}
	return h.result()
}

func (h *hearing) note(event sdk.Event) {
	info := event.TaskInfo()
	if info.ContextID != "" {
		h.contextID = info.ContextID
	}
	if info.TaskID != "" {
		h.task = info.TaskID
	}
	switch e := event.(type) {
	case *sdk.Message:
		h.said = textOf(e.Parts)
		h.state = sdk.TaskStateCompleted
	case *sdk.Task:
		h.status, h.state = statusText(&e.Status), e.Status.State
		for _, artifact := range e.Artifacts {
			h.keep(artifact, false)
		}
	case *sdk.TaskStatusUpdateEvent:
		h.status, h.state = statusText(&e.Status), e.Status.State
	case *sdk.TaskArtifactUpdateEvent:
		h.keep(e.Artifact, e.Append)
	}
}

func (h *hearing) keep(artifact *sdk.Artifact, appends bool) {
	known := h.artifacts[artifact.ID]
	if known == nil {
		h.order = append(h.order, artifact.ID)
	}
	if known == nil || !appends {
		copied := *artifact
		h.artifacts[artifact.ID] = &copied
		return
	}
	known.Parts = append(known.Parts, artifact.Parts...)
}

func statusText(s *sdk.TaskStatus) string {
	if s.Message == nil {
		return ""
	}
	return textOf(s.Message.Parts)
}

// result is what the model is told.
func (h *hearing) result() (string, error) {
	switch h.state {
	case sdk.TaskStateFailed, sdk.TaskStateRejected, sdk.TaskStateCanceled, sdk.TaskStateAuthRequired:
		return "", &troupe.ToolError{Class: "failed", Message: strings.TrimSpace(fmt.Sprintf("the agent did not do it (%s). %s", stateWord(h.state), h.status))}
	case sdk.TaskStateInputRequired:
		return fmt.Sprintf("The agent asks: %s\n\n(To answer, call this tool again with conversation %q. Ask the user if you do not know the answer.)",
			h.status, conversationOf(h.contextID, h.task, true)), nil
	case sdk.TaskStateCompleted:
	default:
		return "", &troupe.ToolError{Class: "failed", Message: "the agent broke off before it was done"}
	}
	var b strings.Builder
	for _, id := range h.order {
		if id != h.order[0] {
			b.WriteString("\n\n")
		}
		b.WriteString(textOf(h.artifacts[id].Parts))
	}
	for _, more := range []string{h.said, h.status} {
		if more != "" && b.Len() == 0 {
			b.WriteString(more)
		}
	}
	if h.contextID == "" {
		return b.String(), nil
	}
	return fmt.Sprintf("%s\n\n(To go on with it: conversation %q.)", b.String(), conversationOf(h.contextID, h.task, false)), nil
}

func stateWord(s sdk.TaskState) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(s), "TASK_STATE_"), "_", " "))
}

// textOf is what parts say: pieces of a text belong together, and a file is told with
// its name where it is text.
func textOf(parts sdk.ContentParts) string {
	var b strings.Builder
	for _, p := range parts {
		switch content := p.Content.(type) {
		case sdk.Text:
			b.WriteString(string(content))
		case sdk.URL:
			b.WriteString(string(content))
		case sdk.Raw:
			if strings.HasPrefix(p.MediaType, "text/") {
				fmt.Fprintf(&b, "File %s:\n%s", p.Filename, content)
			} else {
				fmt.Fprintf(&b, "(file %s, %s, %d bytes)", p.Filename, p.MediaType, len(content))
			}
		case sdk.Data:
			if data, err := json.Marshal(p.Data()); err == nil {
				b.Write(data)
			}
		}
	}
	return b.String()
}

package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
)

// A worker carries out the tasks of an agent for a user.
type worker struct {
	server      *Server
	agent, user string
}

// Execute implements [a2asrv.AgentExecutor]: it yields how the task goes, until it has
// ended or waits for an answer.
func (w *worker) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		c, in, err := w.prepare(ctx, call)
		if err != nil {
			yield(nil, err)
			return
		}
		if call.StoredTask == nil && !yield(sdk.NewSubmittedTask(call, call.Message), nil) {
			return
		}
		if !yield(sdk.NewStatusUpdateEvent(call, sdk.TaskStateWorking, nil), nil) {
			return
		}
		w.run(ctx, call, c, in, yield)
	}
}

// prepare finds the conversation that a message belongs to, and what it says.
func (w *worker) prepare(ctx context.Context, call *a2asrv.ExecutorContext) (*converse.Conversation, troupe.Input, error) {
	in, decision, err := inputOf(call.Message)
	if err != nil {
		return nil, in, refuse(err.Error())
	}
	if !sessionid.Is(call.ContextID) {
		return nil, in, refuse(fmt.Sprintf("the contextId %.64q is no UUID; leave it out to begin a conversation", call.ContextID))
	}
	c, err := converse.Continue(ctx, w.server.config.Project, call.ContextID, w.user)
	switch {
	case errors.Is(err, troupe.ErrNotFound):
		if c, err = w.begin(ctx, in.Text); err != nil {
			return nil, in, refuse(err.Error())
		}
		in.Session = call.ContextID
	case err != nil:
		return nil, in, err
	case c.Agent != w.agent:
		return nil, in, refuse(fmt.Sprintf("the context %s is with %s, not with %s; leave it out to begin a conversation with %s", call.ContextID, c.Agent, w.agent, w.agent))
	case c.Question != nil && (decision != "" || c.Question.Approval):
		answer, err := c.Answer(decisionOf(decision, in.Text), in.Text)
		if err != nil {
			return nil, in, refuse(err.Error())
		}
		in = answer
	}
	return c, in, nil
}

// begin opens a conversation, or a delivery, whose first message is the request.
func (w *worker) begin(ctx context.Context, request string) (*converse.Conversation, error) {
	p := w.server.config.Project
	switch {
	case w.agent != project.Deliver:
		return converse.Begin(ctx, p, w.agent, w.user)
	case request == "":
		return nil, errors.New("the request is empty")
	}
	return converse.BeginDelivery(ctx, p, request, p.Delivery(), w.user)
}

// refuse says what is wrong with a message, so that its sender is told.
func refuse(why string) error { return sdk.NewError(sdk.ErrInvalidParams, why) }

// run carries the message out and yields what comes of it.
func (w *worker) run(ctx context.Context, call *a2asrv.ExecutorContext, c *converse.Conversation, in troupe.Input, yield func(sdk.Event, error) bool) {
	ctx, leave, err := w.server.config.Enter(ctx, w.user)
	if err != nil {
		yield(failed(call, err.Error()), nil)
		return
	}
	defer leave()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := &telling{call: call, yield: yield, stop: stop}
	outcome, err := c.Say(ctx, in, t.note)
	if t.isOver {
		return
	}
	if err != nil {
		t.say(w.failure(call, err))
		return
	}
	if outcome.Stop != "input_requested" { // a question is no answer
		t.end(outcome.Text)
	}
	w.sendFiles(c, t)
	if w.agent == project.Deliver {
		w.sendReport(&outcome, t)
	}
	t.say(w.status(call, c, &outcome))
}

// failure is the end of a task that came to nothing.
func (w *worker) failure(call *a2asrv.ExecutorContext, err error) sdk.Event {
	if errors.Is(err, troupe.ErrCancelled) || errors.Is(err, context.Canceled) {
		return sdk.NewStatusUpdateEvent(call, sdk.TaskStateCanceled, nil)
	}
	return failed(call, strings.Join(problem.Of(err).Lines(), " "))
}

func failed(call *a2asrv.ExecutorContext, why string) sdk.Event {
	return sdk.NewStatusUpdateEvent(call, sdk.TaskStateFailed, sdk.NewMessageForTask(sdk.MessageRoleAgent, call, sdk.NewTextPart(why)))
}

// status is how a task stands when its run has ended.
func (w *worker) status(call *a2asrv.ExecutorContext, c *converse.Conversation, outcome *troupe.Outcome) sdk.Event {
	var event *sdk.TaskStatusUpdateEvent
	switch {
	case outcome.Stop == "input_requested" && c.Question != nil:
		question := sdk.NewMessageForTask(sdk.MessageRoleAgent, call, sdk.NewTextPart(c.Question.Question))
		if c.Question.Approval {
			question.Parts = append(question.Parts, sdk.NewDataPart(map[string]any{"approval": true, "tool": c.Question.Tool, "answer_with": []any{"approve", "deny"}}))
		}
		event = sdk.NewStatusUpdateEvent(call, sdk.TaskStateInputRequired, question)
	case w.agent == project.Deliver && outcome.Handoff.Meta.Status == "failed":
		event = sdk.NewStatusUpdateEvent(call, sdk.TaskStateFailed, sdk.NewMessageForTask(sdk.MessageRoleAgent, call, sdk.NewTextPart(outcome.Text)))
	case slices.Contains([]string{"answered", "handed_off", "decided"}, outcome.Stop):
		event = sdk.NewStatusUpdateEvent(call, sdk.TaskStateCompleted, nil)
	default:
		why := fmt.Sprintf("It stopped before it was done: %s.", strings.ReplaceAll(outcome.Stop, "_", " "))
		event = sdk.NewStatusUpdateEvent(call, sdk.TaskStateFailed, sdk.NewMessageForTask(sdk.MessageRoleAgent, call, sdk.NewTextPart(why)))
	}
	event.SetMeta("troupe", map[string]any{
		"session": c.Session, "stop": outcome.Stop, "input_tokens": outcome.Spent.Usage.Input, "output_tokens": outcome.Spent.Usage.Output, "cost_usd": outcome.Spent.Cost,
	})
	return event
}

// sendFiles sends what the agent has saved in the session's folder, each an artifact.
func (w *worker) sendFiles(c *converse.Conversation, t *telling) {
	for _, saved := range c.Files {
		name, ok := converse.InSession(saved)
		if !ok || !slices.Contains(t.saved, saved) {
			continue
		}
		text, media, err := converse.ReadFile(w.server.folders, c.Session, name)
		if err != nil {
			w.server.config.Log.Warn("saved file not sent", "session", c.Session, "file", name, "err", err)
			continue
		}
		part := sdk.NewRawPart([]byte(text))
		part.Filename, part.MediaType = name, media
		artifact := &sdk.Artifact{ID: sdk.ArtifactID("file/" + name), Name: name, Parts: sdk.ContentParts{part}}
		t.say(&sdk.TaskArtifactUpdateEvent{TaskID: t.call.TaskID, ContextID: t.call.ContextID, Artifact: artifact, LastChunk: true})
	}
}

// reportID is the artifact that a delivery's report is.
const reportID sdk.ArtifactID = "delivery"

// sendReport sends what a delivery was measured to be: outcome, branch, commits, checks.
func (w *worker) sendReport(outcome *troupe.Outcome, t *telling) {
	var report map[string]any
	data, err := json.Marshal(outcome.Handoff.Outputs["delivery"])
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil || report == nil {
		return // it waits, or has come to no branch
	}
	artifact := &sdk.Artifact{ID: reportID, Name: "delivery", Parts: sdk.ContentParts{sdk.NewDataPart(report)}}
	t.say(&sdk.TaskArtifactUpdateEvent{TaskID: t.call.TaskID, ContextID: t.call.ContextID, Artifact: artifact, LastChunk: true})
}

// Cancel implements [a2asrv.AgentExecutor]: it has ended when the run has.
func (w *worker) Cancel(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		if _, err := converse.Info(ctx, w.server.engine, call.ContextID, w.user); err == nil {
			if err := w.server.engine.Cancel(ctx, call.ContextID); err != nil {
				yield(nil, err)
				return
			}
		}
		yield(sdk.NewStatusUpdateEvent(call, sdk.TaskStateCanceled, nil), nil)
	}
}

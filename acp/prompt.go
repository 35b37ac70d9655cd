package acp

import (
	"context"

	"github.com/coder/acp-go-sdk"

	"github.com/troupe-dev/troupe"
)

// Prompt implements [acp.Agent]: a turn of the conversation, with the person's
// permission asked for where a rule wants that.
func (a *agent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := a.find(r.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	s.prompting.Lock()
	defer s.prompting.Unlock()
	turn, done, err := s.begin(ctx)
	if err != nil {
		return acp.PromptResponse{}, failure(err)
	}
	defer done()
	in, err := s.input(r.Prompt)
	if err != nil {
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	return s.answer(turn, in)
}

// answer has the agent answer, and asks the person as often as that needs permission.
func (s *session) answer(ctx context.Context, in troupe.Input) (acp.PromptResponse, error) {
	// What has happened is shown even if the person has had enough.
	shown := newShow(context.WithoutCancel(ctx), s)
	for {
		outcome, err := s.conversation.Say(ctx, in, shown.note)
		if ctx.Err() != nil {
			shown.breakOff()
			return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		}
		if err != nil {
			return acp.PromptResponse{}, failure(err)
		}
		question := s.conversation.Question
		if outcome.Stop != "input_requested" || question == nil || !question.Approval {
			return acp.PromptResponse{StopReason: stopReason(outcome.Stop), Usage: usage(outcome.Spent.Usage)}, nil
		}
		next, decided, err := s.askPermission(ctx, shown, question)
		if err != nil || !decided {
			return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
		}
		in = next
	}
}

// The answers to a request for permission.
const (
	allowOnce   = "allow"
	allowAlways = "allow-always"
	reject      = "reject"
)

// askPermission asks the person whether a tool may be called. It reports false where the
// person has not decided.
func (s *session) askPermission(ctx context.Context, shown *show, question *troupe.InputRequested) (troupe.Input, bool, error) {
	approve := troupe.Input{Answer: &troupe.Answer{Approved: true}}
	if s.allowed[question.Tool] {
		return approve, true, nil
	}
	call := shown.describe(question.Tool, question.Arguments)
	call.ToolCallId = shown.callID(question.CallID)
	call.Status = acp.Ptr(acp.ToolCallStatusPending)
	response, err := s.agent.editor.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: acp.SessionId(s.conversation.Session), ToolCall: call,
		Options: []acp.PermissionOption{
			{OptionId: allowOnce, Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: allowAlways, Name: "Allow " + question.Tool + " in this session", Kind: acp.PermissionOptionKindAllowAlways},
			{OptionId: reject, Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	if err != nil || response.Outcome.Selected == nil {
		return troupe.Input{}, false, err
	}
	switch response.Outcome.Selected.OptionId {
	case allowAlways:
		s.allowed[question.Tool] = true
		return approve, true, nil
	case allowOnce:
		return approve, true, nil
	}
	return troupe.Input{Answer: &troupe.Answer{Denied: true}}, true, nil
}

// stopReason is why a turn ended, in the protocol's words.
func stopReason(stop string) acp.StopReason {
	switch stop {
	case "length":
		return acp.StopReasonMaxTokens
	case "refused", "content_filter":
		return acp.StopReasonRefusal
	case "turns", "tool_calls", "tokens", "cost", "time", "handoffs", "repeated_calls":
		return acp.StopReasonMaxTurnRequests
	}
	return acp.StopReasonEndTurn
}

func usage(u troupe.Usage) *acp.Usage {
	if u.Total() == 0 {
		return nil
	}
	return &acp.Usage{InputTokens: u.Input, OutputTokens: u.Output, TotalTokens: u.Total(), CachedReadTokens: &u.CachedInput, ThoughtTokens: &u.Reasoning}
}

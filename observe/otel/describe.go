package otel

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-dev/troupe"
)

// valid repairs text that is not UTF-8: with it, OTLP could send nothing at all.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func text(key attribute.Key, value string) attribute.KeyValue { return key.String(valid(value)) }

// fail marks a span as failed. What the error says may be a prompt, an argument
// or a key, so that without content its class must do.
func (t *Tracer) fail(span trace.Span, class, message string) {
	span.SetAttributes(text(errorType, class))
	if !t.content || message == "" {
		message = class
	}
	span.SetStatus(codes.Error, valid(message))
}

// asked describes what a run was given.
func (t *Tracer) asked(b *troupe.RunStarted) []attribute.KeyValue {
	if !t.content {
		return nil
	}
	return []attribute.KeyValue{messages(inputMessages, message{Role: troupe.RoleUser, Parts: []part{textPart(b.Input.Prompt())}})}
}

// tell adds to what the model was told before the user spoke.
func (r *run) tell(t *Tracer, b *troupe.ContextLoaded) {
	if !t.content || b.Content == "" {
		return
	}
	r.told = append(r.told, textPart(b.Content))
	r.span.SetAttributes(encoded(systemInstructions, r.told))
}

// replied describes a model's reply. The log knows the model that answered, which
// stands for the one that was asked.
func (t *Tracer) replied(b *troupe.ModelReplied) []attribute.KeyValue {
	list := []attribute.KeyValue{
		finishReasons.StringSlice([]string{valid(string(b.Finish))}),
		timeToFirstChunk.Float64(b.FirstToken.Duration().Seconds()),
		troupeAttempt.Int(b.Attempt),
	}
	list = append(list, used(b.Usage, b.Cost)...)
	if b.Model != "" {
		list = append(list, text(requestModel, b.Model), text(responseModel, b.Model))
	}
	if name := providerOf(b.Provider, b.Model); name != "" {
		list = append(list, providerName.String(name))
	}
	if b.Purpose != "" {
		list = append(list, text(troupePurpose, b.Purpose))
	}
	if t.content && b.Message != nil {
		list = append(list, messages(outputMessages, messageOf(b)))
	}
	return list
}

// called describes a tool call.
func (t *Tracer) called(b *troupe.ToolCalled) []attribute.KeyValue {
	list := append(toolAttributes(b.Tool, b.CallID), troupeAttempt.Int(b.Attempt))
	if t.content {
		list = append(list, text(toolCallArguments, string(b.Arguments)))
	}
	return list
}

func toolAttributes(tool, callID string) []attribute.KeyValue {
	return []attribute.KeyValue{text(toolName, tool), text(toolCallID, callID), toolType.String("function")}
}

// result describes what a tool returned.
func (t *Tracer) result(b *troupe.ToolReturned) []attribute.KeyValue {
	list := []attribute.KeyValue{troupeSize.Int(b.Size)}
	if t.content {
		list = append(list, text(toolCallResult, b.Content))
	}
	return list
}

// finished describes what a run came to.
func (t *Tracer) finished(b *troupe.RunFinished) []attribute.KeyValue {
	list := []attribute.KeyValue{text(troupeStop, string(b.Stop))}
	if t.content {
		list = append(list, messages(outputMessages, message{Role: troupe.RoleAssistant, Parts: []part{textPart(b.Output.Summary)}}))
	}
	return list
}

// accountOf describes what was used, if that is known.
func accountOf(s troupe.Spent) []attribute.KeyValue {
	if s == (troupe.Spent{}) {
		return nil
	}
	return append(used(s.Usage, s.Cost), troupeTurns.Int(s.Turns), troupeToolCalls.Int(s.ToolCalls))
}

// used leaves out what nobody counted.
func used(u troupe.Usage, cost float64) []attribute.KeyValue {
	var list []attribute.KeyValue
	if u.Total() > 0 {
		list = append(list, inputTokens.Int(u.Input), outputTokens.Int(u.Output))
	}
	if u.CachedInput > 0 {
		list = append(list, cachedInputTokens.Int(u.CachedInput))
	}
	if u.Reasoning > 0 {
		list = append(list, reasoningTokens.Int(u.Reasoning))
	}
	if cost > 0 {
		list = append(list, troupeCost.Float64(cost))
	}
	return list
}

// mentioned describes what is worth a mention in a run's span.
func (t *Tracer) mentioned(body troupe.Body) []attribute.KeyValue {
	var list, content []attribute.KeyValue
	switch b := body.(type) {
	case *troupe.ModelFailed:
		list = append(list, text(troupeCode, b.Reason))
		list = append(list, used(b.Usage, b.Cost)...)
		content = append(content, text(troupeMessage, b.Error))
	case *troupe.LimitReached:
		list = append(list, text(troupeStop, string(b.Stop)))
	case *troupe.Noted:
		list = append(list, text(troupeCode, b.Name))
		content = append(content, text(troupeMessage, string(b.Data)))
	case *troupe.Warned:
		list = append(list, text(troupeCode, b.Code))
		content = append(content, text(troupeMessage, b.Message))
	case *troupe.HandedOff:
		list = append(list, text(troupeFrom, b.From), text(troupeTo, b.To))
		content = append(content, text(troupeMessage, b.Handoff.Prompt()))
	case *troupe.InputRequested:
		if b.Tool != "" {
			list = append(list, toolAttributes(b.Tool, b.CallID)...)
		}
		content = append(content, text(troupeQuestion, b.Question))
	case *troupe.ArtifactSaved:
		list = append(list, text(troupeType, b.Type), troupeSize.Int64(b.Size))
		content = append(content, text(troupePath, b.Path), text(troupeDescription, b.Description))
	case *troupe.ContextCompacted:
		list = append(list, troupeDropped.Int(b.Dropped), troupeKept.Int(b.Kept),
			troupeBefore.Int(b.TokensBefore), troupeAfter.Int(b.TokensAfter))
		content = append(content, text(troupeSummary, b.Summary))
	}
	if t.content {
		list = append(list, content...)
	}
	return list
}

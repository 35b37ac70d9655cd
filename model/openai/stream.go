package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
	"github.com/troupe-dev/troupe/internal/wire"
)

// An answer is what has been read of a model's answer so far.
type answer struct {
	model *Model
	emit  func(troupe.Chunk) bool
	from  *wire.Answer

	reason reason
	said   bool // text or a refusal has come
	size   int  // bytes of text, thoughts, calls and what is kept
	calls  calls
	kept   kept
	end    troupe.End
}

// completion is a chunk of a stream, or a whole answer, which has a message where
// chunks have a delta.
type completion struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	Message      *delta `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content          any               `json:"content"` // a string, or an array of parts
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        string            `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ThinkingBlocks   []json.RawMessage `json:"thinking_blocks"`
	ExtraContent     json.RawMessage   `json:"extra_content"`
	ToolCalls        []callDelta       `json:"tool_calls"`
	FunctionCall     *functionDelta    `json:"function_call"`
}

// readStream reads server-sent events up to [DONE] or, as some servers forget it,
// the end of the stream.
func (a *answer) readStream() error {
	events := sse.NewReader(a.from, a.model.client.MaxLine())
	for {
		event, err := events.Next()
		if err != nil {
			return a.broken(err)
		}
		data := bytes.TrimSpace(event.Data)
		switch {
		case len(data) == 0:
		case string(data) == "[DONE]":
			a.from.Drain()
			return a.finished(errors.New("[DONE] came without a reason for it"))
		case string(event.Name) == "error":
			return a.from.Failed(data)
		default:
			var c completion
			if err := json.Unmarshal(data, &c); err != nil {
				if event.Cut {
					return a.broken(io.ErrUnexpectedEOF)
				}
				return a.from.Incomplete(fmt.Errorf("read event: %w", err))
			}
			if err := a.take(&c); err != nil {
				return err
			}
		}
	}
}

// readWhole reads an answer that a server sends at once although asked to stream.
func (a *answer) readWhole() error {
	limit := 4 * int64(a.model.client.MaxAnswer()) // JSON may take several bytes for one
	data, err := io.ReadAll(io.LimitReader(a.from, limit+1))
	if err != nil {
		return a.from.Incomplete(err)
	}
	if int64(len(data)) > limit {
		return a.tooLarge()
	}
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		if !json.Valid(data) {
			return a.from.Incomplete(fmt.Errorf("read answer: %w", err))
		}
		return a.from.NotAnAnswer(aCompletion, data)
	}
	if c.Choices == nil && !wire.IsSet(c.Error) {
		return a.from.NotAnAnswer(aCompletion, data)
	}
	if err := a.take(&c); err != nil {
		return err
	}
	return a.finished(io.ErrUnexpectedEOF)
}

// take reads one chunk, or a whole answer. It reads the first choice only, which is
// the only one unless the caller asked for more.
func (a *answer) take(c *completion) error {
	if wire.IsSet(c.Error) {
		return a.from.Failed(c.Error)
	}
	if a.end.Model == "" {
		a.end.Model = c.Model
	}
	if wire.IsSet(c.Usage) {
		a.end.Usage = readUsage(c.Usage)
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if err := a.takeChoice(choice); err != nil {
			return err
		}
		a.reason = a.reason.or(choice.FinishReason)
	}
	return nil
}

func (a *answer) takeChoice(c *choice) error {
	d, add := &c.Delta, a.calls.add
	if c.Message != nil {
		d, add = c.Message, a.calls.addWhole
	}
	before := a.size
	if err := a.speak(d); err != nil {
		return err
	}
	a.keep(d)
	for i := range d.ToolCalls {
		a.size += add(&d.ToolCalls[i])
	}
	if d.FunctionCall != nil {
		a.size += a.calls.add(&callDelta{Function: *d.FunctionCall})
	}
	if a.size > a.model.client.MaxAnswer() || len(a.calls) > maxCalls {
		return a.tooLarge()
	}
	if a.size > before {
		a.from.Progressed()
	}
	return nil
}

// speak yields what a delta says, thoughts first.
func (a *answer) speak(d *delta) error {
	text, thought := split(d.Content)
	field := thinkingPart
	switch {
	case d.ReasoningContent != "":
		thought, field = d.ReasoningContent+thought, "reasoning_content"
	case d.Reasoning != "":
		thought, field = d.Reasoning+thought, "reasoning"
	}
	a.size += len(text) + len(thought) + len(d.Refusal)
	if thought != "" {
		if a.end.ThoughtField == "" {
			a.end.ThoughtField = field
		}
		if !a.emit(troupe.Chunk{Thought: thought}) {
			return errLeft
		}
	}
	if text != "" {
		a.said = true
		if !a.emit(troupe.Chunk{Text: text}) {
			return errLeft
		}
	}
	if d.Refusal != "" {
		a.said = true
		if !a.emit(troupe.Chunk{Refusal: d.Refusal}) {
			return errLeft
		}
	}
	return nil
}

// split reads content that is a string, or an array of parts with text or thoughts
// in them. Parts of other kinds are not for us.
func split(content any) (text, thought string) {
	if whole, ok := content.(string); ok {
		return whole, ""
	}
	var texts, thoughts strings.Builder
	parts, _ := content.([]any)
	for _, part := range parts {
		fields, _ := part.(map[string]any)
		switch fields["type"] {
		case "text":
			more, _ := fields["text"].(string)
			texts.WriteString(more)
		case "thinking":
			more, _ := split(fields["thinking"])
			thoughts.WriteString(more)
		}
	}
	return texts.String(), thoughts.String()
}

func (a *answer) keep(d *delta) {
	for _, piece := range d.ReasoningDetails {
		a.size += len(piece)
	}
	for _, piece := range d.ThinkingBlocks {
		a.size += len(piece)
	}
	a.size += len(d.ExtraContent)
	a.kept.ReasoningDetails = append(a.kept.ReasoningDetails, d.ReasoningDetails...)
	a.kept.ThinkingBlocks = append(a.kept.ThinkingBlocks, d.ThinkingBlocks...)
	if wire.IsSet(d.ExtraContent) {
		a.kept.ExtraContent = d.ExtraContent
	}
}

// broken ends an answer whose stream has ended without [DONE]: it is complete if
// the server had said why it ends.
func (a *answer) broken(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return a.from.Incomplete(err)
	}
	if errors.Is(err, sse.ErrTooLong) || errors.Is(err, wire.ErrTooLarge) {
		return a.tooLarge()
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return a.finished(err)
}

// finished yields the calls and the end, or returns an error with the cause if the
// server did not say that the answer has ended.
func (a *answer) finished(cause error) error {
	calls := a.calls.whole(&a.kept)
	finish, ok := a.reason.finish(a.said, len(calls) > 0)
	if !ok {
		if a.reason != "" {
			cause = fmt.Errorf("the server ended it with %.40q", string(a.reason))
		}
		return a.from.Incomplete(cause)
	}
	for i := range calls {
		if !a.emit(troupe.Chunk{Call: &calls[i]}) {
			return errLeft
		}
	}
	a.end.Finish = finish
	a.end.Opaque = a.kept.opaque(a.model.host, a.end.ThoughtField != "")
	if !a.emit(troupe.Chunk{End: &a.end}) {
		return errLeft
	}
	return nil
}

func (a *answer) tooLarge() error {
	client := a.model.client
	return a.from.TooLarge(fmt.Sprintf("%d bytes, %d bytes in one event, %d calls", client.MaxAnswer(), client.MaxLine(), maxCalls))
}

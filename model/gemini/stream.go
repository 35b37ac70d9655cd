package gemini

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// An answer is what has been read of a model's answer so far.
type answer struct {
	reply  wire.Reply
	events *wire.Events
	id     string // of the answer
	stop   string // why it ended
	why    string // what is said about it
	// growing is a call whose arguments come in pieces, and block its block.
	growing *growingCall
}

// content is a piece of an answer, or all of it.
type content struct {
	Candidates []struct {
		Index   int
		Content struct {
			Parts []json.RawMessage
		}
		FinishReason  json.RawMessage // a word, or its number
		FinishMessage string
	}
	PromptFeedback struct {
		BlockReason        string
		BlockReasonMessage string
	}
	UsageMetadata json.RawMessage
	ModelVersion  string
	ResponseID    string
	Error         json.RawMessage
}

// part is a piece of content.
type part struct {
	Text             *string
	Thought          bool
	ThoughtSignature string
	FunctionCall     *struct {
		ID, Name     string
		Args         json.RawMessage
		PartialArgs  []partialArg
		WillContinue bool
	}
	InlineData json.RawMessage
}

// read reads the answer to the end of the stream, which nothing else marks.
func (a *answer) read() error {
	seen := false
	for {
		event, err := a.events.Next()
		if err == io.EOF && a.stop != "" {
			return a.finish()
		}
		if err != nil {
			return a.reply.Broken(err)
		}
		if event.Done {
			continue
		}
		var c content
		if err := a.events.Decode(event.Data, &c, "Candidates", "Candidates.Content", "Candidates.Content.Parts"); err != nil {
			if event.Whole {
				return a.reply.From.NotAnAnswer(anAnswer, event.Data)
			}
			return a.reply.From.Incomplete(fmt.Errorf("read event: %w", err))
		}
		if wire.IsSet(c.Error) || string(event.Name) == "error" {
			return a.reply.From.Failed(event.Data)
		}
		seen = seen || c.Candidates != nil || c.PromptFeedback.BlockReason != "" || wire.IsSet(c.UsageMetadata)
		if event.Whole && !seen {
			return a.reply.From.NotAnAnswer(anAnswer, event.Data)
		}
		if err := a.take(&c); err != nil {
			return err
		}
	}
}

// take reads a piece. Of several candidates the first one counts.
func (a *answer) take(c *content) error {
	if c.ModelVersion != "" {
		a.reply.End.Model = c.ModelVersion
	}
	if c.ResponseID != "" {
		a.id = c.ResponseID
	}
	if usage, ok := usageOf(c.UsageMetadata); ok {
		a.reply.End.Usage = usage
	}
	if block := c.PromptFeedback.BlockReason; block != "" && len(c.Candidates) == 0 {
		a.stop, a.why = "BLOCKED", c.PromptFeedback.BlockReasonMessage
	}
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 {
			continue
		}
		for _, raw := range candidate.Content.Parts {
			if err := a.takePart(raw); err != nil {
				return err
			}
		}
		if wire.IsSet(candidate.FinishReason) && string(candidate.FinishReason) != "0" {
			a.stop, a.why = strings.Trim(string(candidate.FinishReason), `"`), candidate.FinishMessage
		}
	}
	return nil
}

func (a *answer) takePart(raw json.RawMessage) error {
	var p part
	if err := a.events.Decode(raw, &p); err != nil {
		return a.reply.From.Incomplete(fmt.Errorf("read part: %w", err))
	}
	if err := a.reply.Weigh(len(p.ThoughtSignature)); err != nil {
		return err
	}
	switch {
	case p.FunctionCall != nil:
		return a.takeCall(&p)
	case p.Text != nil && p.Thought:
		a.beginPart(wire.ThoughtBlock, p.ThoughtSignature)
		return a.reply.Thought(*p.Text)
	case p.Text != nil:
		a.beginPart(wire.TextBlock, p.ThoughtSignature)
		return a.reply.Text(*p.Text)
	case wire.IsSet(p.InlineData):
		return nil // pictures and sound that the model makes are not for us
	}
	// What the server runs itself goes back as it came.
	b := a.reply.Block(wire.OtherBlock)
	b.Data = append(b.Data, raw...)
	return a.reply.Weigh(len(raw))
}

// beginPart begins a block, unless the part goes on with the last one: nothing that
// is signed may be put together with anything else.
func (a *answer) beginPart(kind wire.BlockKind, signature string) {
	last := a.reply.Last()
	if last == nil || last.Kind != kind || last.Signature != "" || signature != "" {
		a.reply.Block(kind).Signature = signature
	}
}

func (a *answer) takeCall(p *part) error {
	call := p.FunctionCall
	if g := a.growing; g != nil && call.Name == "" {
		return a.growCall(g, call.PartialArgs, call.WillContinue)
	}
	if err := a.endCall(); err != nil {
		return err
	}
	b := a.reply.Block(wire.CallBlock)
	b.Signature = p.ThoughtSignature
	if err := a.reply.Weigh(len(call.Name) + len(call.Args)); err != nil {
		return err
	}
	if call.WillContinue || len(call.PartialArgs) > 0 {
		a.growing = &growingCall{block: b, call: troupe.ToolCall{ID: call.ID, Name: call.Name}, arguments: map[string]any{}}
		return a.growCall(a.growing, call.PartialArgs, call.WillContinue)
	}
	arguments := string(call.Args)
	if arguments == "null" {
		arguments = ""
	}
	return a.reply.Call(b, troupe.ToolCall{ID: call.ID, Name: call.Name, Arguments: arguments}, a.madeID)
}

// madeID is an id for a call that came without, which no other answer has. It goes
// back like one that came.
func (a *answer) madeID(n int) string {
	return "call_" + wire.CallID(a.id, false, 8) + "_" + strconv.Itoa(n)
}

// finish ends the answer.
func (a *answer) finish() error {
	finish, err := a.finishOf()
	if err != nil {
		return err
	}
	if err := a.endCall(); err != nil {
		return err
	}
	if finish == troupe.FinishFiltered {
		if err := a.reply.Refusal(a.why); err != nil {
			return err
		}
	}
	return a.reply.Finish(finish)
}

// finishOf maps Google's word for the end, or its number, to ours.
func (a *answer) finishOf() (troupe.Finish, error) {
	switch a.stop {
	case "STOP", "1":
		return troupe.FinishStop, nil
	case "MAX_TOKENS", "2":
		return troupe.FinishLength, nil
	case "SAFETY", "3", "RECITATION", "4", "LANGUAGE", "6", "BLOCKLIST", "7", "PROHIBITED_CONTENT", "8", "SPII", "9", "MODEL_ARMOR", "BLOCKED",
		"IMAGE_SAFETY", "11", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return troupe.FinishFiltered, nil
	case "MALFORMED_FUNCTION_CALL", "10", "UNEXPECTED_TOOL_CALL", "12", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		message := "the model called a tool in a way that cannot be read, or one that it does not have"
		if a.why != "" {
			message += ": " + a.why
		}
		return "", &troupe.ModelError{
			Status: a.reply.From.Status, Code: a.stop, Reason: "incomplete", Temporary: true, Err: io.ErrUnexpectedEOF, Message: wire.Shorten(message),
		}
	}
	if a.reply.Said() || a.reply.Called() {
		return troupe.FinishStop, nil
	}
	return "", a.reply.From.Incomplete(fmt.Errorf("the server ended it with %.40q", a.stop))
}

// usageOf reads token counts. It is false for those that say nothing.
func usageOf(raw json.RawMessage) (troupe.Usage, bool) {
	var c struct {
		Prompt     wire.Count `json:"promptTokenCount"`
		ToolPrompt wire.Count `json:"toolUsePromptTokenCount"`
		Cached     wire.Count `json:"cachedContentTokenCount"`
		Candidates wire.Count `json:"candidatesTokenCount"`
		Thoughts   wire.Count `json:"thoughtsTokenCount"`
	}
	if !wire.IsSet(raw) {
		return troupe.Usage{}, false
	}
	_ = json.Unmarshal(raw, &c) // members of an unexpected type are skipped
	usage := wire.Usage(c.Prompt+c.ToolPrompt, c.Cached, 0, c.Candidates+c.Thoughts, c.Thoughts)
	return usage, usage != troupe.Usage{}
}

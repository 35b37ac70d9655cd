package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// An answer is what has been read of a model's answer so far.
type answer struct {
	model  *Model
	emit   func(troupe.Chunk) bool
	from   *wire.Answer
	events *wire.Events

	choice int // the index of the choice that is read, -1 as long as none was
	reason reason
	done   bool // the server has said that the answer has ended
	said   bool // text or a refusal has come
	size   int  // bytes of text, thoughts, calls and what is kept
	shown  int  // bytes of calls that progress was shown of
	speech speech
	calls  calls
	kept   kept
	end    troupe.End
	// pattern is what the chunks have in common.
	pattern pattern
}

// completion is a chunk of a stream, or a whole answer.
type completion struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
	troubles
}

type choice struct {
	Index        index           `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"`
	FinishReason label           `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"` // Moonshot's
	Error        json.RawMessage `json:"error"`
	Text         string          `json:"text"` // of servers that speak the older completions
}

type delta struct {
	Content          any               `json:"content"` // a string, or an array of parts
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        string            `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ThinkingBlocks   []json.RawMessage `json:"thinking_blocks"`
	ExtraContent     json.RawMessage   `json:"extra_content"`
	ToolCalls        callList          `json:"tool_calls"`
	FunctionCall     *functionDelta    `json:"function_call"`
	FinishReason     label             `json:"finish_reason"` // of servers that put it here
}

// read reads the answer to its end: [DONE], the end of a whole document or, as some
// servers forget both, the end of the stream.
func (a *answer) read() error {
	var c completion // one for all: it is large, and nothing of it is kept
	for {
		event, err := a.events.Next()
		switch {
		case err != nil:
			return a.broken(err)
		case event.Done:
			a.done = true
			a.from.Drain()
			return a.finished(errors.New("[DONE] came without a reason for it"))
		case string(event.Name) == "error":
			return a.from.Failed(event.Data)
		}
		if err := a.readEvent(event, &c); err != nil {
			return err
		}
	}
}

// readEvent reads a chunk, or a whole answer, by way of c.
func (a *answer) readEvent(event wire.Event, c *completion) error {
	if !event.Whole && a.pattern.fits(event.Data, c) {
		return a.take(c, false)
	}
	*c = completion{}
	if err := a.events.Decode(event.Data, c, "choices", "choices.delta", "choices.message"); err != nil {
		if *c, err = readOdd(event.Data, err); err != nil && event.Whole {
			return a.from.NotAnAnswer(aCompletion, event.Data)
		}
		if err != nil {
			return a.from.Incomplete(fmt.Errorf("read event: %w", err))
		}
	}
	if trouble := c.trouble(event.Data); trouble != nil {
		a.count(c.Usage)
		return a.from.Failed(trouble)
	}
	if event.Whole && c.Choices == nil {
		return a.from.NotAnAnswer(aCompletion, event.Data)
	}
	if !event.Whole {
		a.pattern.learn(event.Data, c)
	}
	return a.take(c, event.Whole)
}

// take reads one chunk, or a whole answer. It reads one choice only, which is the
// only one unless the caller asked for more.
func (a *answer) take(c *completion, whole bool) error {
	if a.end.Model == "" {
		a.end.Model = c.Model
	}
	a.count(c.Groq.Usage)
	a.count(c.Usage)
	if a.choice < 0 && len(c.Choices) > 0 {
		a.choice = c.Choices[0].Index.n
		for i := range c.Choices {
			a.choice = min(a.choice, c.Choices[i].Index.n)
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.n != a.choice {
			continue
		}
		a.count(choice.Usage)
		if err := a.takeChoice(choice, whole); err != nil {
			return err
		}
		a.reason = a.reason.or(string(choice.FinishReason))
		for _, d := range []*delta{choice.Delta, choice.Message} {
			if d != nil && a.reason == "" {
				a.reason = a.reason.or(string(d.FinishReason))
			}
		}
	}
	a.done = a.done || whole && len(c.Choices) > 0
	return nil
}

// takeChoice reads what a choice says. In a stream the delta does, and a message
// beside it has all that was said so far; one alone is a whole answer. In a whole
// answer the message does, and may have an empty delta beside it.
func (a *answer) takeChoice(c *choice, whole bool) error {
	before := a.size
	var err error
	switch {
	case c.Message == nil && c.Delta == nil && c.Text != "":
		err = a.takeDelta(&delta{Content: c.Text}, a.calls.add)
	case c.Message == nil && c.Delta == nil:
	case c.Message == nil || !whole && c.Delta != nil && !c.Delta.isEmpty():
		err = a.takeDelta(c.Delta, a.calls.add)
	case !whole && (a.said || len(a.calls) > 0 || c.Delta != nil && c.FinishReason == ""):
		// All of it was said before, piece by piece.
	default:
		err = a.takeDelta(c.Message, a.calls.addWhole)
	}
	if err != nil {
		return err
	}
	if a.size > a.model.client.MaxAnswer() || len(a.calls) > maxCalls {
		return a.tooLarge()
	}
	if a.size > before {
		a.from.Progressed()
	}
	return nil
}

func (d *delta) isEmpty() bool {
	text, _ := d.Content.(string)
	parts, _ := d.Content.([]any)
	return text == "" && len(parts) == 0 && d.Refusal == "" && d.ReasoningContent == "" && d.Reasoning == "" &&
		d.ReasoningDetails == nil && d.ThinkingBlocks == nil && d.ExtraContent == nil && d.ToolCalls == nil && d.FunctionCall == nil
}

func (a *answer) takeDelta(d *delta, add func([]callDelta) int) error {
	if err := a.speak(d); err != nil {
		return err
	}
	a.keep(d)
	added := add(d.ToolCalls)
	if f := d.FunctionCall; f != nil && len(d.ToolCalls) == 0 && (f.Name != "" || argumentText(f.Arguments) != "") {
		added = a.calls.add([]callDelta{{Function: *f}})
	}
	a.size += added
	return a.showProgress(added)
}

// showProgress tells of a call that is growing: when it begins, and then now and
// again.
func (a *answer) showProgress(added int) error {
	const step = 512
	if added == 0 || len(a.calls) == 0 {
		return nil
	}
	call := a.calls[len(a.calls)-1]
	if grown := call.arguments.size(); call.name != "" && (a.shown == 0 || grown < a.shown || grown >= a.shown+step) {
		a.shown = max(grown, 1)
		return a.show(troupe.Chunk{Growing: call.name, Grown: grown})
	}
	return nil
}

func (a *answer) show(c troupe.Chunk) error {
	if !a.emit(c) {
		return errLeft
	}
	return nil
}

// speak yields what a delta says, thoughts first.
func (a *answer) speak(d *delta) error {
	text, thought, refusal := split(d.Content)
	field := thinkingPart
	switch {
	case d.ReasoningContent != "":
		thought, field = d.ReasoningContent+thought, "reasoning_content"
	case d.Reasoning != "":
		thought, field = d.Reasoning+thought, "reasoning"
	case thought == "" && a.thinksIn("reasoning_details") && len(d.ReasoningDetails) > 0:
		thought, field = detailText(d.ReasoningDetails), "reasoning_details"
	case thought == "" && a.thinksIn("thinking_blocks"):
		thought, field = detailText(d.ThinkingBlocks), "thinking_blocks"
	}
	a.size += len(text) + len(thought) + len(d.Refusal) + len(refusal)
	if err := a.think(thought, field); err != nil {
		return err
	}
	if text != "" {
		if err := a.tell(a.speech.add(text)); err != nil {
			return err
		}
	}
	if d.Refusal+refusal != "" {
		a.said = true
		return a.show(troupe.Chunk{Refusal: d.Refusal + refusal})
	}
	return nil
}

// thinksIn reports whether thoughts are to be read from a field: not if they have
// come in another one, because that says the same.
func (a *answer) thinksIn(field string) bool {
	return a.end.ThoughtField == "" || a.end.ThoughtField == field
}

func (a *answer) think(thought, field string) error {
	if thought == "" {
		return nil
	}
	if a.end.ThoughtField == "" {
		a.end.ThoughtField = field
	}
	return a.show(troupe.Chunk{Thought: thought})
}

// tell yields what was thought and said in the text.
func (a *answer) tell(t told) error {
	if t.wasThought && !a.said { // nothing of it was shown
		t = told{thought: t.thought + strings.TrimSpace(t.said), said: t.after}
	}
	if err := a.think(t.thought, thinkTag); err != nil {
		return err
	}
	if err := a.say(t.said); err != nil {
		return err
	}
	if t.wasThought {
		a.said = false
		a.end.ThoughtField = cmp.Or(a.end.ThoughtField, thinkTag)
		a.model.client.Note(wire.LateThoughts + ": have its server tell them apart (vLLM: --reasoning-parser, llama.cpp: --reasoning-format deepseek)")
		if err := a.show(troupe.Chunk{WasThought: true}); err != nil {
			return err
		}
	}
	return a.say(t.after)
}

func (a *answer) say(text string) error {
	if text == "" {
		return nil
	}
	a.said = true
	return a.show(troupe.Chunk{Text: text})
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

// broken ends an answer whose events have ended without [DONE]: it is complete if
// the server had said why it ends, or if it was one whole document.
func (a *answer) broken(err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return a.from.Incomplete(err)
	case errors.Is(err, wire.ErrTooLarge):
		return a.tooLarge()
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return a.finished(err)
}

// finished yields the calls and the end, or returns an error with the cause if the
// server did not say that the answer has ended.
func (a *answer) finished(cause error) error {
	calls := a.calls.whole(&a.kept)
	wasCalls := a.speech.state == inCalls
	last, written := a.speech.end()
	if len(calls) == 0 {
		calls = withIDs(written)
	}
	hasSaid := (a.said || last.said != "") && !last.wasThought || last.after != ""
	if wasCalls && last.said+last.after != "" {
		a.model.client.Note("the model writes into its text what looks like a call and cannot be carried out: its server or its template does not know its way to call")
	}
	reason := a.reason
	if reason == "" && a.done && a.calls.areComplete() && (hasSaid || len(calls) > 0) {
		reason = "stop"
	}
	finish, ok := reason.finish(hasSaid, len(calls) > 0)
	if !ok {
		if a.reason != "" {
			cause = fmt.Errorf("the server ended it with %.40q", string(a.reason))
		}
		return a.from.Incomplete(cause)
	}
	if err := a.tell(last); err != nil {
		return err
	}
	for i := range calls {
		if err := a.show(troupe.Chunk{Call: &calls[i]}); err != nil {
			return err
		}
	}
	a.end.Finish = finish
	a.end.Opaque = a.kept.opaque(a.model.host, a.model.name, a.end.ThoughtField != "")
	return a.show(troupe.Chunk{End: &a.end})
}

// withIDs gives ids to calls that came without.
func withIDs(calls []troupe.ToolCall) []troupe.ToolCall {
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", i+1)
	}
	return calls
}

func (a *answer) tooLarge() error {
	client := a.model.client
	return a.from.TooLarge(fmt.Sprintf("%d bytes, %d bytes in one event, %d calls", client.MaxAnswer(), client.MaxLine(), maxCalls))
}

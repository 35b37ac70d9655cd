package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// An answer is what has been read of a model's answer so far.
type answer struct {
	reply   wire.Reply
	events  *wire.Events
	items   map[int]*item
	order   []*item
	refused bool
}

// An item is one of those that an answer is made of.
type item struct {
	kind   string
	block  *wire.Block
	said   strings.Builder // what was yielded of it
	call   troupe.ToolCall
	grown  strings.Builder // arguments
	isDone bool
	data   itemData
}

// event is an event of a stream.
type event struct {
	Type        string          `json:"type"`
	OutputIndex int             `json:"output_index"`
	Delta       string          `json:"delta"`
	Item        json.RawMessage `json:"item"`
	Response    *response       `json:"response"`
	Error       json.RawMessage `json:"error"`
}

// response is the whole answer.
type response struct {
	Object     string            `json:"object"`
	Model      string            `json:"model"`
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      json.RawMessage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// sentItem is an item as it is sent.
type sentItem struct {
	Type             string    `json:"type"`
	ID               string    `json:"id"`
	Phase            string    `json:"phase"`
	Namespace        string    `json:"namespace"`
	CallID           string    `json:"call_id"`
	Name             string    `json:"name"`
	Arguments        string    `json:"arguments"`
	Role             string    `json:"role"`
	Content          []content `json:"content"`
	Summary          []content `json:"summary"`
	EncryptedContent string    `json:"encrypted_content"`
}

type content struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// read reads the answer to its end.
func (a *answer) read() error {
	for {
		next, err := a.events.Next()
		switch {
		case err != nil:
			return a.reply.Broken(err)
		case next.Done:
			continue
		}
		var e event
		if err := a.events.Decode(next.Data, &e, "response", "delta"); err != nil {
			if next.Whole {
				return a.reply.From.NotAnAnswer(aResponse, next.Data)
			}
			return a.reply.From.Incomplete(fmt.Errorf("read event: %w", err))
		}
		if e.Type == "error" || string(next.Name) == "error" || e.Type == "" && wire.IsSet(e.Error) && !next.Whole {
			if wire.IsSet(e.Error) {
				next.Data = e.Error
			}
			return a.reply.From.Failed(next.Data)
		}
		if next.Whole {
			return a.readWhole(next.Data)
		}
		isEnd, err := a.take(&e)
		if err != nil || isEnd {
			return err
		}
	}
}

// readWhole reads an answer that came at once.
func (a *answer) readWhole(data []byte) error {
	var r response
	if err := a.events.Decode(data, &r, "output"); err != nil {
		return a.reply.From.NotAnAnswer(aResponse, data)
	}
	if wire.IsSet(r.Error) {
		return a.reply.From.Failed(r.Error)
	}
	if r.Status == "" || r.Output == nil && r.Object != "response" {
		return a.reply.From.NotAnAnswer(aResponse, data)
	}
	return a.finish(&r)
}

// take reads an event, and reports whether it is the last. Events that nobody knows
// are skipped.
func (a *answer) take(e *event) (isEnd bool, err error) {
	switch e.Type {
	case "response.output_item.added":
		_, err = a.begin(e.OutputIndex, e.Item)
	case "response.output_item.done":
		err = a.done(e.OutputIndex, e.Item)
	case "response.output_text.delta":
		err = a.say(a.itemAt(e.OutputIndex, "message"), e.Delta)
	case "response.refusal.delta":
		err = a.refuse(a.itemAt(e.OutputIndex, "message"), e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		err = a.think(a.itemAt(e.OutputIndex, "reasoning"), e.Delta)
	case "response.function_call_arguments.delta":
		i := a.itemAt(e.OutputIndex, "function_call")
		i.grown.WriteString(e.Delta)
		if err = a.reply.Weigh(len(e.Delta)); err == nil {
			err = a.reply.Growing(i.call.Name, i.grown.Len())
		}
	case "response.completed", "response.done", "response.incomplete", "response.failed":
		if e.Response == nil {
			return false, a.reply.From.Incomplete(fmt.Errorf("%s says nothing", e.Type))
		}
		if wire.IsSet(e.Response.Error) {
			return true, a.reply.From.Failed(e.Response.Error)
		}
		a.reply.From.Drain()
		return true, a.finish(e.Response)
	}
	return false, err
}

// itemAt is the item at a place, which begins now if it has not.
func (a *answer) itemAt(index int, kind string) *item {
	if i := a.items[index]; i != nil {
		return i
	}
	i := &item{kind: kind}
	switch kind {
	case "message":
		i.block = a.reply.Block(wire.TextBlock)
	case "reasoning":
		i.block = a.reply.Block(wire.ThoughtBlock)
	case "function_call":
		i.block = a.reply.Block(wire.CallBlock)
	}
	a.items[index] = i
	a.order = append(a.order, i)
	return i
}

func (a *answer) begin(index int, raw json.RawMessage) (*item, error) {
	var s sentItem
	if err := a.events.Decode(raw, &s); err != nil {
		return nil, a.reply.From.Incomplete(fmt.Errorf("read item: %w", err))
	}
	i := a.itemAt(index, s.Type)
	if i.kind == "function_call" {
		i.call.ID, i.call.Name = s.CallID, s.Name
		if err := a.reply.Weigh(len(s.Name)); err != nil {
			return i, err
		}
		return i, a.reply.Growing(s.Name, i.grown.Len())
	}
	return i, nil
}

// done takes in an item as it is in the end, which goes before what came of it in
// pieces.
func (a *answer) done(index int, raw json.RawMessage) error {
	var s sentItem
	if err := a.events.Decode(raw, &s); err != nil {
		return a.reply.From.Incomplete(fmt.Errorf("read item: %w", err))
	}
	i := a.itemAt(index, s.Type)
	if i.isDone {
		if i.kind == "reasoning" && i.block.Signature == "" {
			i.block.Signature = s.EncryptedContent // Azure sends it with the end only
		}
		return nil
	}
	i.isDone = true
	switch i.kind {
	case "message":
		return a.doneMessage(i, &s)
	case "reasoning":
		return a.doneReasoning(i, &s)
	case "function_call":
		i.call.ID, i.call.Name = s.CallID, s.Name
		i.data.Namespace = s.Namespace
		more := len(s.Arguments) - i.grown.Len()
		if s.Arguments != "" {
			i.grown.Reset()
			i.grown.WriteString(s.Arguments)
		}
		return a.reply.Weigh(max(more, 0))
	case "image_generation_call", "":
		return nil // too large to go back, and not for us
	}
	i.block = a.reply.Block(wire.OtherBlock)
	i.block.Data = append(i.block.Data, raw...)
	return a.reply.Weigh(len(raw))
}

func (a *answer) doneMessage(i *item, s *sentItem) error {
	i.data.Phase = s.Phase
	var text, refusal string
	for _, c := range s.Content {
		if c.Type == "output_text" {
			text += c.Text
		}
		refusal += c.Refusal
	}
	if rest, ok := strings.CutPrefix(text, i.said.String()); ok {
		if err := a.say(i, rest); err != nil {
			return err
		}
	}
	if !a.refused {
		return a.refuse(i, refusal)
	}
	return nil
}

func (a *answer) doneReasoning(i *item, s *sentItem) error {
	var whole string
	data := reasoningData{ID: s.ID}
	for _, c := range s.Summary {
		whole += c.Text
		data.Summary = append(data.Summary, len(c.Text))
	}
	for _, c := range s.Content {
		whole += c.Text
		data.Content = append(data.Content, len(c.Text))
	}
	if rest, ok := strings.CutPrefix(whole, i.said.String()); ok {
		if err := a.think(i, rest); err != nil {
			return err
		}
	} else {
		data.Summary, data.Content = []int{i.said.Len()}, nil
	}
	i.block.Signature = s.EncryptedContent
	i.block.Data, _ = json.Marshal(data) // it is made of texts and numbers
	return a.reply.Weigh(len(s.EncryptedContent))
}

func (a *answer) say(i *item, text string) error {
	i.said.WriteString(text)
	return a.reply.Text(text)
}

func (a *answer) think(i *item, thought string) error {
	i.said.WriteString(thought)
	return a.reply.Thought(thought)
}

func (a *answer) refuse(_ *item, text string) error {
	a.refused = a.refused || text != ""
	return a.reply.Refusal(text)
}

// finish takes in what only the end has, and ends the answer.
func (a *answer) finish(r *response) error {
	a.reply.End.Model = r.Model
	a.count(r.Usage)
	finish, err := a.finishOf(r)
	if err != nil {
		return err
	}
	for index, raw := range r.Output {
		if err := a.done(index, raw); err != nil {
			return err
		}
	}
	for _, i := range a.order {
		if i.block == nil || i.block.Kind == wire.OtherBlock {
			continue
		}
		if i.data != (itemData{}) {
			i.block.Data, _ = json.Marshal(i.data)
		}
		if i.kind == "function_call" {
			i.call.Arguments = i.grown.String()
			if err := a.reply.Call(i.block, i.call, func(n int) string { return "call_" + strconv.Itoa(n) }); err != nil {
				return err
			}
		}
	}
	return a.reply.Finish(finish)
}

// finishOf maps how the server says that the answer ended to ours.
func (a *answer) finishOf(r *response) (troupe.Finish, error) {
	switch r.Status {
	case "completed", "complete", "":
		return troupe.FinishStop, nil
	case "incomplete":
		if slices.Contains([]string{"content_filter", "safety"}, r.Incomplete.Reason) {
			return troupe.FinishFiltered, nil
		}
		return troupe.FinishLength, nil
	}
	return "", a.reply.From.Incomplete(fmt.Errorf("the server says that it is %.40q", r.Status))
}

// count takes in token counts and a cost.
func (a *answer) count(raw json.RawMessage) {
	var c struct {
		Input   wire.Count `json:"input_tokens"`
		Details struct {
			Cached  wire.Count `json:"cached_tokens"`
			Written wire.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Output        wire.Count `json:"output_tokens"`
		OutputDetails struct {
			Reasoning wire.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		Cost  *wire.Count `json:"cost"`              // OpenRouter
		Ticks *wire.Count `json:"cost_in_usd_ticks"` // xAI: 10¹⁰ are a dollar
	}
	if !wire.IsSet(raw) {
		return
	}
	_ = json.Unmarshal(raw, &c) // members of an unexpected type are skipped
	a.reply.End.Usage = wire.Usage(c.Input, c.Details.Cached, c.Details.Written, c.Output, c.OutputDetails.Reasoning)
	switch {
	case c.Ticks != nil:
		dollars := float64(*c.Ticks) / 1e10
		a.reply.End.Cost = &dollars
	case c.Cost != nil:
		dollars := float64(*c.Cost)
		a.reply.End.Cost = &dollars
	}
}

package anthropic

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
	open   map[int]*piece
	order  []*piece
	counts counts
	stop   string // why it ended
	why    string // what is said about a refusal
}

// A piece is a block that is being read.
type piece struct {
	kind  string
	block *wire.Block // nil for one that is skipped
	call  troupe.ToolCall
	// input is a call's arguments as the block began with them, and grown what came
	// in pieces then.
	input json.RawMessage
	grown strings.Builder
	raw   json.RawMessage
}

// event is an event of a stream, or a whole answer.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *message        `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Content     json.RawMessage `json:"content"`
	StopReason  string          `json:"stop_reason"`
	StopDetails stopDetails     `json:"stop_details"`
}

type stopDetails struct {
	Explanation string `json:"explanation"`
}

type message struct {
	Model       string            `json:"model"`
	Content     []json.RawMessage `json:"content"`
	StopReason  string            `json:"stop_reason"`
	StopDetails stopDetails       `json:"stop_details"`
	Usage       json.RawMessage   `json:"usage"`
}

// read reads the answer to its end.
func (a *answer) read() error {
	for {
		next, err := a.events.Next()
		switch {
		case err != nil:
			return a.reply.Broken(err)
		case next.Done:
			continue // some gateways end every stream so
		}
		var e event
		if err := a.events.Decode(next.Data, &e, "message", "content_block", "delta"); err != nil {
			if next.Whole {
				return a.reply.From.NotAnAnswer(aMessage, next.Data)
			}
			return a.reply.From.Incomplete(fmt.Errorf("read event: %w", err))
		}
		if e.Type == "error" || string(next.Name) == "error" || e.Type == "" && wire.IsSet(e.Error) {
			if wire.IsSet(e.Error) {
				next.Data = e.Error
			}
			return a.reply.From.Failed(next.Data)
		}
		if next.Whole {
			return a.readWhole(next.Data)
		}
		isEnd, err := a.take(&e)
		if err != nil {
			return err
		}
		if isEnd {
			a.reply.From.Drain()
			return a.finish()
		}
	}
}

// readWhole reads an answer that came at once.
func (a *answer) readWhole(data []byte) error {
	var m message
	if err := a.events.Decode(data, &m, "content"); err != nil || m.Content == nil {
		return a.reply.From.NotAnAnswer(aMessage, data)
	}
	a.reply.End.Model = m.Model
	a.counts.add(m.Usage)
	for i, raw := range m.Content {
		if err := a.begin(i, raw); err != nil {
			return err
		}
	}
	a.stop, a.why = m.StopReason, m.StopDetails.Explanation
	return a.finish()
}

// take reads an event, and reports whether it is the last. Events that nobody knows
// are skipped.
func (a *answer) take(e *event) (isEnd bool, err error) {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			a.reply.End.Model = e.Message.Model
			a.counts.add(e.Message.Usage)
		}
	case "content_block_start":
		return false, a.begin(e.Index, e.Block)
	case "content_block_delta":
		return false, a.grow(e.Index, &e.Delta)
	case "message_delta":
		a.counts.add(e.Usage)
		if e.Delta.StopReason != "" {
			a.stop, a.why = e.Delta.StopReason, e.Delta.StopDetails.Explanation
		}
	case "message_stop":
		return true, nil
	}
	return false, nil
}

// begin takes in a block as it begins, or all of it.
func (a *answer) begin(index int, raw json.RawMessage) error {
	var b struct {
		Type, Text, Thinking, Signature, ID, Name string
		Input                                     json.RawMessage
	}
	if err := a.events.Decode(raw, &b); err != nil {
		return a.reply.From.Incomplete(fmt.Errorf("read block: %w", err))
	}
	p := &piece{kind: b.Type}
	a.open[index] = p
	a.order = append(a.order, p)
	switch {
	case b.Type == "text":
		p.block = a.reply.Block(wire.TextBlock)
		return a.reply.Text(b.Text)
	case b.Type == "thinking":
		p.block = a.reply.Block(wire.ThoughtBlock)
		p.block.Signature = b.Signature
		if err := a.reply.Weigh(len(b.Signature)); err != nil {
			return err
		}
		return a.reply.Thought(b.Thinking)
	case b.Type == "tool_use":
		p.block = a.reply.Block(wire.CallBlock)
		p.call, p.input = troupe.ToolCall{ID: b.ID, Name: b.Name}, b.Input
		if err := a.reply.Weigh(len(b.Name) + len(b.Input)); err != nil {
			return err
		}
		return a.reply.Growing(b.Name, 0)
	case goesBack(b.Type):
		p.block = a.reply.Block(wire.OtherBlock)
		p.raw = append(p.raw, raw...)
		return a.reply.Weigh(len(raw))
	}
	return nil
}

// goesBack reports whether a block that is neither text nor thought nor call has to
// be sent back: encrypted thoughts, and what the server did itself.
func goesBack(kind string) bool {
	switch kind {
	case "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction":
		return true
	}
	return strings.HasSuffix(kind, "_tool_result")
}

// grow takes in more of a block.
func (a *answer) grow(index int, d *delta) error {
	p := a.open[index]
	if p == nil {
		p = &piece{}
		a.open[index] = p
	}
	switch d.Type {
	case "text_delta":
		return a.reply.Text(d.Text)
	case "thinking_delta":
		return a.reply.Thought(d.Thinking)
	case "signature_delta":
		if p.block != nil {
			p.block.Signature += d.Signature
		}
		return a.reply.Weigh(len(d.Signature))
	case "input_json_delta":
		p.grown.WriteString(d.PartialJSON)
		if err := a.reply.Weigh(len(d.PartialJSON)); err != nil {
			return err
		}
		return a.reply.Growing(p.call.Name, p.grown.Len())
	case "compaction_delta":
		p.raw = withMember(p.raw, "content", d.Content)
		return a.reply.Weigh(len(d.Content))
	}
	return nil
}

// finish puts the blocks together and ends the answer.
func (a *answer) finish() error {
	finish, err := a.finishOf()
	if err != nil {
		return err
	}
	for _, p := range a.order {
		switch {
		case p.block == nil:
		case p.block.Kind == wire.CallBlock:
			p.call.Arguments = p.grown.String()
			if p.grown.Len() == 0 {
				p.call.Arguments = string(p.input)
			}
			if err := a.reply.Call(p.block, p.call, func(n int) string { return "toolu_" + strconv.Itoa(n) }); err != nil {
				return err
			}
		case p.block.Kind == wire.OtherBlock:
			if grown := p.grown.String(); grown != "" && json.Valid([]byte(grown)) {
				p.raw = withMember(p.raw, "input", json.RawMessage(grown))
			}
			p.block.Data = p.raw
		}
	}
	if finish == troupe.FinishFiltered {
		if err := a.reply.Refusal(a.why); err != nil {
			return err
		}
	}
	a.reply.End.Usage = a.counts.usage()
	return a.reply.Finish(finish)
}

// finishOf maps the server's word for the end to ours.
func (a *answer) finishOf() (troupe.Finish, error) {
	switch a.stop {
	case "end_turn", "stop_sequence", "tool_use":
		return troupe.FinishStop, nil
	case "max_tokens":
		return troupe.FinishLength, nil
	case "model_context_window_exceeded":
		return "", &troupe.ModelError{
			Status: a.reply.From.Status, Code: a.stop, Reason: "context", Err: troupe.ErrContextFull,
			Message: "the model's context window was full before the answer ended",
		}
	case "refusal":
		return troupe.FinishFiltered, nil
	case "pause_turn":
		return "", &troupe.ModelError{
			Status: a.reply.From.Status, Code: a.stop, Reason: "incomplete", Temporary: true, Err: io.ErrUnexpectedEOF,
			Message: "the server paused a long turn of tools that it runs itself",
		}
	case "":
		return "", a.reply.From.Incomplete(fmt.Errorf("it ended without a reason"))
	}
	if a.reply.Said() || len(a.order) > 0 {
		return troupe.FinishStop, nil
	}
	return "", a.reply.From.Incomplete(fmt.Errorf("the server ended it with %.40q", a.stop))
}

// withMember sets a member of an object.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil || fields == nil || len(value) == 0 {
		return object
	}
	fields[name] = value
	data, err := json.Marshal(fields)
	if err != nil {
		return object
	}
	return data
}

// counts are token counts. Later ones correct earlier ones.
type counts struct {
	Input      *wire.Count `json:"input_tokens"`
	Output     *wire.Count `json:"output_tokens"`
	CacheRead  *wire.Count `json:"cache_read_input_tokens"`
	CacheWrite *wire.Count `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking *wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// add takes in counts. An input of nothing at all corrects nothing: some gateways
// send zeros for what they have said before.
func (c *counts) add(raw json.RawMessage) {
	if !wire.IsSet(raw) {
		return
	}
	var later counts
	_ = json.Unmarshal(raw, &later) // members of an unexpected type are skipped
	if later.input() > 0 {
		correct(&c.Input, later.Input)
		correct(&c.CacheRead, later.CacheRead)
		correct(&c.CacheWrite, later.CacheWrite)
	}
	correct(&c.Output, later.Output)
	correct(&c.Details.Thinking, later.Details.Thinking)
}

func correct(count **wire.Count, later *wire.Count) {
	if later != nil {
		*count = later
	}
}

func (c *counts) input() wire.Count { return of(c.Input) + of(c.CacheRead) + of(c.CacheWrite) }

func of(count *wire.Count) wire.Count {
	if count == nil {
		return 0
	}
	return *count
}

func (c *counts) usage() troupe.Usage {
	return wire.Usage(c.input(), of(c.CacheRead), of(c.CacheWrite), of(c.Output), of(c.Details.Thinking))
}

package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// aChat is what an answer should be.
const aChat = "an answer of Ollama's chat"

// Generate sends the request and yields the answer as it comes. Tool calls come
// last, when the server has said that it is done: an answer that stops before that
// is io.ErrUnexpectedEOF and yields no calls.
func (m *Model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return wire.Turn{
		Client: m.client, Request: req, What: aChat, By: messageForm{m.host, m.name}.by(), KeepThoughts: true,
		Encode: func(bool) ([][]byte, error) { return m.parts(req) }, // nothing is signed
		Learn:  func(err error) error { return m.adapt(err, req) },
		Read: func(reply wire.Reply, events *wire.Events) error {
			a := &answer{reply: reply, events: events, note: m.client.Note}
			return wire.Paid(a.read(), a.reply.End)
		},
	}.Generate(ctx)
}

// cannotThink is what a server's refusals may teach.
const cannotThink = 1

// adapt learns from a refusal of thinking. The next request does not ask for it.
func (m *Model) adapt(err error, req *troupe.Request) error {
	return m.lessons.Learn(m.client, err, req, func(r *wire.Refusal) uint32 {
		if r.Params.Effort != "" && r.About("does not support thinking") {
			return cannotThink
		}
		return 0
	})
}

// An answer is what has been read of a model's answer so far.
type answer struct {
	reply  wire.Reply
	events *wire.Events
	tags   thinkTags
	late   wire.LateTag
	note   func(string)
}

// chunk is a line of a stream, or a whole answer.
type chunk struct {
	Model   string `json:"model"`
	Message *struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Prompt     wire.Count      `json:"prompt_eval_count"`
	Eval       wire.Count      `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

func (a *answer) read() error {
	for {
		event, err := a.events.Next()
		if err != nil {
			return a.reply.Broken(err)
		}
		var c chunk
		if err := a.events.Decode(event.Data, &c, "message"); err != nil {
			if event.Whole {
				return a.reply.From.NotAnAnswer(aChat, event.Data)
			}
			return a.reply.From.Incomplete(fmt.Errorf("read line: %w", err))
		}
		if wire.IsSet(c.Error) {
			return a.reply.From.Failed(event.Data)
		}
		if c.Message == nil && !c.Done {
			if event.Whole {
				return a.reply.From.NotAnAnswer(aChat, event.Data)
			}
			continue
		}
		if err := a.take(&c); err != nil {
			return err
		}
		if c.Done {
			a.reply.From.Drain()
			return a.finish(&c)
		}
	}
}

func (a *answer) take(c *chunk) error {
	a.reply.End.Model = c.Model
	if c.Message == nil {
		return nil
	}
	if err := a.reply.Thought(c.Message.Thinking); err != nil {
		return err
	}
	thought, said := a.tags.add(c.Message.Content)
	if err := a.say(thought, said); err != nil {
		return err
	}
	for _, call := range c.Message.ToolCalls {
		arguments := string(call.Function.Arguments)
		var quoted string
		if json.Unmarshal(call.Function.Arguments, &quoted) == nil { // null, or JSON in a string
			arguments = quoted
		}
		if err := a.reply.Weigh(len(arguments) + len(call.Function.Name)); err != nil {
			return err
		}
		made := func(n int) string { return "call_" + strconv.Itoa(n) }
		if err := a.reply.Call(nil, troupe.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments}, made); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) say(thought, said string) error {
	if thought != "" {
		a.late.Off()
	}
	if err := a.reply.Thought(thought); err != nil {
		return err
	}
	said, ended, after := a.late.Add(said)
	if err := a.reply.Text(said); err != nil || !ended {
		return err
	}
	a.note(wire.LateThoughts)
	if err := a.reply.Recast(); err != nil {
		return err
	}
	a.tags = thinkTags{state: afterThought}
	return a.say(a.tags.add(after))
}

func (a *answer) finish(c *chunk) error {
	if err := a.say(a.tags.end()); err != nil {
		return err
	}
	if err := a.reply.Text(a.late.End()); err != nil {
		return err
	}
	a.reply.End.Usage = wire.Usage(c.Prompt, 0, 0, c.Eval, 0)
	finish := troupe.FinishStop
	switch c.DoneReason {
	case "length":
		finish = troupe.FinishLength
	case "error", "connection_closed":
		return a.reply.From.Incomplete(fmt.Errorf("the server ended it with %q", c.DoneReason))
	}
	return a.reply.Finish(finish)
}

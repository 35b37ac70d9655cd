package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// errLeft says that the caller has heard enough.
var errLeft = errors.New("the caller left")

// Generate is the sequence of a model's answer: ask sends the request and emits the
// pieces. Its error is yielded last, unless the caller has left.
func Generate(ctx context.Context, ask func(emit func(troupe.Chunk) bool) error) func(yield func(troupe.Chunk, error) bool) {
	return func(yield func(troupe.Chunk, error) bool) {
		err := ask(func(c troupe.Chunk) bool { return yield(c, nil) })
		switch {
		case err == nil || err == errLeft:
		case ctx.Err() != nil:
			yield(troupe.Chunk{}, ctx.Err())
		default:
			yield(troupe.Chunk{}, err)
		}
	}
}

// maxCalls bounds the calls of one answer.
const maxCalls = 256

// A Reply is a model's answer in the making, for protocols whose answers are made of
// blocks. It yields what is said and thought as it comes and the calls at the end,
// keeps the order of the blocks, and bounds them all.
type Reply struct {
	// From is the server's answer, Emit yields a piece of ours.
	From *Answer
	Emit func(troupe.Chunk) bool
	// By is who answers.
	By By
	// KeepThoughts says that thoughts go back although nobody signed them.
	KeepThoughts bool
	// End is what [Reply.Finish] yields.
	End troupe.End

	blocks        []*Block
	calls         []troupe.ToolCall
	text, thought int // bytes so far
	size          int
	shown         int // bytes of calls that progress was shown of
	said          bool
	blank         int // bytes of white space that the text ends with
}

// Said reports whether text or a refusal has come, and Called whether a call has.
func (r *Reply) Said() bool { return r.said }

// Called reports whether a call has come.
func (r *Reply) Called() bool { return len(r.calls) > 0 }

// Block begins a block and returns it, for its signature and data. What is said or
// thought from now on is part of it, if it is of that kind.
func (r *Reply) Block(kind BlockKind) *Block {
	b := &Block{Kind: kind}
	switch kind {
	case TextBlock:
		b.From, b.To = r.text, r.text
	case ThoughtBlock:
		b.From, b.To = r.thought, r.thought
	}
	r.blocks = append(r.blocks, b)
	return b
}

// Last is the block that was begun last, nil if there is none.
func (r *Reply) Last() *Block {
	if len(r.blocks) == 0 {
		return nil
	}
	return r.blocks[len(r.blocks)-1]
}

// grow returns the last block, or a new one if that is of another kind.
func (r *Reply) grow(kind BlockKind) *Block {
	if last := r.Last(); last != nil && last.Kind == kind {
		return last
	}
	return r.Block(kind)
}

// Text yields a piece of text.
func (r *Reply) Text(piece string) error {
	if piece == "" {
		return nil
	}
	b := r.grow(TextBlock)
	r.text += len(piece)
	b.To = r.text
	r.said = true
	if blank := len(piece) - len(strings.TrimRight(piece, " \t\r\n")); blank < len(piece) {
		r.blank = blank
	} else {
		r.blank += blank
	}
	if err := r.Weigh(len(piece)); err != nil {
		return err
	}
	return r.show(troupe.Chunk{Text: piece})
}

// Thought yields a piece of a thought.
func (r *Reply) Thought(piece string) error {
	if piece == "" {
		return nil
	}
	b := r.grow(ThoughtBlock)
	r.thought += len(piece)
	b.To = r.thought
	if err := r.Weigh(len(piece)); err != nil {
		return err
	}
	return r.show(troupe.Chunk{Thought: piece})
}

// Recast says that the text so far was thought: see [troupe.Chunk].
func (r *Reply) Recast() error {
	if r.text == 0 {
		return nil
	}
	r.blocks = slices.DeleteFunc(r.blocks, func(b *Block) bool { return b.Kind == TextBlock || b.Kind == ThoughtBlock })
	r.thought += r.text - r.blank
	r.blocks = slices.Insert(r.blocks, 0, &Block{Kind: ThoughtBlock, To: r.thought})
	r.text, r.blank, r.said = 0, 0, false
	return r.show(troupe.Chunk{WasThought: true})
}

// Refusal yields what the model says instead of an answer.
func (r *Reply) Refusal(piece string) error {
	if piece == "" {
		return nil
	}
	r.said = true
	if err := r.Weigh(len(piece)); err != nil {
		return err
	}
	return r.show(troupe.Chunk{Refusal: piece})
}

// Weigh counts bytes of the answer that are not yielded as they come, and notes that
// it moves.
func (r *Reply) Weigh(bytes int) error {
	r.size += bytes
	if bytes > 0 {
		r.From.Progressed()
	}
	if r.size > r.From.client.maxAnswer || len(r.calls) > maxCalls {
		return r.tooLarge()
	}
	return nil
}

func (r *Reply) tooLarge() error {
	c := r.From.client
	return r.From.TooLarge(fmt.Sprintf("%d bytes, %d bytes in one event, %d calls", c.maxAnswer, c.maxLine, maxCalls))
}

// Growing tells of a call whose arguments have so many bytes by now: when it begins,
// and then now and again.
func (r *Reply) Growing(name string, bytes int) error {
	const step = 512
	if name == "" || r.shown != 0 && bytes >= r.shown && bytes < r.shown+step {
		return nil
	}
	r.shown = max(bytes, 1)
	return r.show(troupe.Chunk{Growing: name, Grown: bytes})
}

// Call adds a call, and its block if it has none yet. Arguments of none are an empty
// object. An id that is missing, or that another call has, is replaced. A call without a
// name has lost its beginning.
func (r *Reply) Call(b *Block, call troupe.ToolCall, made func(n int) string) error {
	if call.Name == "" {
		return r.From.Incomplete(errors.New("a call has no name"))
	}
	if strings.TrimSpace(call.Arguments) == "" {
		call.Arguments = "{}"
	}
	taken := func(id string) bool {
		return id == "" || slices.ContainsFunc(r.calls, func(c troupe.ToolCall) bool { return c.ID == id })
	}
	for n := 1; taken(call.ID); n++ {
		call.ID = made(n)
	}
	if b == nil {
		b = r.Block(CallBlock)
	}
	b.Call = call.ID
	r.calls = append(r.calls, call)
	return r.Weigh(0)
}

func (r *Reply) show(c troupe.Chunk) error {
	if !r.Emit(c) {
		return errLeft
	}
	return nil
}

// Broken is the error of an answer whose events have ended before it was complete.
func (r *Reply) Broken(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return r.tooLarge()
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return r.From.Incomplete(err)
}

// Finish yields the calls and the end. An answer with calls that was not cut or
// filtered waits for tools, whatever the server calls it.
func (r *Reply) Finish(finish troupe.Finish) error {
	for i := range r.calls {
		if err := r.show(troupe.Chunk{Call: &r.calls[i]}); err != nil {
			return err
		}
	}
	if finish == troupe.FinishStop && len(r.calls) > 0 {
		finish = troupe.FinishCalls
	}
	r.End.Finish = finish
	if !isPlain(r.blocks) || r.KeepThoughts && r.thought > 0 {
		if data, err := json.Marshal(kept{By: r.By, Blocks: r.blocks}); err == nil {
			r.End.Opaque = data
		}
	}
	return r.show(troupe.Chunk{End: &r.End})
}

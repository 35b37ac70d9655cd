// Package rehearsal plays a bundle's workflows deterministically with no model at all.
//
// What [New] returns is an ordinary [troupe.Model]: it sees the conversation and the tools that a model would see, and
// nothing else. It keeps nothing between requests but what it has parsed. For each request it plays the whole conversation again from its beginning, as a
// script: what the script asks for (an answer of the user, the result of a tool) is taken from the conversation as
// long as it is there, and the first thing that is missing is the reply. So the same bundle and the same answers give
// the same documents, byte for byte.
//
// How a workflow is played:
//
//   - Steps are taken in the order in which they stand. Each <ask> is put alone and waits for the next message; an
//     answer that holds "#yolo" has all later questions answered by [StandIn], and a command of the agent leaves the
//     workflow.
//   - A condition that compares a name with a value is evaluated over the answers, the workflow's config and what
//     actions set; a name that nobody set is empty. A condition about what the user says is compared with the latest
//     answer. Any other condition holds, unless it speaks of something missing, failing or negated.
//   - A <check> with content governs its content. One that holds only its condition governs the tags that follow it,
//     up to the next check, template output, step or line of prose.
//   - An optional step is asked about first. What is to be repeated is done once. A goto is followed at most three
//     times to the same place. An invoked workflow or task is loaded and played once.
//   - The document is saved at each <template-output>, or at the last of several in a row, and at the end.
//   - Instructions without tags are walked by their headings, and a step file leads to the next one.
//   - A task of BMAD 4 goes on with what it works with: create-doc with a template, section by section, execute-checklist
//     with a checklist, shard-doc with a document, others with the template that their text names.
//
// A message that ends with a schema and a task, as those of a pipeline's phases do, is answered with JSON of that schema.
// An agent without commands gets the tools called that a message mentions, with the arguments that can be found in it.
package rehearsal

import (
	"context"
	"iter"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Name is what [troupe.End] calls this model.
const Name = "rehearsal"

const banner = "[rehearsal] No model is asked: this is a scripted run-through. Files and tool calls are real; the wording is nobody's."

// New returns the model. It may serve any number of agents and conversations at once.
func New() troupe.Model { return &model{} }

// A model plays each request from the beginning, and so reads the same texts again and again: what it has read of the
// latest ones it remembers. Nothing else depends on that.
type model struct{ memory }

func (m *model) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		text, calls := m.reply(req)
		for piece := range strings.SplitAfterSeq(text, " ") {
			if err := ctx.Err(); err != nil {
				yield(troupe.Chunk{}, err)
				return
			}
			if piece != "" && !yield(troupe.Chunk{Text: piece}, nil) {
				return
			}
		}
		for i := range calls {
			if !yield(troupe.Chunk{Call: &calls[i]}, nil) {
				return
			}
		}
		end := &troupe.End{Finish: troupe.FinishStop, Model: Name, Usage: usage(req, text, calls)}
		if len(calls) > 0 {
			end.Finish = troupe.FinishCalls
		}
		yield(troupe.Chunk{End: end}, nil)
	}
}

// reply is what the model says and the tools it calls.
func (m *model) reply(req *troupe.Request) (string, []troupe.ToolCall) {
	if answer, ok := contractReply(req); ok { // it says more than the least that fits a schema
		return answer, nil
	}
	if req.Params != nil && len(req.Params.Schema) > 0 {
		return minimalJSON(req.Params.Schema), nil
	}
	s := newScene(req, &m.memory)
	s.play()
	text := strings.TrimSpace(s.said.String())
	if s.isFirst {
		text = strings.TrimSpace(banner + "\n\n" + text)
	}
	if text == "" && len(s.calls) == 0 {
		text = "There is nothing more to play."
	}
	return text, s.calls
}

// bytesPerToken makes token counts of sizes, so that budgets and reports work offline.
const bytesPerToken = 4

func usage(req *troupe.Request, text string, calls []troupe.ToolCall) troupe.Usage {
	in, out := 0, len(text)
	for _, m := range req.Messages {
		in += len(m.Text)
		for i := range m.Calls {
			in += len(m.Calls[i].Name) + len(m.Calls[i].Arguments)
		}
	}
	for _, spec := range req.Tools.Specs() {
		in += len(spec.Name) + len(spec.Description) + len(spec.Input)
	}
	for i := range calls {
		out += len(calls[i].Name) + len(calls[i].Arguments)
	}
	return troupe.Usage{Input: tokens(in), Output: tokens(out)}
}

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

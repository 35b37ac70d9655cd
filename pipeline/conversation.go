package pipeline

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/edit"
)

// A conversation is what an agent was asked and answered about one thing. Every
// request holds the first one, the answers and what came of them: nothing is lost.
type conversation struct {
	opening   string
	exchanges []exchange
}

type exchange struct{ answer, feedback string }

// keptWhole is how many answers are quoted; of older ones only the feedback is.
const keptWhole = 3

// prompt is the next request.
func (c *conversation) prompt() string {
	if len(c.exchanges) == 0 {
		return c.opening
	}
	var b strings.Builder
	b.WriteString(c.opening)
	for i, e := range c.exchanges {
		title := fmt.Sprintf("YOUR ANSWER %d", i+1)
		if i == len(c.exchanges)-1 {
			title = "YOUR LAST ANSWER"
		}
		fmt.Fprintf(&b, "\n\n%s:\n", title)
		if i < len(c.exchanges)-keptWhole {
			b.WriteString("(left out)")
		} else {
			b.WriteString(clipped(e.answer))
		}
		fmt.Fprintf(&b, "\n\nWHAT CAME OF IT:\n%s", e.feedback)
	}
	b.WriteString("\n\nAnswer again, as the schema above says. Return ONLY the JSON object.")
	return b.String()
}

func (c *conversation) add(answer, feedback string) {
	c.exchanges = append(c.exchanges, exchange{answer, feedback})
}

// An answered is one answer of an agent, as far as it could be read.
type answered struct {
	text   string
	parsed Parsed
	// cut says that the answer was cut off: nothing of it is used.
	cut bool
	// idle says that the agent called tools until it was stopped, and gave no answer: asking
	// once more would lead to the same.
	idle bool
	stop string
}

// idleText says of an agent that it is idle.
const idleText = "it called tools again and again and gave no answer"

// converse asks the agent of the phase with the conversation as it is.
func (w *work) converse(ctx context.Context, c *conversation) (answered, error) {
	agent := w.phase.Agent
	if w.in.Blocks && w.phase.free != nil {
		agent = w.phase.free
	}
	out, err := runBelow(ctx, w.run, agent, troupe.Handoff{Task: c.prompt()})
	if err != nil {
		return answered{}, err
	}
	a := answered{text: out.Summary, stop: out.Meta.Stop}
	if a.stop == "length" || a.stop == "content_filter" {
		a.cut = true
		a.parsed = w.phase.Contract.parseCut(out.Summary)
		return a, nil
	}
	text, err := edit.Blocks(out.Summary)
	if err != nil {
		a.parsed = Parsed{Level: LevelRaw, Correction: "Your last answer cannot be used: " + err.Error() + ".", plain: "a part of it is missing or not complete"}
		return a, nil
	}
	if a.parsed, err = w.phase.Contract.Parse(text); err != nil {
		// Several answers are none; what is left is the raw text.
		err = w.warn(ctx, "json_ambiguous", err.Error())
	}
	if a.idle = (a.stop == "tool_calls" || a.stop == "repeated_calls") && a.parsed.Correction != ""; a.idle {
		a.parsed.Correction, a.parsed.plain = "", "there is none"
		a.parsed.Output.NextPhase.Blockers = append(a.parsed.Output.NextPhase.Blockers, TextItem(idleText))
	}
	if isLimit(a.stop) {
		// Nothing more is to be spent without a person's consent.
		a.parsed.Correction, a.parsed.plain = "", limitText(a.stop)
		a.parsed.Output.NextPhase.Blockers = append(a.parsed.Output.NextPhase.Blockers, TextItem(limitText(a.stop)))
	}
	return a, err
}

// limitText says to people which limit of the run is reached.
func limitText(stop string) string {
	return "the limit on " + map[string]string{"turns": "turns of the model", "tokens": "tokens", "cost": "cost", "time": "time"}[stop] + " is reached"
}

// cutText asks for less after an answer that was cut off.
func cutText(text string) string {
	return fmt.Sprintf("Your answer was cut off at the model's output limit, after %d characters. Nothing of it was used. Send at most half as much: "+
		"a part of the work, with outputs.more set to true where more is to come.", len(text))
}

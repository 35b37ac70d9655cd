package troupe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// limit says which limit leaves no room for another turn. What a log says was
// decided here before is decided again, whatever the counters say now.
func (c *conversation) limit() string {
	if past := c.run.peek(); len(past) > 0 {
		if reached, ok := past[0].Body.(*LimitReached); ok {
			return reached.Stop
		}
		return ""
	}
	stop, _ := c.run.budget.reached()
	return stop
}

// overspent says which limit an answer has reached that was paid for and came to nothing.
func (c *conversation) overspent(err error) string {
	if endOf(err) == nil {
		return ""
	}
	for _, e := range c.run.peek() {
		if reached, ok := e.Body.(*LimitReached); ok {
			return reached.Stop
		}
	}
	return c.run.budget.overspent()
}

// noTurn ends the run where a limit leaves nothing to ask a model with.
func (c *conversation) noTurn(ctx context.Context, stop string) (Handoff, error) {
	what := limitText(stop, c.run.budget)
	message := capital(what) + "; the last answer was paid for and came to nothing, and no model is asked any more."
	c.history.addNotice(message)
	if err := c.run.emit(ctx, &LimitReached{Stop: stop, Message: message}); err != nil {
		return Handoff{}, err
	}
	return c.close("", stop)
}

// lastTurn has the model answer with what it has: a limit ends the work, not the
// user's hope for an answer.
func (c *conversation) lastTurn(ctx context.Context, stop string) (Handoff, error) {
	cause := context.Cause(ctx)
	if stop == stopTime {
		ctx = c.run.grace
	}
	what := limitText(stop, c.run.budget)
	notice := "No more tools can be called: " + what + ". Answer now with what you have, and say what is missing."
	c.history.addNotice(notice)
	message := capital(what) + "; the agent answers with what it has."
	reached := ctx
	if isTimeUp(context.Cause(ctx)) {
		reached = context.WithoutCancel(ctx) // that there is no time for an answer either is to be told
	}
	if err := c.run.emit(reached, &LimitReached{Stop: stop, Message: message, Notice: notice}); err != nil {
		return Handoff{}, err
	}
	replied, err := c.ask(ctx, nil)
	if _, modelFailed := errors.AsType[*brokenReply](err); err != nil && !modelFailed && !isTimeUp(err) || c.run.exec.cancelled() {
		return Handoff{}, err
	}
	text := ""
	if err == nil {
		text = replied.Message.Text
	}
	if strings.TrimSpace(text) == "" {
		if up, ok := errors.AsType[*timeUpError](cause); ok && up.agent == c.agent.id {
			return Handoff{}, fmt.Errorf("%w, and its model gave no closing answer", up)
		}
	}
	return c.close(text, stop)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// close answers with what there is after a limit.
func (c *conversation) close(text, stop string) (Handoff, error) {
	if strings.TrimSpace(text) == "" {
		text = c.report(stop)
	}
	if c.agent.output != nil {
		return c.fitLast(text, stop)
	}
	c.answer(text, stop)
	return c.out, nil
}

// report is the answer where the model has none: for people, and in parentheses, as all
// that stands for an answer.
func (c *conversation) report(stop string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "(I had to stop before I was done: %s. The model gave no closing answer.", limitText(stop, c.run.budget))
	messages := c.history.messages
	for _, m := range slices.Backward(messages[1:]) {
		if m != nil && m.Role == RoleAssistant && m.Text != "" {
			fmt.Fprintf(&b, " The last thing said was: %s", m.Text)
			break
		}
	}
	return b.String() + ")"
}

// answerOf returns a reply's text, never empty, and what it is worth.
func answerOf(replied *ModelReplied) (string, string) {
	m := replied.Message
	switch {
	case replied.Finish == FinishLength:
		return orElse(m.Text, "(The answer was cut off at the model's output limit before it said anything.)"), stopLength
	case replied.Finish == FinishFiltered:
		return orElse(m.Text, "(The provider withheld the answer.)"), stopFiltered
	case m.Refusal != "":
		return m.Refusal, stopRefused
	case strings.TrimSpace(m.Text) == "":
		return "(The model gave an empty answer.)", stopEmpty
	}
	return m.Text, stopAnswered
}

// answer sets what the agent hands back.
func (c *conversation) answer(text string, stop string) {
	status := endedPartial
	if isSuccess(stop) {
		status = endedSuccess
	}
	c.out = Handoff{
		Task: c.task, Summary: text, Custom: c.custom,
		Meta: HandoffMeta{Source: c.agent.id, Status: status, Stop: stop, ToolsUsed: c.used},
	}
}

package main

import (
	"context"
	"fmt"
	"strings"
)

// modelCommand is what a person writes to see or change the model that answers.
const modelCommand = "/model"

// asksForModel reports whether a message is about the model and not for the agent, and
// which one it asks for, if any.
func asksForModel(text string) (ref string, ok bool) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != modelCommand {
		return "", false
	}
	return strings.Join(words[1:], " "), true
}

// choose says which model answers, or has another one answer from now on.
func (c *conversation) choose(ctx context.Context, ref string) (said string, err error) {
	name := c.step.Name()
	if ref == "" {
		said = fmt.Sprintf("%s is answered by %s", name, c.model)
		if _, from, ok := c.stage.project.AnsweredBy(c.step); ok && from != "" {
			said += ", chosen by " + from
		}
		return said + ". /model provider/name changes it; 'troupe models' lists models.", nil
	}
	step, err := c.stage.project.StepUsing(ctx, name, c.session, ref)
	if err != nil {
		return "", err
	}
	c.step, c.model, c.chosen = step, ref, ref
	if m, _, ok := c.stage.project.AnsweredBy(step); ok {
		c.model, c.window = m.Ref, m.Window
	}
	return fmt.Sprintf("From now on %s answers in this conversation.", c.model), c.keepChoice(ctx)
}

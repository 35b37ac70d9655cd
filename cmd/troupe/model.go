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
	switch {
	case len(words) == 1 && words[0] == modelCommand:
		return "", true
	case len(words) == 2 && words[0] == modelCommand:
		return words[1], true
	}
	return "", false
}

// choose says which model answers, or has another one answer from now on.
func (c *conversation) choose(ctx context.Context, ref string) (said string, err error) {
	name := c.step.Name()
	if ref == "" {
		said = fmt.Sprintf("%s is answered by %s", name, c.model)
		if _, from := c.stage.project.Model(name); from != "" && c.model == modelOf(c.stage.project, name) {
			said += ", chosen by " + from
		}
		return said + ". /model provider/name changes it; 'troupe models' lists models.", nil
	}
	step, err := c.stage.project.StepUsing(ctx, name, c.session, ref)
	if err != nil {
		return "", err
	}
	c.step, c.model = step, ref
	return fmt.Sprintf("From now on %s answers in this conversation.", ref), nil
}

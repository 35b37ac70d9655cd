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

// usualModel is what a person writes to have the configured model answer again.
const usualModel = "default"

// byFlag is who has chosen a model that the command line names.
const byFlag = "--model"

// choose says which model answers, or has another one answer from now on.
func (c *conversation) choose(ctx context.Context, ref string) (said string, err error) {
	name := c.step.Name()
	if ref == "" {
		said = fmt.Sprintf("%s is answered by %s", name, c.model)
		if _, from, ok := c.stage.project.AnsweredBy(c.step); ok && from != "" {
			said += ", chosen by " + from
		}
		return said + ". /model provider/name changes it, /model default goes back to the configured one; 'troupe models' lists models.", nil
	}
	if ref == usualModel {
		return c.chooseUsual(ctx)
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

// chooseUsual has the configured model answer again, on another day, too.
func (c *conversation) chooseUsual(ctx context.Context) (said string, err error) {
	opened := c.stage.project
	c.chosen = ""
	if c.session != "" {
		if err := opened.ChooseModel(ctx, c.session, ""); err != nil {
			return "", err
		}
	}
	step, err := opened.StepIn(ctx, c.step.Name(), c.session)
	if err != nil {
		return "", err
	}
	c.step = step
	m, by, ok := opened.AnsweredBy(step)
	if c.model, c.window = m.Ref, m.Window; !ok {
		c.model, by = opened.Model(step.Name())
	}
	if by == byFlag {
		return fmt.Sprintf("From now on %s answers in this conversation: --model goes before what is configured, until you leave.", c.model), nil
	}
	return fmt.Sprintf("From now on %s answers in this conversation, as configured.", c.model), nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) chatCommand() *cobra.Command {
	var o chatOptions
	c := &cobra.Command{
		Use:   "chat [AGENT]",
		Short: "Talk with an agent",
		Long: "Talks with an agent: in the terminal, or with the messages that -m gives, or with the lines of standard input\n" +
			"where that is no terminal. AGENT is an id, the name of a persona or a title. It may be left out where the project\n" +
			"has only one to begin with, a default_agent in troupe.yaml, or an analyst; in a terminal there is a list to choose from otherwise.",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: p.completeAgents,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.Contains(o.messages, "") {
				return usage("-m: a message is not empty")
			}
			if len(o.messages) == 0 && o.session == "" && p.isInteractive() {
				if err := p.offerConfiguration(c.Context()); err != nil {
					return err
				}
			}
			if len(args) == 0 && o.session != "" {
				args = p.agentOf(c.Context(), o.session)
			}
			return p.onStage(c.Context(), args, func(s *stage, agent string) error {
				return p.chat(c.Context(), s, agent, o)
			})
		},
	}
	c.Flags().StringArrayVarP(&o.messages, "message", "m", nil, "send this message and exit; may be given several times")
	c.Flags().BoolVar(&o.greet, "greet", false, "have the agent speak first, as its author wrote; in a terminal it does by itself")
	c.Flags().StringArrayVar(&o.links, "link", nil, "let the agent read the files of this earlier session, too; may be given several times")
	c.Flags().StringVar(&o.session, "session", "", "go on with an earlier session")
	p.attachFlag(c)
	return c
}

// onStage chooses an agent, and opens an engine for as long as f takes.
func (p *program) onStage(ctx context.Context, args []string, f func(s *stage, agent string) error) error {
	return p.inProject(func(project *project.Project) error {
		id, err := p.chooseAgent(ctx, project, args)
		if err != nil {
			return err
		}
		name, err := project.Find(id)
		if err != nil {
			return err
		}
		for _, stranger := range project.Warnings() {
			p.tell("%s", stranger)
		}
		s, err := openStage(ctx, project)
		if err != nil {
			return err
		}
		return f(s, name)
	})
}

// chatOptions are how a conversation is held.
type chatOptions struct {
	session  string // an earlier one to go on with
	messages []string
	links    []string
	greet    bool
	prompts  bool // for the answers to questions, where a person is there
}

func (p *program) chat(ctx context.Context, s *stage, agent string, o chatOptions) error {
	parts, err := p.attachments()
	if err != nil {
		return err
	}
	c, err := s.converse(ctx, agent, o.session)
	if err != nil {
		return err
	}
	c.parts = parts
	for _, link := range o.links {
		id, err := sessionID(ctx, s.project, link)
		if err == nil {
			err = s.mustHave(ctx, id)
		}
		if err != nil {
			return fmt.Errorf("--link: %w", err)
		}
		c.related = append(c.related, id)
	}
	p.mention(ctx, s)
	interactive := len(o.messages) == 0 && p.isInteractive()
	if o.session == "" && (o.greet || interactive) {
		show, end := p.listener()
		err := c.open(ctx, show)
		end()
		if err != nil {
			return err
		}
	}
	switch {
	case len(o.messages) > 0:
		next := p.echoed(listed(o.messages))
		if o.prompts && p.isInteractive() {
			next = p.prompted(ctx, c, next)
		}
		err = p.talk(ctx, c, next)
	case interactive:
		err = p.chatInTerminal(ctx, c, o.session != "")
	default:
		err = p.talkInLines(ctx, c)
	}
	p.tellSaved(c)
	p.tellHowToGoOn(c, interactive, err)
	return err
}

// tellHowToGoOn says how a conversation that is left goes on later, and one that broke
// off at once.
func (p *program) tellHowToGoOn(c *conversation, interactive bool, err error) {
	switch {
	case c.session == "" && c.chosen != "":
		p.tell("Nothing was said, so there is no conversation that the choice could be kept for. For every conversation: model: %s in troupe.yaml, or --model.", c.model)
	case c.session == "":
	case err != nil && c.isOpen:
		p.tell("What was done so far is on record: 'troupe sessions resume %s' goes on from there.", c.session)
	case errors.Is(err, errInput):
		p.tell("To answer: troupe chat %s --session %s", c.step.Name(), c.session[:8])
	case interactive:
		p.tell("To go on: troupe chat %s --session %s", c.step.Name(), c.session[:8])
	}
}

// mention says that there is no model, or one that was found, where nobody has chosen
// that.
func (p *program) mention(ctx context.Context, s *stage) {
	if s.project.Rehearses() {
		p.tell("No model is set, so this is a rehearsal: %s.", s.project.HowToChooseAModel(ctx))
	} else if ref, isFound := s.project.FoundModel(); isFound {
		p.tell("No model is set: %s answers, of the Ollama that runs here. --model provider/name chooses another one, --model rehearsal none.", ref)
	}
}

// talk sends messages one after the other and shows the answers.
func (p *program) talk(ctx context.Context, c *conversation, next source) error {
	show, end := p.listener()
	defer end()
	var unchosen error
	for {
		text, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if ref, ok := asksForModel(text); ok && err == nil {
			said, err := c.choose(ctx, ref)
			if err != nil && ctx.Err() == nil { // the conversation goes on as it was
				p.complain(err)
				unchosen = errBroken
				continue
			}
			if err != nil {
				return err
			}
			p.tell("%s", terminal.Clean(said))
			continue
		} else if said, isCommand := terminal.Help(c.commands(), text); isCommand && err == nil {
			p.tell("%s", terminal.Clean(said))
			continue
		} else if err == nil {
			err = c.say(ctx, text, show)
		}
		if err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return cmp.Or(c.verdict(), unchosen)
}

// echoed shows each message as it is sent, so that what is shown reads as a talk.
func (p *program) echoed(next source) source {
	return func() (string, error) {
		text, err := next()
		if err == nil && !p.flags.json {
			p.tell("› %s", terminal.Clean(text))
		}
		return text, err
	}
}

// prompted reads the answers to what is asked after the last message, each from a line.
func (p *program) prompted(ctx context.Context, c *conversation, next source) source {
	return func() (string, error) {
		text, err := next()
		if !errors.Is(err, io.EOF) || c.stop != "input_requested" {
			return text, err
		}
		fmt.Fprint(p.err, "› ")
		answers, done := readLines(ctx, p.in)
		defer done()
		return answers()
	}
}

// talkInLines takes every line of standard input for a message.
func (p *program) talkInLines(ctx context.Context, c *conversation) error {
	next, done := readLines(ctx, p.in)
	defer done()
	return p.talk(ctx, c, next)
}

func (p *program) chatInTerminal(ctx context.Context, c *conversation, goesOn bool) error {
	var earlier []terminal.Said
	if goesOn {
		var err error
		if earlier, err = c.soFar(ctx); err != nil {
			return err
		}
	}
	if files := attached(c.parts); files != "" {
		earlier = append(earlier, terminal.Said{By: terminal.Aside, Text: files + "; sent with the first message"})
	}
	out := p.out
	if shielded, ok := out.(*terminal.Safe); ok {
		out = shielded.File // the chat draws, and cleans what it shows
	}
	config := terminal.Config{
		Title: c.step.Name(), Agent: c.step.Name(), Model: c.model, Where: c.pathOf, Earlier: earlier, Used: c.used,
		Say: c.say, Choose: func(ctx context.Context, text string) (now terminal.Answering, ok bool, err error) {
			ref, ok := asksForModel(text)
			if ok {
				now.Said, err = c.choose(ctx, ref)
			}
			now.Model, now.Window = c.model, c.window
			return now, ok, err
		}, History: filepath.Join(c.stage.project.DataDir(), "chat-history.jsonl"),
		Colour: p.usesColour(p.out), In: p.in, Out: out,
	}
	if d, err := c.stage.project.Definition(c.step.Name()); err == nil {
		config.Title, config.Agent, config.Leaves = titleOf(d), d.Name, d.IsExit
	}
	config.Commands = c.commands()
	if p.isTerminal(p.err) {
		p.log.hold()
		defer p.log.release()
	}
	return terminal.Chat(ctx, config)
}

// commands are the agent's, and those of the program.
func (c *conversation) commands() (list []terminal.Command) {
	if d, err := c.stage.project.Definition(c.step.Name()); err == nil {
		for _, command := range d.Commands {
			list = append(list, terminal.Command{Name: command.Cmd, Description: command.Description})
		}
	}
	return append(list, terminal.Command{Name: modelCommand, Description: "Show the model that answers, or change it: /model provider/name"})
}

// tellSaved says where the files are that the agent has saved.
func (p *program) tellSaved(c *conversation) {
	if len(c.saved) > 0 {
		p.tell("Saved:")
		for _, path := range c.saved {
			p.tell("  %s", terminal.Clean(path))
		}
	}
}

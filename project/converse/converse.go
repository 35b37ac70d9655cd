// Package converse holds one conversation with an agent, a flow or a delivery of a
// project, for programs that offer them to others: editors, MCP clients, other agents.
package converse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/asking"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/workspace"
)

// A Conversation is a session with an agent, a flow or a delivery. One message is sent
// at a time.
type Conversation struct {
	// Agent is the agent or flow, and User who talks with it.
	Agent, User string
	// Session is empty until the first event of a new one.
	Session string
	// Question is what the latest run waits for an answer to, nil for nothing. Others may wait
	// behind it, where steps run at the same time.
	Question *troupe.InputRequested
	open     asking.Open
	// Files are those that the agent has saved, in order, by the names that it uses.
	Files []string

	project *project.Project
	engine  *troupe.Engine
	folders *outputs.Folders
	step    troupe.Step
	first   troupe.Input // what the first message is sent with
	limits  troupe.Limits
	chosen  string // the model of a session that has not begun
}

// Begin begins a conversation with the agent or flow of a name. Nothing is stored
// before the first message.
func Begin(ctx context.Context, p *project.Project, name, user string) (*Conversation, error) {
	name, err := p.Find(name)
	if err != nil {
		return nil, err
	}
	step, err := p.StepIn(ctx, name, "")
	if err != nil {
		return nil, err
	}
	return open(ctx, p, name, user, step)
}

// Use has the agent, or another one, go on with the conversation with a model of the
// person's choice where it is not empty, and with what the program adds.
func (c *Conversation) Use(ctx context.Context, name, model string, extras *project.Extras) error {
	name, err := c.project.Find(name)
	if err != nil {
		return err
	}
	step, err := c.project.StepWith(ctx, name, c.Session, model, extras)
	if err != nil {
		return err
	}
	if name != c.Agent {
		c.first, c.limits = troupe.Input{}, troupe.Limits{}
		c.ask(asking.Open{})
		if err := c.keepAgent(ctx, name); err != nil {
			return err
		}
	}
	c.Agent, c.step = name, step
	if model == "" {
		return nil
	}
	c.chosen = model
	return c.keepChoice(ctx)
}

// keepChoice has the model that the person chose go on with the session another day, too.
func (c *Conversation) keepChoice(ctx context.Context) error {
	if c.chosen == "" || c.Session == "" {
		return nil
	}
	err := c.project.ChooseModel(ctx, c.Session, c.chosen)
	c.chosen = ""
	return err
}

// keepAgent has the agent that the person chose go on with the session in another program,
// too, although nothing was said to it yet. Of a session that has not begun nobody knows.
func (c *Conversation) keepAgent(ctx context.Context, name string) error {
	if c.Session == "" {
		return nil
	}
	info, err := Info(ctx, c.engine, c.Session, c.User)
	if errors.Is(err, troupe.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.project.ChooseAgent(ctx, info, name)
}

// Model names the model that answers, as provider/name: several with commas between them
// where there are more to ask. It is empty for flows.
func (c *Conversation) Model() string {
	m, _, _ := c.project.AnsweredBy(c.step)
	return m.Ref
}

// BeginDelivery begins a delivery: its first message is the request.
func BeginDelivery(ctx context.Context, p *project.Project, request string, d project.Delivery, user string) (*Conversation, error) {
	step, input, err := p.StartDelivery(ctx, request, d)
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, p, project.Deliver, user, step)
	if err != nil {
		return nil, err
	}
	c.first, c.limits = input, input.Limits
	return c, nil
}

// Continue goes on with a session of the user's. It fails with [troupe.ErrNotFound] if
// there is none.
func Continue(ctx context.Context, p *project.Project, session, user string) (*Conversation, error) {
	engine, err := p.Engine(ctx)
	if err != nil {
		return nil, err
	}
	info, err := Info(ctx, engine, session, user)
	if err != nil {
		return nil, err
	}
	agent, err := p.ChosenAgent(ctx, info)
	if err != nil {
		return nil, err
	}
	step, err := p.StepIn(ctx, agent, session)
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, p, agent, user, step)
	if err != nil {
		return nil, err
	}
	c.Session = session
	for e, err := range engine.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		c.note(&e)
	}
	if info.Status != "waiting" || agent != info.Agent {
		c.ask(asking.Open{})
	}
	return c, nil
}

// Info looks up a session of the user's: of anybody's where user is empty. It fails
// with [troupe.ErrNotFound] if there is none.
func Info(ctx context.Context, engine *troupe.Engine, session, user string) (troupe.SessionInfo, error) {
	if !sessionid.Is(session) {
		return troupe.SessionInfo{}, fmt.Errorf("session %.64q: %w", session, troupe.ErrNotFound)
	}
	for info, err := range engine.Sessions(ctx, troupe.SessionFilter{ID: session, User: user, Limit: 1}) {
		return info, err
	}
	return troupe.SessionInfo{}, fmt.Errorf("session %s: %w", session, troupe.ErrNotFound)
}

func open(ctx context.Context, p *project.Project, name, user string, step troupe.Step) (*Conversation, error) {
	engine, err := p.Engine(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := p.Store(ctx)
	if err != nil {
		return nil, err
	}
	return &Conversation{Agent: name, User: user, project: p, engine: engine, folders: folders, step: step}, nil
}

// Say sends a message, or an answer, and shows all that happens until the run ends.
// Ending ctx cancels the run.
func (c *Conversation) Say(ctx context.Context, in troupe.Input, show func(*troupe.Event)) (troupe.Outcome, error) {
	if err := c.project.MayBegin(ctx); err != nil {
		return troupe.Outcome{}, err
	}
	if c.Session == "" && c.first.Text != "" {
		in.Text, in.Custom = c.first.Text, c.first.Custom
	}
	in.Session, in.User = cmp.Or(in.Session, c.Session), c.User
	if in.Limits == (troupe.Limits{}) {
		in.Limits = c.limits
	}
	if c.Question != nil && in.Question == "" {
		in.Question = c.Question.ID
	}
	return c.follow(c.engine.Run(ctx, c.step, in), show)
}

// Resume goes on with a run that was interrupted, cancelled or failed.
func (c *Conversation) Resume(ctx context.Context, show func(*troupe.Event)) (troupe.Outcome, error) {
	return c.follow(c.engine.Resume(ctx, c.step, c.Session), show)
}

// Opening is the message that has the agent speak first, where its author wrote so.
func (c *Conversation) Opening() (troupe.Input, bool) {
	text, ok := c.project.Opening(c.Agent)
	return troupe.Input{Text: text, Hidden: true}, ok
}

// Past yields what is on record of the conversation.
func (c *Conversation) Past(ctx context.Context) iter.Seq2[troupe.Event, error] {
	return c.engine.Events(ctx, c.Session, 0)
}

func (c *Conversation) follow(events iter.Seq2[troupe.Event, error], show func(*troupe.Event)) (troupe.Outcome, error) {
	return troupe.Collect(func(yield func(troupe.Event, error) bool) {
		for e, err := range events {
			if err == nil {
				c.note(&e)
				err = c.keepChoice(context.Background())
				show(&e)
			}
			if !yield(e, err) {
				return
			}
		}
	})
}

func (c *Conversation) note(e *troupe.Event) {
	c.Session = e.Session
	c.open.Note(e)
	c.ask(c.open)
	if saved, ok := e.Body.(*troupe.ArtifactSaved); ok && !slices.Contains(c.Files, saved.Path) {
		c.Files = append(c.Files, saved.Path)
	}
}

// ask has questions wait, the first of them before the others.
func (c *Conversation) ask(open asking.Open) {
	c.open, c.Question = open, nil
	if first := open.First(); first != nil {
		c.Question = first.InputRequested
	}
}

// sessionPrefix begins the names of files in the session's folder.
const sessionPrefix = "{" + workspace.SessionFolder + "}/"

// InSession returns the name of a saved file within the session's folder, and false for
// files that are elsewhere.
func InSession(saved string) (name string, ok bool) { return strings.CutPrefix(saved, sessionPrefix) }

// HostPath returns where a saved file is on this machine, empty if nobody can say.
func (c *Conversation) HostPath(saved string) string {
	return HostPath(c.project, c.folders, c.Session, saved)
}

// ReadFile reads a file of a session's folder, and nothing outside it. It fails with
// [io/fs.ErrNotExist] if there is none.
func ReadFile(folders *outputs.Folders, session, name string) (text, mimeType string, err error) {
	dir, err := folders.Path(session)
	if err != nil {
		return "", "", err
	}
	folder, err := workspace.Open(workspace.Config{Roots: []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: workspace.ReadOnly}}})
	if err != nil {
		return "", "", err
	}
	defer folder.Close()
	place, err := folder.Resolve(sessionPrefix + name)
	if err != nil {
		return "", "", err
	}
	text, err = folder.ReadFile(place)
	return text, MIMEType(name), err
}

// MIMEType says of what type a text file of a name is.
func MIMEType(name string) string {
	switch extension := path.Ext(name); extension {
	case ".md", ".markdown":
		return "text/markdown"
	case ".yaml", ".yml":
		return "application/yaml"
	case "":
		return "text/plain"
	default:
		if known, _, err := mime.ParseMediaType(mime.TypeByExtension(extension)); err == nil {
			return known
		}
		return "text/plain"
	}
}

// errNothingSaid reports an answer that says nothing.
var errNothingSaid = errors.New("the answer is empty: say something, or approve or deny what was asked")

// Answer makes the input of what a person decided or said about the question.
func (c *Conversation) Answer(decision, text string) (troupe.Input, error) {
	text = strings.TrimSpace(text)
	switch decision {
	case "approve":
		return troupe.Input{Answer: &troupe.Answer{Approved: true, Text: text}}, nil
	case "deny":
		return troupe.Input{Answer: &troupe.Answer{Denied: true, Text: text}}, nil
	case "":
	default:
		return troupe.Input{}, fmt.Errorf("the decision is approve or deny, not %.20q", decision)
	}
	if text == "" {
		return troupe.Input{}, errNothingSaid
	}
	return troupe.Input{Text: text}, nil
}

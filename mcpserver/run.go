package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
)

// A reply is what a run came to, as structured content.
type reply struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	// Status is completed, waiting or, where a limit or the like ended it, stopped.
	Status string `json:"status"`
	// Stop is why the run ended: answered as a rule.
	Stop     string    `json:"stop"`
	Answer   string    `json:"answer"`
	Question *question `json:"question,omitempty"`
	// Files are resources.
	Files []string `json:"files,omitempty"`
	// Delivery is what a delivery has come to.
	Delivery     *pipeline.Report `json:"delivery,omitempty"`
	InputTokens  int              `json:"input_tokens"`
	OutputTokens int              `json:"output_tokens"`
	Cost         float64          `json:"cost_usd,omitempty"`
}

// A question is what a run waits for.
type question struct {
	Text     string `json:"text"`
	Approval bool   `json:"approval,omitempty"`
	Tool     string `json:"tool,omitempty"`
}

// say sends a message and follows the run. What the run asks is put to the person at the
// client, where the client can do that, until nothing is asked any more.
func (v *visitor) say(ctx context.Context, call *mcp.CallToolRequest, c *converse.Conversation, in troupe.Input) (*mcp.CallToolResult, error) {
	ctx, leave, err := v.config.Enter(ctx, v.user)
	if err != nil {
		return nil, err
	}
	defer leave()
	progress := newProgress(ctx, call, c.Agent)
	defer progress.end()
	var outcome troupe.Outcome
	spent := map[string]troupe.Spent{} // by run: an answer may go on with one
	for {
		outcome, err = c.Say(ctx, in, func(e *troupe.Event) { progress.note(ctx, e) })
		spent[outcome.Run] = outcome.Spent
		if err != nil {
			return nil, explained(c, err)
		}
		if outcome.Stop != "input_requested" || c.Question == nil {
			break
		}
		next, ok := elicit(ctx, call, c)
		if !ok {
			break
		}
		in = next
	}
	var total troupe.Spent
	for _, one := range spent {
		total = total.Add(one)
	}
	return v.result(ctx, c, &outcome, total)
}

// explained says in plain words why a run failed, and how it can be gone on with.
func explained(c *converse.Conversation, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("session %s: cancelled", c.Session)
	}
	told := strings.Join(problem.Of(err).Lines(), " ")
	if c.Session == "" {
		return errors.New(told)
	}
	return fmt.Errorf("%s (session %s)", told, c.Session)
}

func (v *visitor) result(ctx context.Context, c *converse.Conversation, outcome *troupe.Outcome, spent troupe.Spent) (*mcp.CallToolResult, error) {
	r := reply{
		Session: c.Session, Agent: c.Agent, Status: "completed", Stop: outcome.Stop, Answer: outcome.Text,
		InputTokens: spent.Usage.Input, OutputTokens: spent.Usage.Output, Cost: spent.Cost,
	}
	shown := outcome.Text
	switch {
	case outcome.Stop == "input_requested" && c.Question != nil:
		r.Status, r.Question = "waiting", &question{c.Question.Question, c.Question.Approval, c.Question.Tool}
		shown = waiting(c)
	case !slices.Contains([]string{"answered", "handed_off", "decided"}, outcome.Stop):
		r.Status = "stopped"
		shown += fmt.Sprintf("\n\n(It stopped before it was done: %s.)", strings.ReplaceAll(outcome.Stop, "_", " "))
	}
	if c.Agent == project.Deliver {
		if err := v.addReport(ctx, c, &r); err != nil {
			return nil, err
		}
	}
	content := []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("%s\n\n(session %s)", shown, c.Session)}}
	for _, saved := range c.Files {
		if name, ok := converse.InSession(saved); ok {
			uri := fileURI(c.Session, name)
			r.Files = append(r.Files, uri)
			content = append(content, &mcp.ResourceLink{URI: uri, Name: name, MIMEType: converse.MIMEType(name)})
		}
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: r}, nil
}

// waiting says what is asked, and how it is answered.
func waiting(c *converse.Conversation) string {
	how := "text set to what they say"
	if c.Question.Approval {
		how = "decision set to approve or deny"
	}
	return fmt.Sprintf("%s\n\n%s waits for an answer. Ask the user, and call the tool answer with session %s and %s.", c.Question.Question, c.Agent, c.Session, how)
}

// addReport adds what a delivery was measured to be.
func (v *visitor) addReport(ctx context.Context, c *converse.Conversation, r *reply) error {
	var events []troupe.Event
	for e, err := range c.Past(ctx) {
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	r.Delivery = pipeline.ReportOf(events)
	return nil
}

// elicit puts the question to the person at the client. It reports false where the
// client cannot ask, or the person has not decided.
func elicit(ctx context.Context, call *mcp.CallToolRequest, c *converse.Conversation) (troupe.Input, bool) {
	client := call.Session.InitializeParams()
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil {
		return troupe.Input{}, false
	}
	form := object(map[string]schema{"answer": text("your answer")}, "answer")
	if c.Question.Approval {
		form = object(map[string]schema{
			"decision": oneOf("whether it may be done", "approve", "deny"), "reason": text("why, or what to do instead"),
		}, "decision")
	}
	delete(form, "additionalProperties") // forms do not know it
	result, err := call.Session.Elicit(ctx, &mcp.ElicitParams{Message: c.Question.Question, RequestedSchema: form})
	switch {
	case err != nil:
		return troupe.Input{}, false
	case result.Action == "decline" && c.Question.Approval:
		in, err := c.Answer("deny", "")
		return in, err == nil
	case result.Action != "accept":
		return troupe.Input{}, false
	}
	value := func(name string) string { s, _ := result.Content[name].(string); return s }
	var in troupe.Input
	if c.Question.Approval {
		in, err = c.Answer(value("decision"), value("reason"))
	} else {
		in, err = c.Answer("", value("answer"))
	}
	return in, err == nil
}

// progress tells a client how far a call has come, if it wants to know.
type progress struct {
	call  *mcp.CallToolRequest
	token any
	began time.Time
	agent string

	mu    sync.Mutex
	count float64
	said  int // characters of the answer that is being written
	stop  chan struct{}
	beats sync.WaitGroup
}

// beat is how often a client hears something even if nothing happens: many give up a
// call of which they hear nothing for a minute.
const beat = 10 * time.Second

func newProgress(ctx context.Context, call *mcp.CallToolRequest, agent string) *progress {
	p := &progress{call: call, token: call.Params.GetProgressToken(), began: time.Now(), agent: agent, stop: make(chan struct{})}
	if p.token == nil {
		return p
	}
	p.beats.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-ticker.C:
				p.tell(ctx, p.state())
			}
		}
	})
	return p
}

func (p *progress) end() {
	close(p.stop)
	p.beats.Wait()
}

// state says what is going on while nothing happens.
func (p *progress) state() string {
	p.mu.Lock()
	said := p.said
	p.mu.Unlock()
	elapsed := time.Since(p.began).Round(time.Second)
	if said > 0 {
		return fmt.Sprintf("%s is answering: %d characters, %v", p.agent, said, elapsed)
	}
	return fmt.Sprintf("%s is at work: %v", p.agent, elapsed)
}

func (p *progress) tell(ctx context.Context, message string) {
	if p.token == nil || message == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	// A client that cannot be told is about to end the call, or to be gone.
	_ = p.call.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Message: message, Progress: p.count})
}

// note tells what an event says about how far the run has come.
func (p *progress) note(ctx context.Context, e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		p.mu.Lock()
		p.said += len(b.Text)
		p.mu.Unlock()
	case *troupe.ModelReplied:
		p.mu.Lock()
		p.said = 0
		p.mu.Unlock()
	default:
		p.tell(ctx, converse.Step(e))
	}
}

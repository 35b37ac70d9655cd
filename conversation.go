package troupe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/journal"
)

// A conversation is one run of an agent: what it says to its model and hears.
type conversation struct {
	agent   *Agent
	run     *Run
	task    string
	custom  map[string]any
	out     Handoff // set once there is an answer
	history *history
	habits  habits
	used    []string // names of the tools called, in order of first use
	cuts    int      // replies in a row that were cut off
	said    string   // what an answer said before it was cut off
	misfits int      // answers that did not fit the agent's Output
}

// maxCuts is how many replies in a row may be cut off.
const maxCuts = 3

// Do runs the agent: it asks the model, carries out the calls the model asks for,
// and asks again, until the model answers or a limit is reached.
func (a *Agent) Do(ctx context.Context, run *Run, in Handoff) (out Handoff, err error) {
	err = a.converse(ctx, run, &in, &out)
	return out, err
}

// converse is Do. What is large is in begin and bringAbout: see [Run.perform].
func (a *Agent) converse(ctx context.Context, run *Run, in, out *Handoff) error {
	ctx, end := run.limit(ctx, a)
	defer end()
	c := conversation{agent: a, run: run}
	if err := c.begin(ctx, in); err != nil {
		return err
	}
	stop, err := c.goOn(ctx)
	return c.bringAbout(ctx, stop, err, out)
}

// begin begins the conversation, which may keep and change what it is given.
func (c *conversation) begin(ctx context.Context, given *Handoff) error {
	if c.run.budget.boundsCost() && !c.agent.price.Known() {
		return fmt.Errorf("agent %s: there is a limit on cost, and the price of its model is not known; set its Price, or Price{Free: true} if it costs nothing", c.agent.id)
	}
	in := given.Clone()
	c.task, c.custom, c.history = in.Task, in.Custom, c.run.history()
	return c.open(ctx, &in)
}

// goOn takes turns until there is an answer, in c.out, or a reason to stop. It is where a run
// waits: see [Run.perform].
func (c *conversation) goOn(ctx context.Context) (stop string, err error) {
	for stop == "" && err == nil && c.out.Meta.Stop == "" {
		if stop = c.limit(); stop == "" {
			stop, err = c.turn(ctx)
		}
	}
	return stop, err
}

// bringAbout sets out to what the conversation has come to.
func (c *conversation) bringAbout(ctx context.Context, stop string, failure error, out *Handoff) (err error) {
	switch {
	case isTimeUp(failure):
		*out, err = c.lastTurn(ctx, stopTime)
	case c.overspent(failure) != "":
		*out, err = c.noTurn(ctx, c.overspent(failure))
	case failure != nil:
		return failure
	case c.out.Meta.Stop != "":
		*out = c.out
	default:
		*out, err = c.lastTurn(ctx, stop)
	}
	return err
}

// history is the conversation that an agent in this run goes on with: that of the
// session for the run a caller started, and for a nested run a new one unless it
// has a conversation of its own.
func (r *Run) history() *history {
	talks := r.exec.session.talks
	switch {
	case r.prefix != "":
		return newHistory()
	case r.parent == "":
		r.exec.root = true
		return talks.root
	case r.conversation != "":
		r.exec.mu.Lock()
		defer r.exec.mu.Unlock()
		return talks.conversation(r.conversation, r.depth == 1)
	}
	return talks.fresh(r.depth == 1 && r.chain.outer != nil && !isAgent(r.chain.outer.step))
}

func isAgent(step Step) bool {
	_, ok := step.(*Agent)
	return ok
}

// open begins the conversation: what the agent must know, then the task.
func (c *conversation) open(ctx context.Context, in *Handoff) error {
	if err := c.inform(ctx); err != nil {
		return err
	}
	c.history.addTask(in.Prompt(), in.Parts)
	return nil
}

// inform tells the model what it must know, where the conversation does not begin
// with that already.
func (c *conversation) inform(ctx context.Context) error {
	if c.agent.context != nil {
		if c.history.systemOf == c.agent.id {
			return nil // what was loaded stays loaded
		}
		loaded, err := c.run.loadContext(ctx, c.agent.context)
		for i := range loaded {
			c.history.addLoaded(&loaded[i], c.agent.id)
		}
		return err
	}
	p := c.agent.prepared()
	if p.system == nil || c.history.systemSHA == p.sha {
		return nil
	}
	if past := c.run.loadedBefore(); len(past) > 0 {
		c.history.addLoaded(&past[0], c.agent.id) // what the run began with, whatever it is now
		return nil
	}
	c.history.setSystem(p.system, p.sha, c.agent.id)
	return c.run.emit(ctx, &ContextLoaded{
		Source: "instructions", Role: RoleSystem, SHA256: p.sha, Size: len(p.system.Text), Content: p.system.Text,
	})
}

// loadContext returns what a run is told at its beginning: from the log if all of it
// is there, else from load, whose answer is then recorded.
func (r *Run) loadContext(ctx context.Context, load func(context.Context, *Run) ([]ContextLoaded, error)) ([]ContextLoaded, error) {
	if past := r.loadedBefore(); past != nil {
		return past, nil
	}
	if err := r.alive(ctx); err != nil {
		return nil, err
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	loaded, err := load(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range loaded {
		l := &loaded[i]
		sum := sha256.Sum256([]byte(l.Content))
		l.SHA256, l.Size, l.Following = hex.EncodeToString(sum[:]), len(l.Content), len(loaded)-1-i
		if l.Role == "" {
			l.Role = RoleSystem
		}
		event := *l
		if err := r.emit(ctx, &event); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// loadedBefore returns what the log says was loaded here, nil if that is not all.
func (r *Run) loadedBefore() []ContextLoaded {
	var loaded []ContextLoaded
	for n := r.count + 1; r.log != nil; n++ {
		var found *ContextLoaded
		for _, e := range r.log.At(r.id, r.prefix.Step(n)) {
			if body, ok := e.Body.(*ContextLoaded); ok {
				found = body
				r.saw(e)
			}
		}
		if found == nil {
			return nil
		}
		loaded = append(loaded, *found)
		if found.Following == 0 {
			r.count = n
			return loaded
		}
	}
	return nil
}

// turn asks the model once and carries out what it asks for. It sets the answer
// if that is what came, or returns the limit that calls for a last turn.
func (c *conversation) turn(ctx context.Context) (string, error) {
	replied, err := c.ask(ctx, c.agent.toolSet())
	if err != nil {
		return "", err
	}
	if replied.cutCalls() {
		return c.cutOff(ctx, replied)
	}
	if len(replied.Message.Calls) == 0 {
		return c.conclude(ctx, replied)
	}
	c.cuts, c.said = 0, ""
	return c.call(ctx, replied.Message.Calls)
}

// ask sends the conversation to the model, making room where there is none.
func (c *conversation) ask(ctx context.Context, tools *ToolSet) (*ModelReplied, error) {
	if err := c.makeRoom(ctx); err != nil {
		return nil, err
	}
	c.run.budget.add(&Spent{Turns: 1})
	replied, err := c.send(ctx, tools)
	if errors.Is(err, ErrContextFull) && ctx.Err() == nil {
		use := c.history.use(tools, c.agent.window)
		if err := c.compact(ctx, use, use.Total()/3); err != nil {
			return nil, err
		}
		replied, err = c.send(ctx, tools)
	}
	if err != nil {
		return nil, err
	}
	c.history.addReply(replied)
	c.history.learn(replied)
	return replied, nil
}

func (c *conversation) send(ctx context.Context, tools *ToolSet) (*ModelReplied, error) {
	messages, stable := c.history.request()
	req := &Request{Messages: messages, Tools: tools, Params: c.agent.params, Stable: stable, Session: c.run.Session()}
	if tools.Len() == 0 {
		req.Tools = nil
	}
	return c.run.ask(ctx, c.agent, req, "", c.history.use(tools, c.agent.window))
}

// call carries out the model's calls and tells it how they went.
func (c *conversation) call(ctx context.Context, calls []ToolCall) (string, error) {
	runs, err := c.run.callAll(ctx, c.agent, calls, &c.habits)
	if err != nil {
		return "", err
	}
	for i := range runs {
		if runs[i].question != "" {
			c.askAt(runs[i].at, runs[i].question)
			return "", nil
		}
	}
	repeats, asker, over := 0, -1, -1
	var asked []string
	for i := range runs {
		outcome := runs[i].outcome
		c.history.addResult(outcome)
		repeats = max(repeats, c.habits.note(&calls[i], outcome))
		if outcome.Asks != "" {
			asked = append(asked, outcome.Asks)
			if asker < 0 {
				asker = i
			}
		}
		if outcome.Decision != nil && over < 0 {
			over = i
		}
		if !slices.Contains(c.used, calls[i].Name) {
			c.used = append(c.used, calls[i].Name)
		}
	}
	if over >= 0 {
		c.decide(runs[over].outcome)
		return "", nil
	}
	if asker >= 0 { // with all that was asked: the next message is the answer to each of them
		return c.askUser(ctx, &calls[asker], strings.Join(asked, "\n\n"))
	}
	if repeats >= repeatsStopped {
		return stopRepeats, nil
	}
	if repeats == repeatsWarned {
		err = c.tell(ctx, "repeated_call", fmt.Sprintf("The model has made the same call with the same result %d times; it is told to use what it has.", repeats), fmt.Sprintf("You have made the same call with the same result %d times. Doing it again will not help: use what you have, or try something else.", repeats))
	}
	return "", err
}

// decide ends the run with what a tool decided.
func (c *conversation) decide(outcome *ToolReturned) {
	stop := stopDecided
	if outcome.Decision.To != "" {
		stop = stopHandedOff
	}
	c.answer(outcome.Content, stop)
	c.out.Meta.Decision, c.out.Meta.Target = outcome.Decision, outcome.Decision.To
}

// tell warns both the user and the model, each in words that are meant for them.
func (c *conversation) tell(ctx context.Context, code, message, notice string) error {
	c.history.addNotice(notice)
	return c.run.emit(ctx, &Warned{Code: code, Message: message, Told: true, Notice: notice})
}

// askUser ends the run with a question; the answer is the session's next input.
func (c *conversation) askUser(ctx context.Context, call *ToolCall, question string) (string, error) {
	at := c.run.prefix.Step(c.run.count + 1)
	err := c.run.emit(ctx, &InputRequested{
		ID: questionID(c.run.id, at), Question: question, CallID: call.ID, Tool: call.Name, Arguments: Arguments(call.Arguments),
	})
	if err != nil {
		return "", err
	}
	if said := c.run.answer(); said != nil {
		c.history.addTask(said.Text, said.Parts)
		return "", nil
	}
	c.askAt(at, question)
	return "", nil
}

// askAt ends the run with a question that was asked at a step.
func (c *conversation) askAt(at journal.Path, question string) {
	c.answer(question, stopInput)
	c.out.Meta.Asked = questionID(c.run.id, at)
}

// cutOff handles a reply that ended in the middle of its calls: none of them is
// carried out, because what is missing may have changed their meaning.
func (c *conversation) cutOff(ctx context.Context, replied *ModelReplied) (string, error) {
	if c.cuts++; c.cuts >= maxCuts || replied.Finish == FinishFiltered {
		c.answer(answerOf(replied))
		return "", nil
	}
	return "", c.tell(ctx, "reply_cut", "The model reached the output limit in the middle of a tool call, which was not carried out; it is asked for a shorter one.", "Your last reply was cut off at the output limit in the middle of a tool call. Nothing was carried out. Call the tool again with shorter arguments, or in smaller pieces.")
}

// conclude takes a reply that calls no tool: the answer, unless it is cut off or does
// not fit what the agent is to return.
func (c *conversation) conclude(ctx context.Context, replied *ModelReplied) (string, error) {
	text, stop := answerOf(replied)
	if stop == stopLength && c.agent.output == nil {
		if c.cuts++; c.cuts < maxCuts {
			c.said = joined(c.said, replied.Message.Text)
			return "", c.tell(ctx, "reply_cut", "The answer reached the output limit; the model goes on.", "Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating anything.")
		}
	}
	if c.agent.output != nil {
		return c.fit(ctx, replied, stop)
	}
	if whole := joined(c.said, replied.Message.Text); (stop == stopAnswered || stop == stopLength) && whole != "" {
		text = whole
	} else if stop == stopEmpty && c.said != "" {
		text, stop = c.said, stopLength // nothing follows on what was said
	}
	c.answer(text, stop)
	return "", nil
}

// joined is an answer that was cut off and what its author sent next: the rest of it, or,
// as models often do where they are asked for the rest, the whole of it from the beginning.
func joined(said, next string) string {
	const enough = 24 // bytes, to tell a new beginning from a rest that happens to look like one
	if begin := strings.TrimSpace(said); len(begin) >= enough && strings.HasPrefix(strings.TrimSpace(next), begin[:enough]) {
		return next
	}
	return said + next
}

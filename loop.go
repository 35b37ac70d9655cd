package troupe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A talk is one run of an agent: its conversation with its model.
type talk struct {
	agent   *Agent
	run     *Run
	in      Handoff
	out     Handoff // set once there is an answer
	history *history
	habits  habits
	used    []string // names of the tools called, in order of first use
	cuts    int      // replies in a row that were cut off in the middle of a call
}

// maxCuts is how many replies in a row may be cut off in the middle of a call.
const maxCuts = 3

// Do runs the agent: it asks the model, carries out the calls the model asks for,
// and asks again, until the model answers or a limit is reached.
func (a *Agent) Do(ctx context.Context, run *Run, in Handoff) (Handoff, error) {
	t := &talk{agent: a, run: run, in: in, history: run.history()}
	t.habits.attempts = run.exec.budget.limits.Attempts
	if err := t.open(ctx); err != nil {
		return Handoff{}, err
	}
	for {
		var err error
		stop := t.limit()
		if stop == "" {
			stop, err = t.turn(ctx)
		}
		switch {
		case errors.Is(err, errTimeUp):
			return t.lastTurn(ctx, StopTime)
		case err != nil:
			return Handoff{}, err
		case t.out.Meta.Stop != "":
			return t.out, nil
		case stop != "":
			return t.lastTurn(ctx, stop)
		}
	}
}

// open begins the conversation: what the agent must know, then the task.
func (t *talk) open(ctx context.Context) error {
	if err := t.brief(ctx); err != nil {
		return err
	}
	t.history.addUser(t.in.Prompt(), t.in.Parts)
	return nil
}

// brief tells the model what it must know, where the conversation does not begin
// with that already.
func (t *talk) brief(ctx context.Context) error {
	if t.agent.load != nil {
		if t.history.systemOf == t.agent.id {
			return nil // what was loaded stays loaded
		}
		return t.load(ctx)
	}
	b := t.agent.briefed()
	if t.agent.system == "" || t.history.systemSHA == b.sha {
		return nil
	}
	t.history.setSystem(b.system, b.sha, t.agent.id)
	return t.run.Emit(ctx, &ContextLoaded{
		Source: "instructions", Role: RoleSystem, SHA256: b.sha,
		Size: len(t.agent.system), Content: t.agent.system,
	})
}

// load records what the agent's Brief returns, unless the log has it.
func (t *talk) load(ctx context.Context) error {
	loaded, err := t.run.recall(ctx, t.agent.load)
	if err != nil {
		return err
	}
	for i := range loaded {
		t.history.addLoaded(&loaded[i], t.agent.id)
	}
	return nil
}

// turn asks the model once and carries out what it asks for. It sets the answer
// if that is what came, or returns the limit that calls for a last turn.
func (t *talk) turn(ctx context.Context) (Stop, error) {
	replied, err := t.ask(ctx, t.agent.kit())
	if err != nil {
		return "", err
	}
	if replied.cutCalls() {
		return t.cutOff(ctx, replied)
	}
	t.cuts = 0
	if len(replied.Message.Calls) == 0 {
		t.answer(answerOf(replied))
		return "", nil
	}
	return t.call(ctx, replied.Message.Calls)
}

// ask sends the conversation to the model, making room where there is none.
func (t *talk) ask(ctx context.Context, kit *ToolSet) (*ModelReplied, error) {
	if err := t.makeRoom(ctx); err != nil {
		return nil, err
	}
	t.run.exec.budget.turns.Add(1)
	replied, err := t.send(ctx, kit)
	if errors.Is(err, ErrContextFull) && ctx.Err() == nil {
		use := t.history.use(kit, t.agent.window)
		if err := t.compact(ctx, use, use.Total()/3); err != nil {
			return nil, err
		}
		replied, err = t.send(ctx, kit)
	}
	if err != nil {
		return nil, err
	}
	t.history.addReply(replied)
	t.history.learn(replied)
	return replied, nil
}

func (t *talk) send(ctx context.Context, kit *ToolSet) (*ModelReplied, error) {
	req := &Request{Messages: t.history.request(), Tools: kit, Params: t.agent.params}
	if kit.Len() == 0 {
		req.Tools = nil
	}
	return t.run.ask(ctx, t.agent, req, "", t.history.use(kit, t.agent.window))
}

// call carries out the model's calls and tells it how they went.
func (t *talk) call(ctx context.Context, calls []ToolCall) (Stop, error) {
	runs, err := t.run.callAll(ctx, t.agent, calls, &t.habits)
	if err != nil {
		return "", err
	}
	for i := range runs {
		if runs[i].question != "" {
			t.askAt(runs[i].at, runs[i].question)
			return "", nil
		}
	}
	repeats, question, over := 0, -1, -1
	for i := range runs {
		outcome := runs[i].outcome
		t.history.addResult(outcome)
		repeats = max(repeats, t.habits.note(&calls[i], outcome))
		if outcome.Asks != "" && question < 0 {
			question = i
		}
		if outcome.HandsTo != "" && over < 0 {
			over = i
		}
		if !slices.Contains(t.used, calls[i].Name) {
			t.used = append(t.used, calls[i].Name)
		}
	}
	if over >= 0 {
		t.answer(runs[over].outcome.Content, StopHandedOff)
		t.out.Meta.Target = runs[over].outcome.HandsTo
		return "", nil
	}
	if question >= 0 {
		return t.askUser(ctx, &calls[question], runs[question].outcome.Asks)
	}
	if repeats >= repeatsStopped {
		return StopRepeats, nil
	}
	if repeats == repeatsWarned {
		err = t.tell(ctx, "repeated_call", fmt.Sprintf("You have made the same call with the same result %d times. Doing it again will not help: use what you have, or try something else.", repeats))
	}
	return "", err
}

// tell warns both the user and the model.
func (t *talk) tell(ctx context.Context, code, message string) error {
	w := &Warned{Code: code, Message: message, Told: true}
	t.history.addNotice(w)
	return t.run.Emit(ctx, w)
}

// askUser ends the run with a question; the answer is the session's next input.
func (t *talk) askUser(ctx context.Context, call *ToolCall, question string) (Stop, error) {
	err := t.run.Emit(ctx, &InputRequested{Question: question, CallID: call.ID, Tool: call.Name, Arguments: Arguments(call.Arguments)})
	if err != nil {
		return "", err
	}
	if said := t.run.answer(); said != nil {
		t.history.addUser(said.Text, said.Parts)
		return "", nil
	}
	t.askAt(t.run.place(t.run.count), question)
	return "", nil
}

// askAt ends the run with a question that was asked at a step.
func (t *talk) askAt(step, question string) {
	t.answer(question, StopInput)
	t.out.Meta.Asked = t.run.id + askedAt + step
}

// cutOff handles a reply that ended in the middle of its calls: none of them is
// carried out, because what is missing may have changed their meaning.
func (t *talk) cutOff(ctx context.Context, replied *ModelReplied) (Stop, error) {
	if t.cuts++; t.cuts >= maxCuts || replied.Finish == FinishFiltered {
		t.answer(answerOf(replied))
		return "", nil
	}
	return "", t.tell(ctx, "reply_cut", "Your last reply was cut off at the output limit in the middle of a tool call. Nothing was carried out. Call the tool again with shorter arguments, or in smaller pieces.")
}

// limit says which limit leaves no room for another turn. What a log says was
// decided here before is decided again, whatever the counters say now.
func (t *talk) limit() Stop {
	if past := t.run.peek(); len(past) > 0 {
		if w, ok := past[0].Body.(*Warned); ok && strings.HasPrefix(w.Code, limitCode) {
			return Stop(strings.TrimPrefix(w.Code, limitCode))
		}
		return ""
	}
	return t.run.exec.budget.reached()
}

// limitCode begins the code of a warning that a limit was reached.
const limitCode = "limit_"

// lastTurn has the model answer with what it has: a limit ends the work, not the
// user's hope for an answer.
func (t *talk) lastTurn(ctx context.Context, stop Stop) (Handoff, error) {
	if stop == StopTime {
		var cancel context.CancelFunc
		ctx, cancel = t.run.exec.extend(answerGrace)
		defer cancel()
	}
	if err := t.tell(ctx, limitCode+string(stop), limitText(stop, &t.run.exec.budget.limits)); err != nil {
		return Handoff{}, err
	}
	replied, err := t.ask(ctx, nil)
	if _, modelFailed := errors.AsType[*brokenReply](err); err != nil && !modelFailed || t.run.exec.cancelled() {
		return Handoff{}, err
	}
	text := ""
	if err == nil {
		text = replied.Message.Text
	}
	if strings.TrimSpace(text) == "" {
		text = t.report(stop)
	}
	t.answer(text, stop)
	return t.out, nil
}

func limitText(stop Stop, l *Limits) string {
	what := map[Stop]string{
		StopTurns:     fmt.Sprintf("all %d turns of this run are used up", l.Turns),
		StopToolCalls: fmt.Sprintf("all %d tool calls of this run are used up", l.ToolCalls),
		StopTokens:    fmt.Sprintf("the %d tokens of this run are used up", l.Tokens),
		StopCost:      fmt.Sprintf("the %.2f US dollars of this run are spent", l.Cost),
		StopTime:      fmt.Sprintf("the %s of this run are over", l.Time),
		StopRepeats:   "the same call was made again and again with the same result",
	}[stop]
	return "No more tools can be called: " + what + ". Answer now with what you have, and say what is missing."
}

// report is the answer where the model has none.
func (t *talk) report(stop Stop) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I had to stop before I was done (limit reached: %s), and the model gave no closing answer.", stop)
	if len(t.used) > 0 {
		fmt.Fprintf(&b, " Tools used: %s.", strings.Join(t.used, ", "))
	}
	messages := t.history.messages
	for _, m := range slices.Backward(messages[1:]) {
		if m != nil && m.Role == RoleAssistant && m.Text != "" {
			fmt.Fprintf(&b, " The last thing said was: %s", m.Text)
			break
		}
	}
	return b.String()
}

// answerOf returns a reply's text, never empty, and what it is worth.
func answerOf(replied *ModelReplied) (string, Stop) {
	m := replied.Message
	switch {
	case replied.Finish == FinishLength:
		return orElse(m.Text, "(The answer was cut off at the model's output limit before it said anything.)"), StopLength
	case replied.Finish == FinishFiltered:
		return orElse(m.Text, "(The provider withheld the answer.)"), StopFiltered
	case m.Refusal != "":
		return m.Refusal, StopRefused
	case strings.TrimSpace(m.Text) == "":
		return "(The model gave an empty answer.)", StopEmpty
	}
	return m.Text, StopAnswered
}

// answer sets what the agent hands back.
func (t *talk) answer(text string, stop Stop) {
	status := StatusPartial
	if stop == StopAnswered || stop == StopHandedOff {
		status = StatusSuccess
	}
	t.out = Handoff{
		Task: t.in.Task, Summary: text, Custom: t.in.Custom,
		Meta: HandoffMeta{Source: t.agent.id, Status: status, Stop: stop, ToolsUsed: t.used},
	}
}

package troupe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/journal"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// Sessions yields the sessions that match, the latest first.
func (e *Engine) Sessions(ctx context.Context, match SessionFilter) iter.Seq2[SessionInfo, error] {
	return e.store.Sessions(ctx, match)
}

// Events yields a session's stored events after the one numbered after: what there
// is, where [Engine.Tail] waits for more.
func (e *Engine) Events(ctx context.Context, session string, after int64) iter.Seq2[Event, error] {
	return e.store.Events(ctx, session, after)
}

// Delete forgets a session that has no run under way. Whether it is to be is asked of checks,
// where there are some, when nothing can be added to it any more: it stays where one fails,
// with that error.
func (e *Engine) Delete(ctx context.Context, session string, checks ...func() error) error {
	x, err := e.enlistIdle(ctx, session) // nothing runs in it meanwhile
	if err != nil {
		return err
	}
	defer x.withdraw()
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	err = e.store.Delete(ctx, session)
	e.mu.Lock()
	e.drop(x.session)
	e.mu.Unlock()
	return err
}

// enlistIdle enlists for a session whose run, if it has one, nobody is to go on with. Who had
// it until now may have died in between: what is to become of its run is then asked again,
// because whoever has the session cannot tell.
func (e *Engine) enlistIdle(ctx context.Context, session string) (*execution, error) {
	for {
		info, _, lost := e.store.Ask(ctx, session, SessionRequest{})
		isRunning := lost == nil && info.Status == statusRunning
		if isRunning && info.Owner == (Owner{}) {
			return nil, fmt.Errorf("session %s: its run waits for a worker; cancel it first: %w", session, ErrBusy)
		}
		x, err := e.enlist(ctx, nil, session)
		if err != nil || lost != nil || !isRunning && x.lease.Last() == info.Events {
			return x, err
		}
		x.withdraw()
	}
}

// Rename gives a session another title, whether or not a run is under way.
func (e *Engine) Rename(ctx context.Context, session, title string) error {
	event := renamed(session, title)
	wanted := event.Body.(*SessionRenamed).Title
	for {
		x, err := e.enlist(ctx, nil, session)
		if err == nil {
			if _, err = x.session.load(ctx, false); err == nil {
				err = x.feed.publish([]Event{event})
			}
			x.withdraw()
			return err
		}
		if _, elsewhere := errors.AsType[*Owner](err); !elsewhere {
			if !errors.Is(err, ErrBusy) {
				return err
			}
			if isDone, err := e.renameRunning(ctx, event); isDone || err != nil {
				return err
			}
			if err := pause(ctx, askPause); err != nil { // it has just ended
				return err
			}
			continue
		}
		renamed := false
		err = e.askOwner(ctx, session, SessionRequest{Title: wanted}, func(info SessionInfo) bool {
			renamed = info.Title == wanted
			return renamed
		})
		if err != nil || renamed {
			return err
		}
	}
}

// renameRunning renames a session that has a run of this engine's under way. It reports false
// where that run has ended.
func (e *Engine) renameRunning(ctx context.Context, event Event) (isDone bool, err error) {
	s, err := e.open(ctx, event.Session)
	if err != nil {
		return false, err
	}
	defer e.leave(s)
	return s.feed.publishOwned([]Event{event})
}

// renamed is the event that gives a session a title.
func renamed(session, title string) Event {
	return Event{
		Time: time.Now().Round(0).UTC(), Session: session, Step: string(journal.Start), Body: &SessionRenamed{Title: shorten(title, titleRunes)},
	}
}

// Answer decides what a session's latest run asked and waits for. The decision is on
// record when Answer returns; [Engine.Resume] or [Engine.StartAgain] goes on with the
// run. A run that is under way, here or in another process, because other steps of it are
// at work, goes on by itself. It fails with [ErrNoQuestion] if that question is not open.
func (e *Engine) Answer(ctx context.Context, session, question string, answer Answer) error {
	if err := answer.check(answer.Text); err != nil {
		return fmt.Errorf("session %s: question %q: %w", session, question, err)
	}
	x, err := e.enlist(ctx, nil, session) // nothing runs in it meanwhile
	if errors.Is(err, ErrBusy) && question != "" {
		_, err := e.answerBusy(ctx, session, &Input{Text: answer.words(), Answer: &answer, Question: question}, err)
		if err == errLeaving {
			return e.Answer(ctx, session, question, answer)
		}
		return err
	}
	if err != nil {
		return err
	}
	defer x.withdraw()
	x.session.talks = nil
	past, err := x.session.load(ctx, true)
	if err != nil {
		return err
	}
	x.session.talks = nil // the log is about to know more
	asked := (*Event)(nil)
	switch {
	case past.waits && question != "":
		asked = past.question(question)
	case past.open(): // its process has died
		if asked, err = past.asksUnderWay(question, false); err != nil {
			return err
		}
	}
	event := answerTo(asked, &UserSaid{Text: answer.words(), Answer: &answer})
	if event == nil {
		return notAsked(session, question)
	}
	return x.feed.publish([]Event{*event})
}

// cancelWaiting ends a run that waits for an answer, if the session's latest one does.
func (e *Engine) cancelWaiting(ctx context.Context, session string) error {
	info, _, err := e.store.Ask(ctx, session, SessionRequest{})
	if err != nil || info.Status != statusWaiting {
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	}
	x, err := e.enlist(ctx, nil, session) // nothing runs in it meanwhile
	if err != nil {
		return err
	}
	defer x.withdraw()
	x.session.talks = nil
	past, err := x.session.load(ctx, true)
	x.session.talks = nil // the log is about to know more
	if err != nil || !past.waits {
		return err
	}
	return x.session.cancel(past, ErrCancelled)
}

// question returns the event that asks what is open and has this id, nil if there is none. An
// empty id is that of what the run ended with; others wait beside it where steps run at the
// same time.
func (p *past) question(id string) *Event {
	log := newJournal(p.events)
	first := openQuestion(log, p.asked)
	if id == "" || id == p.asked || first != nil && id == first.Body.(*InputRequested).ID {
		return first
	}
	run, at, _ := strings.Cut(id, "#")
	end, isAsking := log.Asking(run)
	// What a call asks is answered where it was asked; another question, in the step after it.
	if !isAsking || !journal.Path(at).IsBranch() && end.Body.(*RunFinished).Output.Meta.Asked != id {
		return nil
	}
	return openQuestion(log, id)
}

// Import begins a session with a conversation from elsewhere: messages of users and
// assistants, as the agent named would have had them. It returns the session's id.
func (e *Engine) Import(ctx context.Context, agent string, messages []*Message, input Input) (string, error) {
	if agent == "" {
		return "", errors.New("import: say which agent the conversation is with")
	}
	id := input.Session
	if id == "" {
		id = newSessionID()
	} else if !sessionid.Is(id) {
		return "", fmt.Errorf("import: session %.64q: an id is a UUID in lower case", id)
	}
	importing := &importer{session: id, agent: agent, user: input.User, now: time.Now().Round(0).UTC()}
	for i, m := range messages {
		if err := importing.add(m); err != nil {
			return "", fmt.Errorf("import: message %d: %w", i+1, err)
		}
	}
	importing.finish()
	if len(importing.events) == 0 {
		return "", errors.New("import: there is no message to begin with")
	}
	if err := e.store.Append(ctx, id, importing.events...); err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	return id, nil
}

// An importer makes events of messages: a run for each thing a user said.
type importer struct {
	session, agent, user string
	now                  time.Time
	run                  string
	steps                int
	task, answer         string
	events               []Event
}

func (im *importer) add(m *Message) error {
	switch {
	case m.Role == RoleUser:
		im.finish()
		im.run, im.steps, im.task = newRunID(), 0, m.Text
		im.emit(journal.Start, &RunStarted{Input: Handoff{Task: m.Text, Parts: m.Parts}, User: im.user})
		im.emit("", &UserSaid{Text: m.Text, Parts: m.Parts})
	case m.Role == RoleAssistant && im.run == "":
		return errors.New("an assistant speaks before any user has")
	case m.Role == RoleAssistant && len(m.Calls) > 0:
		return errors.New("it calls tools; leave out calls and their results, which mean nothing here")
	case m.Role == RoleAssistant:
		im.answer = m.Text
		im.emit("", &ModelReplied{Message: &Message{Role: RoleAssistant, Text: m.Text, Thought: m.Thought, Parts: m.Parts}, Finish: FinishStop, Attempt: 1})
	default:
		return fmt.Errorf("it is of the role %s; only users and assistants can be imported", m.Role)
	}
	return nil
}

// finish ends the run of the latest thing a user said.
func (im *importer) finish() {
	if im.run == "" {
		return
	}
	im.emit("", &RunFinished{Stop: stopAnswered, Output: Handoff{
		Task: im.task, Summary: im.answer, Meta: HandoffMeta{Source: im.agent, Status: endedSuccess, Stop: stopAnswered, Time: im.now},
	}})
	im.run, im.answer = "", ""
}

func (im *importer) emit(at journal.Path, body Body) {
	if at == "" {
		im.steps++
		at = journal.Path("").Step(im.steps)
	}
	im.events = append(im.events, Event{
		Seq: int64(len(im.events)) + 1, Time: im.now, Session: im.session, Run: im.run, Step: string(at), Agent: im.agent, Body: body,
	})
}

// Fork begins a new session with the events of another up to the one numbered
// after, and returns its id. The other session stays as it is. Where the cut is in
// the middle of a run, the new session's run counts as cancelled: [Engine.Resume]
// goes on with it from there, and the next message begins another. Input.Session is the
// new session's id, where the caller wants to choose one: making it a second time fails with
// [ErrConflict]. The rest of input is not used.
func (e *Engine) Fork(ctx context.Context, session string, after int64, input Input) (string, error) {
	if after < 1 {
		return "", fmt.Errorf("fork session %s: events are numbered from 1, there is none numbered %d", session, after)
	}
	id, err := forkID(input)
	if err != nil {
		return "", fmt.Errorf("fork session %s: %w", session, err)
	}
	var events []Event
	var latest past
	for event, err := range e.store.Events(ctx, session, 0) {
		if err != nil {
			return "", fmt.Errorf("fork session %s: %w", session, err)
		}
		if event.Seq > after {
			break
		}
		event.Session = id
		events = append(events, event)
		latest.add(&event, newConversations())
	}
	if n := int64(len(events)); n < after {
		return "", fmt.Errorf("fork session %s: it has %d events, and none numbered %d", session, n, after)
	}
	events = append(events, latest.cut(events, &SessionForked{From: session, After: after}, fmt.Sprintf("forked from session %s after event %d", session, after))...)
	if err := e.store.Append(ctx, id, events...); err != nil {
		return "", fmt.Errorf("fork session %s: %w", session, err)
	}
	return id, nil
}

package troupe

import (
	"context"
	"fmt"
	"time"
)

// Fork begins a new session with the events of another up to the one numbered
// after, and returns its id. The other session stays as it is. Where the cut is in
// the middle of a run, the new session's run counts as cancelled: [Engine.Resume]
// goes on with it from there, and the next message begins another.
func (e *Engine) Fork(ctx context.Context, session string, after int64) (string, error) {
	if after < 1 {
		return "", fmt.Errorf("fork session %s: events are numbered from 1, there is none numbered %d", session, after)
	}
	id := newSessionID()
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
		latest.add(&event, newHistory())
	}
	if n := int64(len(events)); n < after {
		return "", fmt.Errorf("fork session %s: it has %d events, and none numbered %d", session, n, after)
	}
	events = append(events, latest.cut(session, after)...)
	if err := e.store.Append(ctx, id, events...); err != nil {
		return "", fmt.Errorf("fork session %s: %w", session, err)
	}
	return id, nil
}

// cut is what follows the beginning of a log that became one of its own.
func (p *past) cut(from string, after int64) []Event {
	origin := fmt.Sprintf("forked from session %s after event %d", from, after)
	var bodies []Body
	if p.open() {
		bodies = append(bodies, &RunCancelled{Reason: origin})
	}
	bodies = append(bodies, &Warned{Code: codeForked, Message: origin})
	var events []Event
	for i, body := range bodies {
		events = append(events, Event{
			Seq: after + 1 + int64(i), Time: time.Now().Round(0).UTC(), Session: p.start.Session,
			Run: p.start.Run, Step: startStep, Agent: p.start.Agent, Body: body,
		})
	}
	return events
}

// codeForked marks the end of what a log has from another. It is no part of a run.
const codeForked = "forked"

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
	events = append(events, latest.cut(session, after))
	if err := e.store.Append(ctx, id, events...); err != nil {
		return "", fmt.Errorf("fork session %s: %w", session, err)
	}
	return id, nil
}

// cut is the event that ends the beginning of a log which became one of its own.
func (p *past) cut(from string, after int64) Event {
	end := Event{
		Seq: after + 1, Time: time.Now().Round(0).UTC(), Session: p.start.Session,
		Run: p.start.Run, Step: startStep, Agent: p.start.Agent,
	}
	origin := fmt.Sprintf("forked from session %s after event %d", from, after)
	if p.open() {
		end.Body = &RunCancelled{Reason: origin}
	} else {
		end.Body = &Warned{Code: codeForked, Message: origin}
	}
	return end
}

// codeForked marks where a log continues on its own.
const codeForked = "forked"

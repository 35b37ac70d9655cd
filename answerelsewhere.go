package troupe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

const (
	// maxPassedOn bounds an answer that is passed on to another process, in bytes of JSON.
	maxPassedOn = 4 << 10
	// passedTime is how long a process may take to put an answer on record that was passed on to it.
	passedTime = 5 * time.Second
)

// answerElsewhere has the process that has a session take an answer to what its run has asked.
// The answer is on record when it returns. It fails with errLeaving where the session is that
// process's no longer, and with its owner where the answer cannot be taken now.
func (e *Engine) answerElsewhere(ctx context.Context, session string, input *Input, owner *Owner) (taken *Handle, err error) {
	busy := fmt.Errorf("session %s: %w", session, owner)
	request := SessionRequest{Question: input.Question, Said: input.said()}
	log, from := &growingLog{}, &feed{session: session, store: e.store}
	var answer *Event // as it will be on record
	look := func() (err error) {
		if err := log.readOn(ctx, from); err != nil {
			return err
		}
		if input.User != "" && input.User != log.owner {
			return fmt.Errorf("session %s: %w", session, ErrNotFound)
		}
		if seq := log.find(answer); seq != 0 {
			taken = &Handle{engine: e, first: seq - 1, Session: session, Run: log.start.Run}
			return nil
		}
		asked, err := log.askedElsewhere(input.Question)
		if asked != nil {
			if answer = answerTo(asked, request.Said); answer == nil {
				return busy // it is a message like any other
			}
		}
		return err
	}
	if err := look(); err != nil { // before anything is passed on
		return nil, err
	}
	if data, err := json.Marshal(request); err != nil || len(data) > maxPassedOn {
		return nil, busy
	}
	limited, cancel := context.WithTimeout(ctx, passedTime)
	defer cancel()
	failed := e.askOwner(limited, session, request, func(SessionInfo) bool {
		err = look()
		return err != nil || taken != nil
	})
	switch err = cmp.Or(err, failed); {
	case err == nil && taken == nil:
		return nil, errLeaving
	case limited.Err() != nil && ctx.Err() == nil && taken == nil:
		return nil, busy
	}
	return taken, err
}

// askedElsewhere returns the event that asks what has this id, nil if an answer to that cannot
// be taken now by the process whose run it is.
func (l *growingLog) askedElsewhere(id string) (*Event, error) {
	if !l.open() {
		return nil, nil // it begins, or ends
	}
	return l.asksUnderWay(id, true)
}

// find returns the number under which an answer is on record, 0 if it is not.
func (l *growingLog) find(answer *Event) int64 {
	if answer == nil {
		return 0
	}
	for _, e := range slices.Backward(l.events) {
		if said, ok := e.Body.(*UserSaid); ok && e.Run == answer.Run && e.Step == answer.Step && reflect.DeepEqual(said, answer.Body) {
			return e.Seq
		}
	}
	return 0
}

// answerFor takes an answer that another process has passed on. Whether it was taken is in the log.
func (x *execution) answerFor(question string, said *UserSaid) {
	ctx, cancel := context.WithTimeout(context.Background(), passedTime)
	defer cancel()
	_, _ = x.engine.answerUnderWay(ctx, x.feed.session, &Input{
		Text: said.Text, Parts: said.Parts, Answer: said.Answer, Hidden: said.Hidden, IdempotencyKey: said.IdempotencyKey, Question: question,
	})
}

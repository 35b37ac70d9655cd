package troupe

import (
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
func (e *Engine) answerElsewhere(ctx context.Context, session string, input *Input, owner *Owner) (*Handle, error) {
	log, from := &growingLog{}, &feed{session: session, store: e.store}
	busy := fmt.Errorf("session %s: %w", session, owner)
	request := SessionRequest{Question: input.Question, Said: input.said()}
	var answer *Event // as it will be on record
	var has Owner
	again := 0
	for until := time.Now().Add(passedTime); time.Now().Before(until); again-- {
		if err := log.readOn(ctx, from); err != nil {
			return nil, err
		}
		if input.User != "" && input.User != log.owner {
			return nil, fmt.Errorf("session %s: %w", session, ErrNotFound)
		}
		if seq := log.find(answer); seq != 0 {
			return &Handle{engine: e, first: seq - 1, Session: session, Run: log.start.Run}, nil
		}
		asked, err := log.askedElsewhere(input.Question)
		if err != nil {
			return nil, err
		}
		passed := SessionRequest{}
		if asked != nil && again <= 0 {
			answer = answerTo(asked, request.Said)
			if data, err := json.Marshal(request); answer == nil || err != nil || len(data) > maxPassedOn {
				return nil, busy
			}
			passed, again = request, askAgain
		}
		info, _, err := e.store.Ask(ctx, session, passed)
		switch {
		case err != nil:
			return nil, err
		case has == (Owner{}):
			has = info.Owner
		}
		if info.Owner != has || has == (Owner{}) {
			return nil, errLeaving
		}
		if err := pause(ctx, askPause); err != nil {
			return nil, err
		}
	}
	return nil, busy
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

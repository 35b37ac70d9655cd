package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
)

// An answering model gives what comes over it: an error, or how an answer ends.
type answering chan any

func (a answering) Generate(ctx context.Context, _ *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		select {
		case answer := <-a:
			switch answer := answer.(type) {
			case error:
				yield(troupe.Chunk{}, answer)
			case *troupe.ToolCall:
				_ = yield(troupe.Chunk{Call: answer}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishCalls}}, nil)
			case string:
				_ = yield(troupe.Chunk{Text: answer}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: troupe.FinishStop}}, nil)
			case troupe.Finish:
				_ = yield(troupe.Chunk{Text: "Well."}, nil) && yield(troupe.Chunk{End: &troupe.End{Finish: answer}}, nil)
			}
		case <-ctx.Done():
			yield(troupe.Chunk{}, context.Cause(ctx))
		}
	}
}

// A queue is held for one reason, which is said.
func TestAQueueSaysWhyItIsHeld(t *testing.T) {
	for want, answer := range map[string]any{
		heldFailed: errors.New("gone"), heldStopped: nil, heldUnfinished: troupe.FinishFiltered, heldAsks: &troupe.ToolCall{ID: "1", Name: "act", Arguments: "{}"},
	} {
		t.Run(want, func(t *testing.T) {
			model := make(answering)
			act := troupe.NewTool("act", "Acts.", func(context.Context, struct{}) (string, error) { return "done", nil })
			w := open(t, clerk(t, model, approve.Policy{{Tool: "act", Do: approve.Ask}}.Tools(act)...))
			session := w.session()
			at := "/api/sessions/" + session
			w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: "one"})
			w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: "two", When: "after"})
			if answer != nil {
				model <- answer
			} else {
				w.want(http.StatusNoContent, nil, "POST", at+"/cancel", nil)
			}
			queue := func() (q queueView) {
				w.want(http.StatusOK, &q, "GET", at+"/queue", nil)
				return q
			}
			w.eventually(func() bool { return queue().Held })
			if q := queue(); q.Why != want {
				t.Errorf("it is held because of %q", q.Why)
			}
			if want != heldAsks {
				return
			}
			w.want(http.StatusAccepted, nil, "POST", at+"/answers", decision{Question: w.info(session).Question.ID, Allow: "once"})
			model <- troupe.FinishStop
			model <- troupe.FinishStop // what waited for the answer is said after it
			w.eventually(func() bool { return w.info(session).Status == "completed" && len(queue().Messages) == 0 })
		})
	}
}

// What waits for an answer's end goes out after an open question, but does not choose what is
// offered.
func TestWhatWaitsChoosesNothing(t *testing.T) {
	model := make(answering)
	w := open(t, clerk(t, model))
	session := w.session()
	at := "/api/sessions/" + session
	queue := func() (q queueView) {
		w.want(http.StatusOK, &q, "GET", at+"/queue", nil)
		return q
	}
	w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: "Compare the banks."})
	for _, text := range []string{"Write a summary.", "Thank you.", "Then go on."} {
		w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: text, When: "after"})
	}
	model <- "Which one do you want?\n\n1. The red bank\n2. The blue bank"
	w.eventually(func() bool { return queue().Held })
	if q := queue(); q.Why != heldAsks || len(q.Messages) != 3 {
		t.Errorf("it is held because of %q: %v", q.Why, q.Messages)
	}
	w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: "And in blue.", When: "after"}) // also what was on its way
	w.want(http.StatusNoContent, nil, "DELETE", at+"/queue/"+strconv.Itoa(queue().Messages[3].Number), nil)
	answer := decision{Question: w.info(session).Question.ID, Choice: "The pink bank"}
	w.want(http.StatusBadRequest, nil, "POST", at+"/answers", answer)
	answer.Choice = "The red bank"
	w.want(http.StatusAccepted, nil, "POST", at+"/answers", answer)
	model <- "It is red. Where is it for?"
	model <- "That is the summary. Go on?\n\n1. Yes\n2. No" // to the first message that waited
	w.eventually(func() bool { return queue().Held })
	if q := queue(); len(q.Messages) != 2 {
		t.Errorf("these wait: %v", q.Messages)
	}
	w.want(http.StatusOK, nil, "PATCH", at+"/queue/"+strconv.Itoa(queue().Messages[0].Number), queueChange{Now: true})
	model <- troupe.FinishStop // who sends it now means it
	model <- troupe.FinishStop
	w.eventually(func() bool { return w.info(session).Status == "completed" && len(queue().Messages) == 0 })
}

// A heldShelf keeps things in memory. Once it is told to, it holds what takes from something until
// it may go on.
type heldShelf struct {
	changing, reading sync.Mutex
	kept              map[string][]byte
	holds             atomic.Bool
	goOn              chan struct{}
}

func (s *heldShelf) Read(_ context.Context, name string) ([]byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.kept[name], nil
}

func (s *heldShelf) Change(ctx context.Context, name string, change func([]byte) ([]byte, error)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	before, _ := s.Read(ctx, name)
	after, err := change(before)
	if s.holds.Load() && len(after) < len(before) && strings.HasPrefix(name, shelfNotes) {
		<-s.goOn
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	s.kept[name] = after
	return err
}

// A run that has ended before the message which began it is taken from the queue goes on with the
// next one.
func TestAnAnswerThatIsQuickerThanTheQueueIsGoneOnAfter(t *testing.T) {
	model := make(answering)
	shelf := &heldShelf{kept: map[string][]byte{}, goOn: make(chan struct{})}
	w := open(t, clerk(t, model), func(c *Config) { c.Shelf = shelf })
	session := w.session()
	at := "/api/sessions/" + session
	w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: "one"})
	for _, text := range []string{"two", "three"} {
		w.want(http.StatusAccepted, nil, "POST", at+"/messages", message{Text: text, When: "after"})
	}
	shelf.holds.Store(true)
	model <- troupe.FinishStop
	model <- troupe.FinishStop // to the second message, which is in the queue for as long
	w.eventually(func() bool { // that is gone on after
		known := w.server.summary(session)
		known.mu.Lock()
		defer known.mu.Unlock()
		for info, err := range w.store.Sessions(t.Context(), troupe.SessionFilter{ID: session}) {
			return err == nil && known.ended == info.Events
		}
		return false
	})
	close(shelf.goOn)
	w.eventually(func() bool {
		select {
		case model <- troupe.FinishStop:
			return true
		default:
			return false
		}
	})
	w.eventually(func() bool { return w.info(session).Status == "completed" })
}

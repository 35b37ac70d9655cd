package wire

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/troupe-dev/troupe"
)

// Lessons are what a server's refusals have taught, a bit each. They may be used
// concurrently.
type Lessons struct{ learned atomic.Uint32 }

// Has says whether a lesson was learned.
func (l *Lessons) Has(lesson uint32) bool { return l.learned.Load()&lesson != 0 }

// Add learns a lesson. It reports whether that is new.
func (l *Lessons) Add(lesson uint32) bool { return l.learned.Or(lesson)&lesson == 0 }

// A Refusal is what a server said about a request that it found fault with.
type Refusal struct {
	Reason string
	Params *troupe.Params // of the request, never nil
	said   string
}

// About says whether the server spoke of one of these, in lower case.
func (r *Refusal) About(words ...string) bool {
	for _, word := range words {
		if strings.Contains(r.said, word) {
			return true
		}
	}
	return false
}

// Learn finds out what an error teaches: which lesson that is, 0 for none, lessonOf
// says. If the next request will be another one for it, the refusal is temporary: the
// engine tries again.
func (l *Lessons) Learn(c *Client, err error, req *troupe.Request, lessonOf func(*Refusal) uint32) error {
	e, ok := errors.AsType[*troupe.ModelError](err)
	if !ok || e.Status != http.StatusBadRequest || e.Reason == "context" || e.Reason == "money" || e.Reason == "key" {
		return err
	}
	r := &Refusal{Reason: e.Reason, Params: req.Params, said: strings.ToLower(e.Message)}
	if r.Params == nil {
		r.Params = &troupe.Params{}
	}
	if lesson := lessonOf(r); lesson != 0 && l.Add(lesson) {
		c.Note("the server does not take something that was sent along (" + e.Message + "); it is asked again without that, and nothing needs to be done")
		e.Temporary = true
	}
	return err
}

// HasOpaque says whether something goes back to a server that it sent itself.
func HasOpaque(messages []*troupe.Message) bool {
	for _, message := range messages {
		if message.Role == troupe.RoleAssistant && len(message.Opaque) > 0 {
			return true
		}
	}
	return false
}

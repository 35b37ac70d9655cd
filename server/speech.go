package server

import (
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A speech is what a run says to a client that knows nothing but text. What agents
// say among themselves is not in it.
type speech struct {
	said    strings.Builder
	step    string
	attempt int
	goesOn  bool   // the answer reached the output limit, and its rest follows
	broken  string // why the run broke off, if that is on record
}

// note returns what an event adds to the speech, which is often nothing. What was
// said in vain, because the model was asked again, cannot be taken back.
func (s *speech) note(e *troupe.Event) string {
	if e.Parent != "" {
		return ""
	}
	added := ""
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		added = b.Text
		if !s.goesOn && (e.Step != s.step || b.Attempt != s.attempt) {
			added = s.gap() + added
		}
		s.step, s.attempt, s.goesOn = e.Step, b.Attempt, false
	case *troupe.ModelReplied:
		s.goesOn = b.Finish == troupe.FinishLength && len(b.Message.Calls) == 0
	case *troupe.RunFailed:
		s.broken = b.Error
	case *troupe.RunCancelled:
		s.broken = "the run was cancelled: " + b.Reason
	case *troupe.RunFinished:
		if !strings.HasSuffix(s.said.String(), b.Output.Summary) {
			added = s.gap() + b.Output.Summary
		}
	}
	s.said.WriteString(added)
	return added
}

// failure says why there is no answer: what is on record, which the client may read
// anyway, or else as little as of any other error.
func (s *speech) failure(err error) *problem {
	if p := problemOf(err); p != errGeneric || s.broken == "" {
		return p
	}
	return refuse(http.StatusInternalServerError, "%s", s.broken)
}

func (s *speech) gap() string {
	if s.said.Len() == 0 {
		return ""
	}
	return "\n\n"
}

package server

import (
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A speech is what a run says to a client that knows nothing but text. What agents
// say among themselves is not in it.
type speech struct {
	// said is all that was told as it came, and kept what is on record of it: without what
	// was said in vain, because the model was asked again.
	said, kept strings.Builder
	step       string
	attempt    int
	goesOn     bool   // the answer reached the output limit, and its rest follows
	broken     string // why the run broke off, if that is on record
}

// note returns what an event adds for those who are told as it comes, which is often
// nothing.
func (s *speech) note(e *troupe.Event) string {
	if e.Parent != "" {
		return ""
	}
	added := ""
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		added = b.Text
		if isNext := e.Step != s.step; isNext && !s.goesOn || !isNext && b.Attempt != s.attempt {
			added = gap(&s.said) + added
		}
		s.step, s.attempt = e.Step, b.Attempt
	case *troupe.ModelReplied:
		if b.Message == nil || b.Purpose != "" {
			return ""
		}
		text := b.Message.Text
		if text != "" && e.Step != s.step { // there were no deltas
			added = text
			if !s.goesOn {
				added = gap(&s.said) + text
			}
			s.step, s.attempt = e.Step, 0
		}
		if text != "" && !s.goesOn {
			s.kept.WriteString(gap(&s.kept))
		}
		s.kept.WriteString(text)
		s.goesOn = b.Finish == troupe.FinishLength && len(b.Message.Calls) == 0
	case *troupe.RunFailed:
		s.broken = b.Error
	case *troupe.RunCancelled:
		s.broken = "the run was cancelled: " + b.Reason
	case *troupe.RunFinished:
		if summary := b.Output.Summary; !strings.HasSuffix(s.kept.String(), summary) {
			added = gap(&s.said) + summary
			s.kept.WriteString(gap(&s.kept) + summary)
		}
	}
	s.said.WriteString(added)
	return added
}

// failure says why there is no answer: what is on record, which the client may read
// anyway, or else as little as of any other error.
func (s *speech) failure(err error) *problem {
	if p := problemOf(err); p.Status != http.StatusInternalServerError || p.hidden == nil || s.broken == "" {
		return p
	}
	return refuse(http.StatusInternalServerError, "%s", s.broken)
}

// gap is what stands before more of a text.
func gap(text *strings.Builder) string {
	if text.Len() == 0 {
		return ""
	}
	return "\n\n"
}

package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/asking"
	"github.com/troupe-dev/troupe/internal/question"
)

// questionOf is a question that waits, as people are shown it.
func questionOf(open *asking.Question) *Question {
	e, b := &open.Asked, open.InputRequested
	q := &Question{ID: e.Seq, Kind: "question", Agent: e.Agent, Text: b.Question, Tool: b.Tool, Arguments: json.RawMessage(b.Arguments), Asked: e.Time}
	switch {
	case b.Tool == "gate":
		q.Kind = "gate"
	case b.Approval:
		q.Kind = "approval"
	default:
		q.Choices, q.Several = choicesIn(b.Question), question.Several(b.Question)
	}
	return q
}

// choicesIn returns the answers that a question lists itself.
func choicesIn(text string) []Choice { return asChoices(question.Choices(text)) }

func asChoices(found []question.Choice) []Choice {
	var choices []Choice
	for _, c := range found {
		choices = append(choices, Choice(c))
	}
	return choices
}

// askedIn makes a question of an answer that ends with one, or with a menu: then the
// conversation waits for a person, although no run does. It returns nil for others, and for the
// result of a delivery: what is left open there is not asked.
func askedIn(e *troupe.Event, answer string) *Question {
	asked, choices, ok := question.In(answer)
	if !ok || e.Agent == Pipeline {
		return nil
	}
	return &Question{ID: e.Seq, Kind: "question", Agent: e.Agent, Text: asked, Choices: asChoices(choices), Several: len(choices) > 0 && question.Several(asked), Asked: e.Time}
}

// offers says of what an answer asks, which may be nothing, that there is something to choose.
func (q *Question) offers() bool { return q != nil && len(q.Choices) > 0 }

// A decision is what a person answers to a question.
type decision struct {
	// Question is the question's id, so that an answer to an older one is noticed.
	Question int64  `json:"question" jsonschema:"the id of the question that is answered"`
	Choice   string `json:"choice,omitempty" jsonschema:"one of the choices, by its label"`
	Text     string `json:"text,omitempty" jsonschema:"an answer in one's own words"`
	Allow    string `json:"allow,omitempty" jsonschema:"for an approval: once, session or no"`
}

func (s *Server) postAnswer(c *call, in decision) (started, error) {
	key, err := c.key()
	if err != nil {
		return started{}, err
	}
	info, err := s.found(c)
	if err != nil {
		return started{}, err
	}
	input, err := in.input()
	if err != nil {
		return started{}, err
	}
	open, name, err := s.openQuestion(c.r.Context(), &info, in.Question)
	if err != nil {
		return started{}, err
	}
	if open == nil {
		// The answer may be the one that closed it, sent again.
		if known, err := s.isOnRecord(c.r.Context(), info.ID, key); err != nil || !known {
			return started{}, orElse(err, errAnswered)
		}
	} else if in.Choice != "" && open.offers() && !slices.ContainsFunc(open.Choices, func(c Choice) bool { return c.Label == in.Choice }) {
		return started{}, refuse(http.StatusBadRequest, "choice: %.100q is none of those that are offered; text takes an answer in one's own words", in.Choice)
	}
	input.Session, input.IdempotencyKey, input.Question = info.ID, key, name
	held, err := s.release(info.ID, heldAsks) // what waited for the answer goes on after it
	if err != nil {
		return started{}, err
	}
	run, err := s.say(c, info.Agent, input)
	if err != nil {
		if held {
			err = errors.Join(err, s.notes.change(info.ID, func(n *notes) { n.Held = true }))
		}
		return started{}, s.withSeq(c, info.ID, err)
	}
	if in.Allow == "session" && open != nil {
		// Not before: the run that asked may be about to leave, and would answer itself.
		if err := s.notes.change(info.ID, func(n *notes) { n.allow(open.Tool) }); err != nil {
			return run.started, err
		}
		s.allowOthers(c, &info, open.Tool)
	}
	return run.started, nil
}

// allowOthers answers the other questions about calls that are now allowed in the whole session,
// while what was answered is at work. What cannot be answered now is answered when the run
// waits: see allow.
func (s *Server) allowOthers(c *call, info *troupe.SessionInfo, tool string) {
	known, err := s.summaryOf(c.r.Context(), info)
	if err != nil {
		return
	}
	for _, name := range known.allowed(tool) { // the one that was answered is refused, if it is still among them
		if _, err := s.say(c, info.Agent, allowedAnswer(info.ID, name)); err != nil && !errors.Is(err, troupe.ErrNoQuestion) {
			return
		}
	}
}

// allowedAnswer answers a question about a call that is allowed in the whole session: nobody was
// asked.
func allowedAnswer(session, name string) troupe.Input {
	return troupe.Input{Session: session, Question: name, Answer: &troupe.Answer{Approved: true}, Hidden: true}
}

var errAnswered = refuse(http.StatusConflict, "this question does not wait for an answer any more").withCode("answered")

// openQuestion returns a question of the session's latest run by its id, nil if it was
// answered, and how the engine calls it.
func (s *Server) openQuestion(ctx context.Context, info *troupe.SessionInfo, id int64) (q *Question, name string, err error) {
	known, err := s.summaryOf(ctx, info)
	if err != nil {
		return nil, "", err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	q, name = known.questionWith(id)
	return q, name, nil
}

// input is the answer as the run that asked gets it.
func (d *decision) input() (troupe.Input, error) {
	switch {
	case d.Allow == "once":
		return troupe.Input{Answer: &troupe.Answer{Approved: true}}, nil
	case d.Allow == "session":
		return troupe.Input{Answer: &troupe.Answer{Approved: true, Scope: "session"}}, nil
	case d.Allow == "no":
		return troupe.Input{Answer: &troupe.Answer{Denied: true, Text: d.Text}}, nil
	case d.Allow != "":
		return troupe.Input{}, refuse(http.StatusBadRequest, "allow is once, session or no")
	case strings.TrimSpace(d.Choice) != "":
		return troupe.Input{Text: d.Choice}, nil
	case strings.TrimSpace(d.Text) != "":
		return troupe.Input{Text: d.Text}, nil
	}
	return troupe.Input{}, refuse(http.StatusBadRequest, "there is no answer in it: choice, text or allow")
}

package server

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/outputs"
)

// A message is what a user says.
type message struct {
	Text        string       `json:"text,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	// When is "after" for a message that waits until the run under way has ended, also where that
	// asks something: it is no answer to it.
	When string `json:"when,omitempty" jsonschema:"after: wait until the run that is under way has ended, also where that asks something; by default such a message is refused, or answers what is asked"`
}

// A posted message has begun a run, or waits in the queue.
type posted struct {
	Session string `json:"session"`
	Run     string `json:"run"`
	// Queued says that it waits for the run that is under way.
	Queued bool `json:"queued,omitempty"`
}

// An attachment is a file that comes with a message.
type attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

const (
	mostAttachments   = 10
	maxAttachmentName = 200
)

// parts checks attachments and returns them as a model gets them.
func (s *Server) parts(attachments []attachment) ([]troupe.Part, error) {
	if len(attachments) > mostAttachments {
		return nil, refuse(http.StatusRequestEntityTooLarge, "a message has at most %d attachments", mostAttachments)
	}
	var parts []troupe.Part
	for _, a := range attachments {
		switch _, _, err := mime.ParseMediaType(a.MIME); {
		case err != nil:
			return nil, refuse(http.StatusBadRequest, "attachment %.64q: %.64q is not a media type", a.Name, a.MIME)
		case !isPlainName(a.Name):
			return nil, refuse(http.StatusBadRequest, "attachment %.64q: the name is not one", a.Name)
		case len(a.Data) == 0:
			return nil, refuse(http.StatusBadRequest, "attachment %.64q: it is empty", a.Name)
		case int64(len(a.Data)) > s.config.Limits.Attachment:
			return nil, refuse(http.StatusRequestEntityTooLarge, "attachment %.64q: it has more than %d bytes", a.Name, s.config.Limits.Attachment)
		}
		parts = append(parts, troupe.Part{MIME: a.MIME, Name: a.Name, Data: a.Data})
	}
	return parts, nil
}

// isPlainName says whether a name can be shown to people and models as one.
func isPlainName(name string) bool {
	return name != "" && len(name) <= maxAttachmentName && utf8.ValidString(name) && strings.IndexFunc(name, isInvisible) < 0
}

func isInvisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// input makes a run's input of a message.
func (s *Server) input(in message) (troupe.Input, error) {
	parts, err := s.parts(in.Attachments)
	if err == nil && strings.TrimSpace(in.Text) == "" && parts == nil {
		err = refuse(http.StatusBadRequest, "there is neither text nor an attachment")
	}
	return troupe.Input{Text: in.Text, Parts: parts}, err
}

func (s *Server) postMessage(c *call, in message) (posted, error) {
	if in.When != "" && in.When != "after" {
		return posted{}, refuse(http.StatusBadRequest, "when: %.20q is not after", in.When)
	}
	key, err := c.key()
	if err != nil {
		return posted{}, err
	}
	id := c.r.PathValue("id")
	info, _, err := s.find(c, id)
	if err != nil {
		return posted{}, err
	}
	input, err := s.input(in)
	if err != nil {
		return posted{}, err
	}
	if isQueued, err := s.isQueued(id, key, in.Text); err != nil || isQueued {
		return posted{Session: id, Queued: isQueued}, err
	}
	if in.When == "after" { // it was not written as an answer to what is asked meanwhile
		asks, err := s.expects(c.r.Context(), &info)
		if err != nil {
			return posted{}, err
		}
		if asks {
			return posted{Session: id, Queued: true}, s.enqueue(c, id, key, in, heldAsks)
		}
	}
	input.Session, input.IdempotencyKey = id, key
	if err := s.withGiven(c, &input); err != nil {
		return posted{}, err
	}
	if input.Question, err = s.shownOf(c.r.Context(), &info); err != nil {
		return posted{}, err
	}
	run, err := s.say(c, info.Agent, input)
	if errors.Is(err, troupe.ErrBusy) && in.When == "after" {
		return posted{Session: id, Queued: true}, s.enqueue(c, id, key, in, "")
	}
	if err != nil {
		return posted{}, s.withSeq(c, id, err)
	}
	if err := s.forgetGiven(id); err != nil {
		return posted{}, err
	}
	return posted{Session: run.Session, Run: run.Run}, nil
}

// expects says that a session waits for an answer, or for one of the choices that its latest answer
// offers.
func (s *Server) expects(ctx context.Context, info *troupe.SessionInfo) (bool, error) {
	if info.Status != "completed" {
		return info.Status == "waiting", nil
	}
	known, err := s.summaryOf(ctx, info)
	if err != nil {
		return false, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	return known.asked.offers(), nil
}

// shownOf is how the engine calls the question that a session shows, where several wait: a message
// answers that one. Else it is "".
func (s *Server) shownOf(ctx context.Context, info *troupe.SessionInfo) (string, error) {
	if info.Status != "waiting" {
		return "", nil
	}
	known, err := s.summaryOf(ctx, info)
	if err != nil {
		return "", err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if len(known.open.Waiting) < 2 {
		return "", nil
	}
	return known.open.First().ID, nil
}

// say begins a run of a named step. A new session is named here, so that it goes on with
// the step that it begins with.
func (s *Server) say(c *call, name string, input troupe.Input) (*running, error) {
	if input.Session == "" && input.IdempotencyKey == "" {
		input.Session = newID()
	}
	linked, err := s.notes.of(input.Session)
	if err == nil && len(linked.Related) > 0 {
		input.Custom, input.Values = outputs.Related(linked.Related)
	}
	step, err := s.stepIn(c.r.Context(), name, input.Session)
	if err != nil {
		return nil, err
	}
	return s.begin(c, step, input)
}

package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/rawjson"
	"github.com/troupe-dev/troupe/workspace"
)

// A cut is where a session is forked: after an event, or at a step of a flow.
type cut struct {
	After int64 `json:"after,omitempty" jsonschema:"the number of the last event that the new session has"`
	// Run is the step that is to be done again.
	Run string `json:"run,omitempty" jsonschema:"in place of after, the run of a step in a flow: the new session has all that does not come after it, and /resume does the step again and what follows it"`
	// Input is what that step gets now.
	Input *newInput `json:"input,omitempty" jsonschema:"what the step is given now; what is left out is as it was"`
}

// A newInput is what a person puts in place of what a step was given.
type newInput struct {
	Task    *string                    `json:"task,omitempty"`
	Summary *string                    `json:"summary,omitempty"`
	Value   json.RawMessage            `json:"value,omitempty" jsonschema:"must fit what the agent returns that it comes from"`
	Outputs map[string]json.RawMessage `json:"key_outputs,omitempty" jsonschema:"takes the place of all outputs"`
	Custom  map[string]json.RawMessage `json:"custom,omitempty" jsonschema:"takes the place of all custom values"`
}

// A forked session is one that goes on from another.
type forked struct {
	Session string `json:"session"`
}

func (s *Server) forkSession(c *call, in cut) (forked, error) {
	info, err := s.found(c)
	switch {
	case err != nil:
		return forked{}, err
	case in.Run != "" && in.After != 0:
		return forked{}, refuse(http.StatusBadRequest, "a session is forked after an event or at the run of a step, not both")
	case in.Run != "":
		return s.forkStep(c, info.ID, in)
	case in.Input != nil:
		return forked{}, refuse(http.StatusBadRequest, "an input needs the run of the step that is given it")
	case in.After < 1 || in.After > info.Events:
		return forked{}, refuse(http.StatusBadRequest, "the session's events are numbered from 1 to %d", info.Events)
	}
	return s.forkAfter(c, info.ID, in.After)
}

// forkAfter begins a session with the events of another up to one of them. A request that is
// sent again under its key is answered with the session that it has made.
func (s *Server) forkAfter(c *call, session string, after int64) (forked, error) {
	key, err := c.key()
	if err != nil {
		return forked{}, err
	}
	id := sessionID(c.user, "a fork of "+session, key)
	isMade := false
	if key != "" {
		isMade, err = s.hasForked(c, id, session, after)
	}
	if err == nil && !isMade {
		_, err = s.config.Engine.Fork(c.r.Context(), session, after, troupe.Input{Session: id})
	}
	if key != "" && errors.Is(err, troupe.ErrConflict) { // the same request was quicker
		_, err = s.hasForked(c, id, session, after)
	}
	if err != nil {
		return forked{}, err
	}
	return forked{id}, s.equip(c.r.Context(), session, id) // it may have been killed before that
}

// hasForked reports whether a session was made as a fork of another after one of its events.
// It fails if it was made otherwise.
func (s *Server) hasForked(c *call, id, from string, after int64) (bool, error) {
	b, err := s.forkOf(c, id)
	if b == nil || err != nil {
		return false, err
	}
	if b.From != from || b.After != after || b.Run != "" {
		return false, errOtherRequest
	}
	return true, nil
}

// forkOf says how a session was forked, nil if there is no such session. One of the same id that
// was made otherwise is of another request.
func (s *Server) forkOf(c *call, id string) (b *troupe.SessionForked, err error) {
	if _, _, err := s.find(c, id); errors.Is(err, troupe.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for e, err := range s.config.Store.Events(c.r.Context(), id, 0) {
		if err != nil {
			return nil, err
		}
		if forked, ok := e.Body.(*troupe.SessionForked); ok {
			b = forked // its own is the last: those before it are of the session that it is a fork of
		}
	}
	if b == nil {
		return nil, errOtherRequest
	}
	return b, nil
}

// fork begins a session with the events of another up to one of them.
func (s *Server) fork(ctx context.Context, session string, after int64) (string, error) {
	id, err := s.config.Engine.Fork(ctx, session, after, troupe.Input{})
	if err != nil {
		return id, err
	}
	return id, s.equip(ctx, session, id)
}

// forkStep begins a session in which a step of another is to be done again. A request that
// is sent again under its key is answered with the session that it has made.
func (s *Server) forkStep(c *call, session string, in cut) (forked, error) {
	key, err := c.key()
	if err != nil {
		return forked{}, err
	}
	input := troupe.Input{User: c.user}
	if key != "" {
		input.Session = sessionID(c.user, fmt.Sprintf("a fork of %s at %s", session, in.Run), key)
		if made, err := s.forkedBefore(c, session, input.Session, in); err != nil {
			return forked{}, err
		} else if made { // and may have been killed before a model was chosen
			return forked{input.Session}, s.chooseAs(session, input.Session)
		}
	}
	id, err := s.config.Engine.ForkStep(c.r.Context(), session, in.Run, in.Input.put, input)
	switch {
	case key != "" && errors.Is(err, troupe.ErrConflict): // the same request was quicker
		_, err := s.forkedBefore(c, session, input.Session, in)
		return forked{input.Session}, err
	case isRefusal(err):
		return forked{}, refuse(http.StatusUnprocessableEntity, "%v", errors.Unwrap(err)).withCode("not_editable")
	case err != nil:
		return forked{}, err
	}
	return forked{id}, s.equip(c.r.Context(), session, id)
}

// isRefusal reports whether an engine says that a step cannot be done again so. What a disk
// does not support has a cause of its own, and is nobody's business.
func isRefusal(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) && errors.Unwrap(errors.Unwrap(err)) == nil
}

// put makes the input of a step what a person wants it to be.
func (in *newInput) put(h troupe.Handoff) (troupe.Handoff, error) {
	if in == nil {
		return h, nil
	}
	if in.Task != nil {
		h.Task = *in.Task
	}
	if in.Summary != nil {
		h.Summary = *in.Summary
	}
	if in.Value != nil {
		h.Value = in.Value
	}
	if in.Outputs != nil {
		h.Outputs = decoded(in.Outputs)
	}
	if in.Custom != nil {
		h.Custom = decoded(in.Custom)
	}
	return h, nil
}

// decoded are values as a handoff has them: none where there are none.
func decoded(raw map[string]json.RawMessage) map[string]any {
	if len(raw) == 0 {
		return nil
	}
	values := make(map[string]any, len(raw))
	for name, data := range raw {
		values[name], _ = rawjson.Value(data) // it was read as JSON
	}
	return values
}

// forkedBefore reports whether a session was made by the same request. It fails if
// that was another one.
func (s *Server) forkedBefore(c *call, session, id string, in cut) (bool, error) {
	b, err := s.forkOf(c, id)
	if b == nil || err != nil {
		return false, err
	}
	if b.From != session || b.Run != in.Run {
		return false, errOtherRequest
	}
	var was troupe.Handoff
	for e, err := range s.config.Store.Events(c.r.Context(), session, 0) {
		if err != nil {
			return false, err
		}
		if b, ok := e.Body.(*troupe.RunStarted); ok && e.Run == in.Run {
			was = b.Input
		}
	}
	now := was
	if b.Input != nil {
		now = *b.Input
	}
	if wanted, err := in.Input.put(was.Clone()); err != nil || !sameInput(was, now, wanted) {
		return false, errOtherRequest
	}
	return true, nil
}

// sameInput reports whether two edits of an input say the same. An engine keeps value and
// summary the same where they were.
func sameInput(was, a, b troupe.Handoff) bool {
	if was.Value != nil && was.Summary == string(was.Value) {
		for _, h := range []*troupe.Handoff{&a, &b} {
			if bytes.Equal(h.Value, was.Value) && h.Summary != was.Summary {
				h.Value = json.RawMessage(h.Summary)
			}
			h.Summary = ""
		}
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// chooseAs has a fork answered by the model that was chosen for another session, unless one
// was chosen for it.
func (s *Server) chooseAs(session, id string) error {
	n, err := s.notes.of(session)
	if err != nil || n.Model == "" {
		return err
	}
	return s.notes.change(id, func(of *notes) { of.Model = cmp.Or(of.Model, n.Model) })
}

// equip gives a fork the model that was chosen for the session that it goes on from, and
// the files that its events speak of: as they were at its point where that is known, as they
// are now where not. A fork that has gone on has files of its own.
func (s *Server) equip(ctx context.Context, session, id string) error {
	if err := s.chooseAs(session, id); err != nil || s.config.Folders == nil {
		return err
	}
	var files []string
	var forked *troupe.SessionForked
	saves, hasGoneOn := map[string]int{}, false
	for e, err := range s.config.Store.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		hasGoneOn = true
		switch b := e.Body.(type) {
		case *troupe.SessionForked:
			forked, hasGoneOn = b, false
		case *troupe.ArtifactSaved:
			name, inFolder := strings.CutPrefix(b.Path, "{"+workspace.SessionFolder+"}/")
			if inFolder && saves[name] == 0 {
				files = append(files, name)
			}
			if inFolder {
				saves[name]++
			}
		}
	}
	if forked == nil || hasGoneOn {
		return nil
	}
	earlier := map[string]string{}
	for _, name := range files {
		text, isEarlier, err := s.asOf(ctx, session, name, saves[name], forked.After)
		if err != nil {
			return err
		}
		if isEarlier {
			earlier[name] = text
		}
	}
	files = slices.DeleteFunc(files, func(name string) bool { _, ok := earlier[name]; return ok })
	if _, err := s.config.Folders.Copy(ctx, session, id, files); err != nil { // those that are gone were deleted since
		return err
	}
	for name, text := range earlier {
		if err := s.writeFile(ctx, id, name, text); err != nil {
			return err
		}
	}
	return nil
}

// asOf is what a file of a session held when agents had saved it so many times and the session
// had so many events, with what people had made of it until then. It reports false if that is
// what it holds now, or nobody has kept it.
func (s *Server) asOf(ctx context.Context, session, name string, saves int, after int64) (string, bool, error) {
	n, err := s.notes.of(session)
	if err != nil {
		return "", false, err
	}
	list, err := s.contentsWith(ctx, session, name, &n)
	if err != nil {
		return "", false, err
	}
	at, edits := -1, n.editsOf(name)
	for i, v := range list {
		isEdit := len(edits) > 0 && edits[0].At.Equal(v.At) && sumOf(edits[0].Content) == v.SHA256
		switch {
		case isEdit && edits[0].After <= after:
			at, edits = i, edits[1:]
		case isEdit:
			edits = edits[1:]
		case saves > 0:
			at, saves = i, saves-1
		}
	}
	if at < 0 || at == len(list)-1 || !list[at].Known {
		return "", false, nil
	}
	return list[at].text, true, nil
}

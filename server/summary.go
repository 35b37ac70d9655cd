package server

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/asking"
	"github.com/troupe-dev/troupe/internal/words"
	causes "github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/workspace"
)

// A Question is what a person must answer before a run goes on.
type Question struct {
	// ID is the number of the event that asked.
	ID int64 `json:"id"`
	// Kind is question, approval or gate.
	Kind  string `json:"kind"`
	Agent string `json:"agent"`
	// Node is the node of the flow at which it is asked, in lists of sessions.
	Node    string   `json:"node,omitempty"`
	Text    string   `json:"text"`
	Choices []Choice `json:"choices,omitempty"`
	// Several says that more than one of them may be chosen, which is then said as text.
	Several bool `json:"several,omitempty" jsonschema:"whether more than one of the choices may be chosen: they are then given as text"`
	// Tool is what asked, Arguments what it would be called with.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Asked     time.Time       `json:"asked"`
}

// A Choice is an answer that the question itself offers.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// A Doing is what a run does now.
type Doing struct {
	// What is thinking, writing or tool.
	What   string    `json:"what"`
	Agent  string    `json:"agent,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Target string    `json:"target,omitempty"`
	Since  time.Time `json:"since"`
}

// savedFile is a file that a session has saved.
type savedFile struct {
	Path        string
	Agent       string
	Size        int64
	Saved       []int64 // the numbers of the events that tell of it
	Changed     time.Time
	Description string
}

// heading is the first heading of a document: what was saved says so of itself.
func (f *savedFile) heading() string {
	if f.Description == path.Base(f.Path) {
		return ""
	}
	return f.Description
}

// A summary is what lists show of a session, computed from its events.
type summary struct {
	mu     sync.Mutex
	seq    int64
	open   asking.Open
	asked  *Question // what the latest answer asks at its end
	hidden bool      // nobody has asked for the latest answer: it is a greeting
	doing  *Doing
	// stop is what the latest run has ended with, where that is no answer.
	stop string
	// outcome is how the latest run says that its work stands, where that is not done: partial
	// or failed.
	outcome string
	model   string
	cost    float64
	tokens  int
	// ended is the number of the latest end of a run that the queue has gone on after.
	ended int64
	// answers is how many runs have ended: whoever has seen fewer has missed one.
	answers int
	// messages is how many messages a person and those they talk to have exchanged.
	messages int
	// written is how often people have said, answered or renamed something.
	written int
	files   map[string]*savedFile
	// delivers says that the session is a delivery.
	delivers bool
	// savedName is that of the server.
	savedName func(agent, saved string) (name string, ok bool)
	forked    string             // the session that it goes on from
	days      map[string]float64 // what was spent on each day
	// played are the runs, and places what they play in a flow.
	played played
	places *places
}

// question is what the session waits for first, nil if that is nothing.
func (s *summary) question() *Question {
	if first := s.open.First(); first != nil {
		return questionOf(first)
	}
	return s.asked
}

// questionWith is the question with an id, and how the engine calls it: "" for what is asked
// at the end of an answer.
func (s *summary) questionWith(id int64) (q *Question, name string) {
	for _, open := range s.open.Waiting {
		if open.Asked.Seq == id {
			return questionOf(open), open.ID
		}
	}
	if s.asked != nil && s.asked.ID == id {
		return s.asked, ""
	}
	return nil, ""
}

// allowed is how the engine calls the questions that wait about calls of these tools.
func (s *summary) allowed(tools ...string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.open.Waiting {
		if q := questionOf(open); q.Kind == "approval" && slices.Contains(tools, q.Tool) {
			names = append(names, open.ID)
		}
	}
	return names
}

// note takes an event into account.
func (s *summary) note(e *troupe.Event) {
	if e.Seq > 0 {
		s.seq = e.Seq
	}
	s.open.Note(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		s.played.note(e)
		s.doing = &Doing{What: "thinking", Agent: e.Agent, Since: e.Time}
		if e.Parent == "" {
			s.asked, s.stop, s.outcome, s.delivers = nil, "", "", e.Agent == Pipeline
		}
	case *troupe.UserSaid:
		s.asked = nil
		if !b.Hidden || b.Answer == nil { // that a call is allowed anyway is said by nobody
			s.written++
			s.hidden = b.Hidden
		}
		if e.Parent == "" && !b.Hidden && b.Text != "" {
			s.messages++
		}
	case *troupe.TextDelta:
		if s.doing == nil || s.doing.What != "writing" {
			s.doing = &Doing{What: "writing", Agent: e.Agent, Since: e.Time}
		}
	case *troupe.ModelReplied:
		s.cost += b.Cost
		s.tokens += b.Usage.Input + b.Usage.Output
		s.days[e.Time.UTC().Format(time.DateOnly)] += b.Cost
		if b.Model != "" {
			s.model = words.ModelName(b.Provider, b.Model)
		}
	case *troupe.ModelFailed: // what it has used is paid for
		s.cost += b.Cost
		s.tokens += b.Usage.Total()
		s.days[e.Time.UTC().Format(time.DateOnly)] += b.Cost
	case *troupe.SessionRenamed:
		s.written++
	case *troupe.SessionForked:
		s.forked = b.From
		clear(s.days) // what it began with was paid in another session
		s.cost, s.tokens = 0, 0
	case *troupe.ToolCalled:
		s.doing = &Doing{What: "tool", Agent: e.Agent, Tool: b.Tool, Target: targetOf(json.RawMessage(b.Arguments)), Since: e.Time}
	case *troupe.ToolReturned:
		s.doing = &Doing{What: "thinking", Agent: e.Agent, Since: e.Time}
	case *troupe.ArtifactSaved:
		s.save(e, b)
	}
	if e.Parent == "" && isEnd(e.Body) {
		finished, ok := e.Body.(*troupe.RunFinished)
		s.doing = nil
		s.answers++
		if ok && finished.Output.Summary != "" {
			s.messages++
		}
		if s.stop = ""; ok && causes.OfStop(finished.Stop).Code != "" {
			s.stop = finished.Stop
		}
		if s.outcome = ""; ok && slices.Contains([]string{"partial", "failed"}, finished.Output.Meta.Status) {
			s.outcome = finished.Output.Meta.Status
		}
		if ok && finished.Stop == "answered" && !s.hidden {
			s.asked = askedIn(e, finished.Output.Summary)
		}
	}
}

func (s *summary) save(e *troupe.Event, b *troupe.ArtifactSaved) {
	name, ok := s.savedName(e.Agent, b.Path)
	if !ok {
		return
	}
	f := s.files[name]
	if f == nil {
		f = &savedFile{Path: name}
		s.files[name] = f
	}
	f.Agent, f.Size, f.Changed = e.Agent, b.Size, e.Time
	f.Saved = append(f.Saved, e.Seq)
	if b.Description != "" {
		f.Description = b.Description
	}
}

// targetOf is what a call is about, as far as its arguments say so in the usual
// words.
func targetOf(arguments json.RawMessage) string {
	var values map[string]any
	if json.Unmarshal(arguments, &values) != nil {
		return ""
	}
	for _, name := range []string{"file_path", "path", "workflow_path", "query", "url", "name", "agent_id", "expression"} {
		if text, ok := values[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// summary returns what is known of a session so far.
func (s *Server) summary(session string) *summary {
	known, ok := s.summaries.get(session)
	if !ok {
		known, _ = s.summaries.claim(session, &summary{files: map[string]*savedFile{}, savedName: s.savedName, days: map[string]float64{}}, func(*summary) bool { return true })
	}
	return known
}

// summaryOf returns what is known of a session, up to its last stored event.
func (s *Server) summaryOf(ctx context.Context, info *troupe.SessionInfo) (*summary, error) {
	known := s.summary(info.ID)
	known.mu.Lock()
	defer known.mu.Unlock()
	if info.Events <= known.seq {
		return known, nil
	}
	for e, err := range s.config.Store.Events(ctx, info.ID, known.seq) {
		if err != nil {
			return nil, err
		}
		if e.Seq > known.seq {
			known.note(&e)
		}
	}
	return known, nil
}

// watched takes note of an event of a run that this server has begun, and tells the
// session's owner where that changes how it stands.
func (s *Server) watched(e *troupe.Event) {
	known := s.summary(e.Session)
	known.mu.Lock()
	isNext := e.Seq == 0 || e.Seq == known.seq+1 // what it has missed it reads from the store
	before := known.doing
	if isNext {
		known.note(e)
	}
	changed := known.doing != before
	known.mu.Unlock()
	if _, isDelta := e.Body.(*troupe.TextDelta); isDelta && !changed {
		return
	}
	s.hub.changed(e.Session)
	if saved, ok := e.Body.(*troupe.ArtifactSaved); ok && s.config.SharedDocuments && !strings.HasPrefix(saved.Path, "{"+workspace.SessionFolder+"}/") {
		s.hub.saved("") // whoever has their own sees that the session has changed
	}
}

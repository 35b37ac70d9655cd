package outputs

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/question"
	"github.com/troupe-dev/troupe/workspace"
)

const (
	// maxOutputs bounds the outputs that a manifest takes from events. The others
	// are counted, and in the log.
	maxOutputs = 2000
	// maxSummary is how many characters of the first message make a summary.
	maxSummary = 35
	// maxField bounds a text, and maxInputs the inputs, that a manifest takes from
	// a workflow, in bytes.
	maxField  = 1 << 10
	maxInputs = 16 << 10
	// maxRelated bounds the related sessions.
	maxRelated = 100
)

// A record is a session's manifest as its events say it is.
type record struct {
	session string
	options *Options
	users   int // guarded by Folders

	mu       sync.Mutex
	info     troupe.SessionInfo
	manifest Manifest
	// behind says that the file does not say yet what the manifest does, written that
	// there is one, and due that it will be written soon.
	behind, written, due bool
	// ended is when a run's end was last written as it came.
	ended time.Time
	// settled says that the disk has the folder.
	settled bool
	// plain is the file as it was last written, if nobody else's words are in it, and
	// ours says that what is written next will be so.
	plain fs.FileInfo
	ours  bool
}

// reset forgets all events.
func (r *record) reset() {
	r.info, r.manifest, r.behind, r.written = troupe.SessionInfo{}, Manifest{}, false, false
	r.plain, r.ours, r.settled, r.due, r.ended = nil, false, false, false, time.Time{}
}

// note takes the next event of the session into account.
func (r *record) note(e *troupe.Event) {
	if r.info.Events == 0 {
		r.begin(e)
	}
	r.info.Note(e)
	if e.Parent == "" {
		r.noteRun(e)
	}
	switch b := e.Body.(type) {
	case *troupe.ArtifactSaved:
		r.noteArtifact(e, b)
	case *troupe.ToolReturned:
		if b.Tool == "execute_workflow" && b.Class == "" {
			r.noteWorkflow(b.Content)
		}
	}
}

func (r *record) begin(e *troupe.Event) {
	r.behind = true
	r.manifest = Manifest{
		Version: manifestVersion, SessionID: r.session,
		Workflow:  Workflow{Name: "chat", Description: "Interactive chat conversation"},
		Execution: Execution{StartedAt: e.Time, Status: "running", User: cmp.Or(r.options.User, "User")},
		Outputs:   []Output{}, Inputs: map[string]any{}, RelatedSessions: []string{}, Metadata: map[string]any{},
		DisplayTimestamp: strings.TrimSuffix(e.Time.UTC().Format("Jan 2 3:04pm"), "m"),
	}
	r.manifest.name()
}

// name makes the name that lists show.
func (m *Manifest) name() {
	m.DisplayName = m.DisplayTimestamp + " - " + cmp.Or(m.UserSummary, summarize(m.Workflow.Name))
}

// noteRun takes an event of a run into account that a caller started.
func (r *record) noteRun(e *troupe.Event) {
	m := &r.manifest
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		r.noteStart(e.Agent, b)
	case *troupe.UserSaid:
		if b.Hidden {
			break
		}
		m.MessageCount++
		if m.UserSummary == "" {
			m.UserSummary = summarize(b.Text)
			m.name()
		}
		r.behind = true
	case *troupe.SessionRenamed:
		m.UserSummary = b.Title
		m.name()
		r.behind = true
	case *troupe.SessionForked:
		if m.Execution.Status == "cancelled" {
			m.Execution.Forked, r.behind = true, true
		}
	case *troupe.RunFinished:
		if b.Output.Summary != "" {
			m.MessageCount++
			r.behind = true
		}
		if m.Execution.Stop = b.Stop; slices.Contains([]string{"answered", "handed_off", "decided", "input_requested"}, b.Stop) {
			m.Execution.Stop = ""
		}
		if m.Execution.Outcome = ""; b.Stop != "input_requested" && slices.Contains([]string{"partial", "failed"}, b.Output.Meta.Status) {
			m.Execution.Outcome = b.Output.Meta.Status
		}
	}
	status := r.info.Status
	if finished, ok := e.Body.(*troupe.RunFinished); ok && status == "completed" {
		if _, _, asks := question.In(finished.Output.Summary); asks {
			status = waiting
		}
	}
	if status == "" || status == m.Execution.Status {
		return
	}
	m.Execution.Status, m.Execution.CompletedAt = status, e.Time
	if status == "running" {
		m.Execution.CompletedAt, m.Execution.Stop, m.Execution.Outcome, m.Execution.Forked = time.Time{}, "", "", false
	}
	r.behind = true
}

// noteStart takes from a run's input who is spoken to, by whom, and which earlier
// sessions the new one builds on.
func (r *record) noteStart(agent string, b *troupe.RunStarted) {
	m := &r.manifest
	about := Agent{Name: agent, Title: agent, Bundle: "chat"}
	if r.options.Describe != nil {
		title, bundle := r.options.Describe(agent)
		about.Title, about.Bundle = cmp.Or(title, about.Title), cmp.Or(bundle, about.Bundle)
	}
	if user, ok := b.Input.Custom["user"].(string); ok && user != "" {
		m.Execution.User = cut(user, maxField)
	} else if b.User != "" {
		m.Execution.User = cut(b.User, maxField)
	}
	for _, id := range relatedIn(b.Input) {
		if hasFolder(id) && id != r.session && !slices.Contains(m.RelatedSessions, id) && len(m.RelatedSessions) < maxRelated {
			m.RelatedSessions = append(m.RelatedSessions, id)
		}
	}
	m.Agent = about
	r.behind = true
}

// relatedKey is under which an input has the sessions that it builds on.
const relatedKey = "related_sessions"

// Related returns what an input has so that a session builds on others: Custom, which
// the agent is told and the manifest shows, and Values, by which the agent may read their
// files. Whoever calls it has made sure that they are the user's own.
func Related(sessions []string) (custom, values map[string]any) {
	return map[string]any{relatedKey: sessions, "related_files": "the files of a related session can be read as {session-ID}/FILE, with its id in the place of ID"},
		map[string]any{relatedKey: sessions}
}

// RelatedIn returns the sessions that the values of a run let its agents read.
func RelatedIn(values map[string]any) []string {
	return relatedIn(troupe.Handoff{Custom: values})
}

// relatedIn returns the sessions that an input names, whether or not it was read
// from JSON.
func relatedIn(in troupe.Handoff) (sessions []string) {
	data, err := json.Marshal(in.Custom[relatedKey])
	if err != nil || json.Unmarshal(data, &sessions) != nil {
		return nil
	}
	return sessions
}

func (r *record) noteArtifact(e *troupe.Event, b *troupe.ArtifactSaved) {
	m := &r.manifest
	file := strings.TrimPrefix(b.Path, "{"+workspace.SessionFolder+"}/")
	switch {
	case file == manifestFile:
		// Whoever wrote it does not know better than the log: it is written anew.
	case slices.ContainsFunc(m.Outputs, func(o Output) bool { return o.File == file }):
		return
	case len(m.Outputs) == maxOutputs:
		left, _ := m.Metadata["outputs_left_out"].(int)
		m.Metadata["outputs_left_out"] = left + 1
	default:
		output := Output{File: file, Type: b.Type, Description: cmp.Or(b.Description, file), CreatedAt: e.Time}
		if !isType(b.Type) {
			output.Type = "artifact"
		}
		m.Outputs = append(m.Outputs, output)
	}
	r.behind = true
}

// noteWorkflow takes the name and the inputs of a workflow from what loading it
// returned. A result that cannot be read, because it was cut short, says nothing.
func (r *record) noteWorkflow(result string) {
	var loaded struct {
		Name        string          `json:"workflow_name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"user_input"`
	}
	if json.Unmarshal([]byte(result), &loaded) != nil || loaded.Name == "" {
		return
	}
	m := &r.manifest
	m.Workflow = Workflow{Name: cut(loaded.Name, maxField), Description: cut(loaded.Description, maxField)}
	var inputs map[string]any
	if len(loaded.Input) <= maxInputs && json.Unmarshal(loaded.Input, &inputs) == nil && inputs != nil {
		m.Inputs = inputs
	}
	m.name()
	r.behind = true
}

// summarize returns the beginning of a text as one line.
func summarize(text string) string {
	text = strings.Join(strings.Fields(cut(text, maxField)), " ")
	if utf8.RuneCountInString(text) <= maxSummary {
		return text
	}
	const mark = "..."
	return string([]rune(text)[:maxSummary-len(mark)]) + mark
}

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

package outputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// manifestVersion is the version of the manifests that this package writes.
const manifestVersion = "1.0.0"

// knownVersion matches the versions that differ from ours in nothing but fields
// that were added, and those are kept.
var knownVersion = regexp.MustCompile(`^1\.[0-9]{1,9}\.[0-9]{1,9}$`)

// A Manifest says what a session was about and what came of it. Its fields, and those of
// its parts, are in the order of their names, which is that of the file.
type Manifest struct {
	Agent Agent `json:"agent"`
	// DisplayName and DisplayTimestamp, which is in UTC, are for lists of sessions.
	DisplayName      string         `json:"displayName,omitempty"`
	DisplayTimestamp string         `json:"displayTimestamp,omitempty"`
	Execution        Execution      `json:"execution"`
	Inputs           map[string]any `json:"inputs"`
	// MessageCount is how often the user spoke and was answered.
	MessageCount    int            `json:"messageCount"`
	Metadata        map[string]any `json:"metadata"`
	Outputs         []Output       `json:"outputs"`
	RelatedSessions []string       `json:"related_sessions"`
	SessionID       string         `json:"session_id"`
	// UserSummary is the title that people gave the session, or else the beginning of the first
	// thing the user said.
	UserSummary string   `json:"userSummary,omitempty"`
	Version     string   `json:"version"`
	Workflow    Workflow `json:"workflow"`
}

// An Agent is whom the session's latest run was with.
type Agent struct {
	Bundle string `json:"bundle"`
	Name   string `json:"name"`
	Title  string `json:"title"`
}

// A Workflow is the one that the session loaded last, or the workflow "chat".
type Workflow struct {
	Description string `json:"description"`
	Name        string `json:"name"`
}

// An Execution says how the session's latest run stands.
type Execution struct {
	CompletedAt time.Time `json:"completed_at,omitzero"`
	StartedAt   time.Time `json:"started_at"` // of the first run
	Status      string    `json:"status"`
	// Stop is what ended a run that is completed and whose answer is not whole: a limit, "handoffs",
	// "length", "content_filter", "refused" or "empty", as in the run's last event.
	Stop string `json:"stop,omitempty"`
	// Outcome is "partial" or "failed" where the run says so of its work, as a delivery or a flow
	// does of which not all parts came to an end.
	Outcome string `json:"outcome,omitempty"`
	// Forked says of a cancelled run that the session has it from another and has not gone on with
	// it: nobody may have stopped it.
	Forked bool   `json:"forked,omitempty"`
	User   string `json:"user"`
}

// An Output is a file that came of a session.
type Output struct {
	CreatedAt   time.Time `json:"created_at"`
	Description string    `json:"description"`
	// File is relative to the session's folder. A file elsewhere begins with the
	// name of its root, as {project-root}/docs/prd.md does.
	File string `json:"file"`
	Type string `json:"type"` // document, data, report or artifact
}

// isType reports whether t is one of the types of outputs.
func isType(t string) bool {
	return t == "document" || t == "data" || t == "report" || t == "artifact"
}

// parse reads the manifest of a session. An error means that it is of no use.
func parse(content, session string) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal([]byte(content), &m); err != nil {
		return Manifest{}, err
	}
	if !knownVersion.MatchString(m.Version) {
		return Manifest{}, fmt.Errorf("its version is %.20q", m.Version)
	}
	if m.SessionID != session {
		return Manifest{}, fmt.Errorf("it is of session %.64q", m.SessionID)
	}
	return m, nil
}

// parseAll is parse for all fields, those that a Manifest does not have included.
func parseAll(content, session string) (map[string]any, error) {
	if _, err := parse(content, session); err != nil {
		return nil, err
	}
	return decodeObject([]byte(content))
}

// decodeObject decodes valid JSON and keeps numbers as they are written.
func decodeObject(data []byte) (map[string]any, error) {
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err := dec.Decode(&object)
	return object, err
}

// over returns the manifest as JSON, laid over an older one, which it changes:
// fields that m does not know stay, and so do outputs and related sessions that
// others have added. What is registered takes precedence over both.
func (m *Manifest) over(older map[string]any, registered ...Output) ([]byte, error) {
	newer, err := objectOf(m)
	if err != nil {
		return nil, err
	}
	if version, ok := older["version"]; ok {
		newer["version"] = version
	}
	outputs := join(older["outputs"], newer["outputs"], fileOf)
	for _, output := range registered {
		object, err := objectOf(output)
		if err != nil {
			return nil, err
		}
		outputs = register(outputs, object)
	}
	newer["outputs"] = outputs
	newer["related_sessions"] = join(older["related_sessions"], newer["related_sessions"], textOf)
	if execution, ok := older["execution"].(map[string]any); ok {
		for _, ended := range []string{"completed_at", "stop", "outcome", "forked"} { // of an earlier run
			delete(execution, ended)
		}
	}
	overlay(older, newer)
	return encode(older)
}

func encode(manifest any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(manifest)
	return b.Bytes(), err
}

// alone is over for a manifest that there is none below: the same, in one pass.
func (m *Manifest) alone() ([]byte, error) {
	shown := *m
	shown.Outputs, shown.RelatedSessions = []Output{}, []string{}
	for _, output := range m.Outputs {
		if filepath.IsLocal(output.File) && !slices.ContainsFunc(shown.Outputs, func(o Output) bool { return o.File == output.File }) {
			shown.Outputs = append(shown.Outputs, output)
		}
	}
	for _, id := range m.RelatedSessions {
		if id != "" && !slices.Contains(shown.RelatedSessions, id) {
			shown.RelatedSessions = append(shown.RelatedSessions, id)
		}
	}
	return encode(&shown)
}

// objectOf returns v as it looks in JSON.
func objectOf(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeObject(data)
}

func overlay(older, newer map[string]any) {
	for key, value := range newer {
		above, isObject := value.(map[string]any)
		below, wasObject := older[key].(map[string]any)
		if isObject && wasObject {
			overlay(below, above)
		} else {
			older[key] = value
		}
	}
}

// join returns the items of both lists, of those with the same key the older one.
// Items without a key are left out.
func join(older, newer any, key func(any) string) []any {
	joined, listed := []any{}, map[string]bool{}
	for _, list := range []any{older, newer} {
		items, _ := list.([]any)
		for _, item := range items {
			if k := key(item); k != "" && !listed[k] {
				listed[k] = true
				joined = append(joined, item)
			}
		}
	}
	return joined
}

// fileOf is the key of an output. A name that leads out of the folder is none.
func fileOf(output any) string {
	object, _ := output.(map[string]any)
	file, _ := object["file"].(string)
	if !filepath.IsLocal(file) {
		return ""
	}
	return file
}

// textOf is the key of a text.
func textOf(item any) string {
	text, _ := item.(string)
	return text
}

// register adds an output, or lays it over the one of the same file.
func register(outputs []any, output map[string]any) []any {
	for _, listed := range outputs {
		if fileOf(listed) == fileOf(output) {
			overlay(listed.(map[string]any), output)
			return outputs
		}
	}
	return append(outputs, output)
}

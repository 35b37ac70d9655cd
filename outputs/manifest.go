package outputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"time"
)

// manifestVersion is the version of the manifests that this package writes.
const manifestVersion = "1.0.0"

// knownVersion matches the versions that differ from ours in nothing but fields
// that were added, and those are kept.
var knownVersion = regexp.MustCompile(`^1\.[0-9]{1,9}\.[0-9]{1,9}$`)

// A Manifest says what a session was about and what came of it.
type Manifest struct {
	Version         string         `json:"version"`
	SessionID       string         `json:"session_id"`
	Agent           Agent          `json:"agent"`
	Workflow        Workflow       `json:"workflow"`
	Execution       Execution      `json:"execution"`
	Outputs         []Output       `json:"outputs"`
	Inputs          map[string]any `json:"inputs"`
	RelatedSessions []string       `json:"related_sessions"`
	Metadata        map[string]any `json:"metadata"`
	// DisplayName and DisplayTimestamp, which is in UTC, are for lists of sessions.
	DisplayName      string `json:"displayName,omitempty"`
	DisplayTimestamp string `json:"displayTimestamp,omitempty"`
	// UserSummary is the beginning of the first thing the user said.
	UserSummary string `json:"userSummary,omitempty"`
	// MessageCount is how often the user spoke and was answered.
	MessageCount int `json:"messageCount"`
}

// An Agent is whom the session's latest run was with.
type Agent struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Bundle string `json:"bundle"`
}

// A Workflow is the one that the session loaded last, or the workflow "chat".
type Workflow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// An Execution says how the session's latest run stands.
type Execution struct {
	StartedAt   time.Time `json:"started_at"` // of the first run
	CompletedAt time.Time `json:"completed_at,omitzero"`
	Status      string    `json:"status"`
	User        string    `json:"user"`
}

// An Output is a file that came of a session.
type Output struct {
	// File is relative to the session's folder. A file elsewhere begins with the
	// name of its root, as {project-root}/docs/prd.md does.
	File        string    `json:"file"`
	Type        string    `json:"type"` // document, data, report or artifact
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"created_at"`
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
		delete(execution, "completed_at")
	}
	overlay(older, newer)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(older)
	return b.Bytes(), err
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

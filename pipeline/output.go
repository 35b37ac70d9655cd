package pipeline

import (
	"encoding/json"
)

// A Status says how a phase went: "success", "partial" or "failed".
type Status string

// An Output is what the agent of a phase answers: the envelope that all phases share.
//
// Agents write it, so decoding is forgiving: it takes names exactly as they are
// written here, leaves a field of an unusable kind empty and ignores what it does
// not know. [Contract.Check] is what tells whether an answer is fit for use.
type Output struct {
	Status Status `json:"status" doc:"How the phase went."`
	Phase  string `json:"phase"`
	// Outputs is the phase's own data: [Requirements], [Architecture], [Discovery],
	// [Planning], [Implementation] or [QA] where the phase is built in.
	Outputs    json.RawMessage `json:"outputs" doc:"The phase's own data."`
	Artifacts  []Artifact      `json:"artifacts" doc:"Documents to keep. Only describe them: they are written for you."`
	Validation Validation      `json:"validation" doc:"What you checked yourself."`
	NextPhase  NextPhase       `json:"next_phase" doc:"Whether the next phase may begin."`
	Errors     Items           `json:"errors" doc:"What went wrong, if anything."`
}

// An Artifact is a document that a phase wants kept. The agent only describes it.
type Artifact struct {
	Name string `json:"name"`
	// Path is relative to where artifacts go. It may be empty: the phase has a default.
	Path    string `json:"path" doc:"Relative path of the file."`
	Content string `json:"content,omitempty" doc:"The whole content as text, of a file."`
	// Type is [ArtifactFile] or [ArtifactKnowledge]; what is neither counts as a file. In a
	// repository, an implementation also has edits, deletions and renamings.
	Type     string         `json:"type" enum:"file|gkchatty|edit|delete|rename" doc:"gkchatty: also kept in the knowledge base. An implementation may edit files (edits: search and replace), delete and rename them (to)."`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Where an artifact is kept. What goes to the knowledge base is written as a file, too.
const (
	ArtifactFile      = "file"
	ArtifactKnowledge = "gkchatty"
)

// Validation is what the agent says that it has checked itself.
type Validation struct {
	Checks   Items `json:"checks"`
	Passed   Items `json:"passed"`
	Failed   Items `json:"failed"`
	Warnings Items `json:"warnings,omitempty"`
}

// NextPhase is the gate to the next phase. It is closed unless Ready is true.
type NextPhase struct {
	Ready        bool  `json:"ready"`
	Blockers     Items `json:"blockers" doc:"What must be settled first."`
	Requirements Items `json:"requirements" doc:"What the next phase needs."`
}

package server

import (
	"time"

	"github.com/troupe-dev/troupe/pipeline"
)

// A DeliverySite is where a delivery works.
type DeliverySite struct {
	ID       string    `json:"id"`
	Request  string    `json:"request"`
	Repo     string    `json:"repo"`
	Worktree string    `json:"worktree"`
	Branch   string    `json:"branch"`
	Base     string    `json:"base"`
	Created  time.Time `json:"created"`
	Sandbox  string    `json:"sandbox,omitempty"`
	// Applied says that its branch was taken into the checkout, Takes when it was taken and
	// taken back.
	Applied bool            `json:"applied,omitempty"`
	Takes   []pipeline.Take `json:"takes,omitempty"`
	// Untaken says that the branch has come to more since.
	Untaken bool `json:"untaken,omitempty" jsonschema:"whether there is more to take since it was taken"`
	// Elsewhere are the branches that it was taken into, and is in, but for the one that is checked out.
	Elsewhere []string `json:"elsewhere,omitempty" jsonschema:"other branches that it was taken into, and is in"`
	// Dropped is when what it had built was removed for good.
	Dropped time.Time `json:"dropped,omitzero" jsonschema:"when what it had built was removed for good"`
	// Stays says what is left of it, in a sentence without its end, once its session is
	// deleted; it is empty where nothing is.
	Stays string `json:"stays,omitempty" jsonschema:"what stays once the session is deleted, in words"`
	// Log are all commits of the branch, the oldest first: of documents and of what was changed
	// by hand, too.
	Log  []BranchCommit `json:"log"`
	Plan *pipeline.Plan `json:"plan,omitempty"`
	// PlanAhead says that a person has changed the plan, and that its document follows before the
	// next step.
	PlanAhead bool          `json:"plan_ahead,omitempty" jsonschema:"whether the plan was changed, and its document does not say so yet"`
	Checks    []NamedCheck  `json:"checks"`
	Files     []ChangedFile `json:"files"`
}

// A BranchCommit is a commit of a delivery's branch.
type BranchCommit struct {
	Commit string `json:"commit"`
	Title  string `json:"title"`
}

// A NamedCheck is what a result is checked with.
type NamedCheck struct {
	Name    string `json:"name"`
	Command string `json:"command"`
}

// A ChangedFile is how much of a file a delivery changes.
type ChangedFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty" jsonschema:"what it was called, where it was renamed"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

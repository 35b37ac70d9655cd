package edit

import "cmp"

// A Problem says why a change cannot be made: to the agent that wrote it, and to a
// person, who can neither see the change nor write another.
type Problem struct {
	Path string `json:"path"`
	// Message is for the agent: what is wrong, and how to write it instead.
	Message string `json:"message"`
	// Plain is for people: what was wrong, and nothing of how changes are written.
	Plain string `json:"plain,omitempty"`
}

// String is the problem as an agent is told it.
func (p Problem) String() string { return p.Path + ", " + p.Message }

// ForPeople is the problem as a person is told it.
func (p Problem) ForPeople() string {
	plain := cmp.Or(p.Plain, "the change could not be made") // those on record before there was Plain
	if p.Path == "" {
		return plain
	}
	return p.Path + ": " + plain
}

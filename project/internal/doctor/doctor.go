// Package doctor finds out why a project does not work, and says what to do about it.
package doctor

// A Status says how bad a finding is.
type Status string

// The states of a check. Only what is broken keeps agents from working.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Broken  Status = "broken"
)

// A Check is one thing that was looked at.
type Check struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitempty"`
}

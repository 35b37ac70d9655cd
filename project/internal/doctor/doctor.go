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

// A KeyState says what a provider thinks of the key that it was sent. It is empty where it
// said nothing about it.
type KeyState string

// What is wrong with a key. One that is denied may be good for all but a list of models.
const (
	KeyWanted  KeyState = "wanted"  // none was sent
	KeyRefused KeyState = "refused" // it is none of the provider's own
	KeyDenied  KeyState = "denied"
)

// A Check is one thing that was looked at.
type Check struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitempty"`
	// Key says whether the check failed because of a provider's key.
	Key KeyState `json:"-"`
}

package troupe

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// A Lease is the right to write to a session. Its holder writes events that carry its
// epoch; those of a lease that is over are refused, however late they come.
type Lease interface {
	// Epoch is greater than that of every earlier lease on the session.
	Epoch() int64
	// Last is the number of the session's last event when the lease was acquired.
	Last() int64
	// Requests yields what others ask of the holder. The channel is closed when the
	// lease is over, because it was released or because another has the session now.
	Requests() <-chan SessionRequest
	// Show has others see replies in progress: one event each, a delta that holds all
	// there is of it so far. It is called while somebody has asked for them.
	Show(ctx context.Context, replies []Event) error
	// Release gives the session up. It does nothing where the lease is over.
	Release(ctx context.Context) error
}

// An Owner is a process that has a session. As an error, which is an [ErrBusy], it says
// who has the session that somebody else wants.
type Owner struct {
	Host  string    `json:"host,omitempty"`
	PID   int       `json:"pid,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// thisProcess returns this process as an owner from now on.
func thisProcess() Owner {
	return Owner{Host: thisHost(), PID: os.Getpid(), Since: time.Now().Round(0).UTC()}
}

var thisHost = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "localhost")
})

// Error names the owner.
func (o *Owner) Error() string {
	return fmt.Sprintf("process %d on %s has had it since %s: %v", o.PID, o.Host, o.Since.Format(time.RFC3339), ErrBusy)
}

func (o *Owner) Unwrap() error { return ErrBusy }

// A SessionRequest is what somebody asks of a session's owner. The zero request asks to
// see replies in progress, for a few seconds.
type SessionRequest struct {
	// Cancel asks to stop the run.
	Cancel bool `json:"cancel,omitempty"`
	// Title is what to rename the session to.
	Title string `json:"title,omitempty"`
}

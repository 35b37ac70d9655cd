package postgres

import (
	"strings"
	"testing"
)

// Nobody is told to start a worker for a queue that it would refuse.
func TestAQueueThatIsNoMoreIsToBeAddedAgain(t *testing.T) {
	for _, c := range []struct {
		queues []string
		add    bool
	}{{nil, false}, {[]string{}, true}, {[]string{"other"}, true}, {[]string{"acme"}, false}} {
		d := Durability{FSync: true, FullPageWrites: true, SynchronousCommit: "on", Checksums: true, Waiting: map[string]int{"acme": 1}, Queues: c.queues}
		problems := d.Problems()
		if len(problems) != 1 || strings.HasPrefix(problems[0].Fix, "add acme to queues again and start 'troupe worker --queue acme'") != c.add {
			t.Errorf("with %q: %+v", c.queues, problems)
		}
	}
}

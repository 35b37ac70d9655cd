package sqlite

import (
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A run that ends while somebody is shown its reply gives its session up at the same
// time, and leaves nothing behind that is shown.
func TestASessionIsGivenUpWhileItsReplyIsShown(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir()+"/troupe.db", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const session = "00000000-0000-4000-8000-000000000001"
	for range 20 {
		lease, err := s.Acquire(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := lease.Show(t.Context(), []troupe.Event{{Session: session, Run: "r", Step: "1", Agent: "a", Body: &troupe.TextDelta{Text: "hello"}}}); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
	}
}

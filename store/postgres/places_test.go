package postgres

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

func mustTake(t *testing.T, s *Store, user string, most int) (leave func(), free bool) {
	t.Helper()
	leave, free, err := s.TakePlace(t.Context(), "runs", user, most)
	if err != nil {
		t.Fatal(err)
	}
	return leave, free
}

func TestPlacesAreCountedOverAllProcesses(t *testing.T) {
	one, two := pair(t, Options{})
	leave, _ := mustTake(t, one, "ann", 2)
	if _, free := mustTake(t, two, "ann", 2); !free {
		t.Error("the second of two is not free")
	}
	for _, s := range []*Store{one, two} {
		if _, free := mustTake(t, s, "ann", 2); free {
			t.Error("a third of two is free")
		}
	}
	if _, free := mustTake(t, two, "bob", 2); !free {
		t.Error("another user's is not free")
	}
	if _, free, err := two.TakePlace(t.Context(), "readers", "ann", 2); err != nil || !free {
		t.Errorf("one for something else: %v", err)
	}
	leave()
	leave() // which does nothing
	for _, want := range []bool{true, false} {
		if _, free := mustTake(t, two, "ann", 2); free != want {
			t.Errorf("after one has left: %v", free)
		}
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if _, free := mustTake(t, one, "ann", 1); !free {
		t.Error("a process that has ended keeps its places")
	}
}

func TestNoMorePlacesAreTakenAtOnceThanThereAre(t *testing.T) {
	one, two := pair(t, Options{})
	const most = 5
	var taken atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		s := []*Store{one, two}[i%2]
		all.Go(func() {
			_, free, err := s.TakePlace(t.Context(), "runs", "ann", most)
			if err != nil {
				t.Error(err)
			}
			if free {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != most {
		t.Errorf("%d of %d are taken", n, most)
	}
}

// A server that is killed gives back what it had when its lease is over; one that was only
// silent has it again.
func TestPlacesOfASilentProcessAreFree(t *testing.T) {
	one, two := pair(t, Options{Lease: time.Hour})
	mustTake(t, one, "ann", 1)
	if _, free := mustTake(t, two, "ann", 1); free {
		t.Error("a process that lives has lost its place")
	}
	freeze(t, one)
	leave, free := mustTake(t, two, "ann", 1)
	if !free {
		t.Fatal("nobody was heard of, and the place is not free")
	}
	leave()
	if err := one.owner.beat(t.Context(), one.pool); err != nil {
		t.Fatal(err)
	}
	if _, free := mustTake(t, two, "ann", 1); free {
		t.Error("a process that is heard of again has lost its place")
	}
}

// A crash of the database empties the table: what each process has is in it again after
// the next beat.
func TestPlacesOutliveACrashOfTheDatabase(t *testing.T) {
	server := postgrestest.Start(t)
	one, two := openAt(t, server.Address("postgres")), openAt(t, server.Address("postgres"))
	mustTake(t, one, "ann", 2)
	leave, _ := mustTake(t, one, "ann", 2)
	server.Kill()
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := two.pool.QueryRow(t.Context(), "SELECT count(*) FROM places").Scan(&n); err != nil || n != 0 {
		t.Logf("%d places were not lost, %v: the crash was none", n, err)
	}
	leave() // which is written although the table is empty
	if _, err := one.pool.Exec(t.Context(), "DELETE FROM places"); err != nil {
		t.Fatal(err)
	}
	if err := one.places.mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if _, free := mustTake(t, two, "ann", 2); free != want {
			t.Errorf("one of two is taken by the first process; another is free: %v", free)
		}
	}
}

func TestPlacesAreNotTakenWithoutADatabase(t *testing.T) {
	server := postgrestest.Start(t)
	s := openAt(t, server.Address("postgres"), Options{Patience: time.Millisecond})
	server.Kill()
	if _, free, err := s.TakePlace(t.Context(), "runs", "ann", 1); err == nil || free {
		t.Errorf("%v, %v", free, err)
	}
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	if err := s.places.mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, free := mustTake(t, s, "ann", 1); !free {
		t.Error("what failed is counted")
	}
	read := openAt(t, server.Address("postgres"), Options{ReadOnly: true})
	if _, _, err := read.TakePlace(t.Context(), "runs", "ann", 1); !errors.Is(err, ErrReadOnly) {
		t.Errorf("of one that only reads: %v", err)
	}
}

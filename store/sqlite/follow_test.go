package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
)

// followed returns the events that a query chooses up to the first of session 99,
// as session/seq.
func followed(t *testing.T, r *Reader, q Query) (names []string) {
	t.Helper()
	last := q.After
	for hit, err := range r.Follow(t.Context(), q) {
		if err != nil || hit.Err != nil || hit.Number <= last {
			t.Errorf("%+v: after number %d comes %d: %v, %v", q, last, hit.Number, err, hit.Err)
			return names
		}
		last = hit.Number
		if hit.Event.Session == id(99) {
			break
		}
		names = append(names, fmt.Sprintf("%s/%d", strings.TrimLeft(hit.Event.Session, "0-48"), hit.Event.Seq))
	}
	return names
}

func TestFollowYieldsEachEventOnceWhoeverStoresIt(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
	r := readAt(t, path)
	queries := []Query{
		{After: 1}, {After: 1, Text: "needle"}, {After: 1, Text: `need* "the end"`, Agent: "alex"},
		{After: 1, Kinds: []string{"warned"}, OrErrors: true},
	}
	got := make([][]string, len(queries))
	var wg sync.WaitGroup
	for i, q := range queries {
		wg.Go(func() { got[i] = followed(t, r, q) })
	}
	bodies := []troupe.Body{said("a needle"), said("nothing"), &troupe.ToolReturned{Class: "timeout", Error: "needles"}}
	for round := range 3 {
		var appending sync.WaitGroup
		for n := range 3 {
			appending.Go(func() {
				for i, body := range slices.Repeat(bodies, 3) {
					mustAppend(t, s, eventsOf(id(n), int64(3+9*round+i), body)...)
				}
			})
		}
		appending.Wait()
		mustClose(t, s)
		s = openAt(t, path)
	}
	mustAppend(t, s, eventsOf(id(99), 1, said("a needle at the end"), &troupe.Warned{})...)
	wg.Wait()
	for i, q := range queries {
		want := found(t, s, q)
		want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, "99/") })
		slices.Reverse(want)
		if !slices.Equal(got[i], want) {
			t.Errorf("%+v: followed were\n%v; want\n%v", q, got[i], want)
		}
		// What is all there before it begins comes in the same way, from the index too.
		if got := followed(t, s.Reader, q); !slices.Equal(got, want) {
			t.Errorf("%+v: later on, followed were\n%v; want\n%v", q, got, want)
		}
	}
}

func TestFollowBeginsWithWhatComes(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
	for n, r := range []*Reader{s.Reader, readAt(t, path)} {
		session := id(50 + n)
		came := make(chan int64)
		go func() {
			defer close(came)
			for hit, err := range r.Follow(t.Context(), Query{Limit: 3}) {
				if err != nil || hit.Event.Session != session {
					t.Errorf("got %+v, %v", hit, err)
				}
				came <- hit.Event.Seq
			}
		}()
		// Nobody knows when it begins: events are stored until it has seen enough.
		var seqs []int64
		for seq, open := int64(1), true; open; seq++ {
			mustAppend(t, s, eventsOf(session, seq, said("hi"))...)
			var one int64
			select {
			case one, open = <-came:
				seqs = append(seqs, one)
			default:
			}
		}
		if len(seqs) != 4 || seqs[1] != seqs[0]+1 || seqs[2] != seqs[0]+2 {
			t.Errorf("it yields events %v", seqs)
		}
	}
}

func TestFollowEndsWithItsContextOrTheStore(t *testing.T) {
	path := sound(t)
	s := openAt(t, path)
	for _, r := range []*Reader{readAt(t, path), s.Reader} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, c := range []struct {
			end  func()
			want error
		}{{cancel, context.Canceled}, {func() { mustClose(t, r) }, ErrClosed}} {
			var last error
			for hit, err := range r.Follow(ctx, Query{After: 1}) {
				if last = err; hit.Event.Session == id(19) && hit.Event.Seq == 2 {
					c.end()
				}
			}
			if !errors.Is(last, c.want) {
				t.Errorf("it ended with %v; want %v", last, c.want)
			}
			ctx = t.Context()
		}
	}
}

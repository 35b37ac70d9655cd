package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// A wire passes bytes on to a server. It can be cut at the moment at which the server has
// done what it was told and the answer has not arrived.
type wire struct {
	listener net.Listener
	server   string
	// cut says how an append's exchange is to end: what is sent is dropped before the
	// server gets it, or what it answers is.
	cut  atomic.Int32
	cuts atomic.Int32

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

const (
	dropRequest = 1
	dropAnswer  = 2
)

func newWire(t *testing.T, server *postgrestest.Server) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, server: fmt.Sprintf("127.0.0.1:%d", server.Port)}
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			c.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

// through returns an address by way of the wire.
func (w *wire) through(address string, server *postgrestest.Server) string {
	return strings.Replace(address, fmt.Sprintf("127.0.0.1:%d", server.Port), w.listener.Addr().String(), 1)
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.server)
		if err != nil {
			client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		var doomed atomic.Bool
		w.wg.Go(func() { w.pass(client, server, &doomed) })
		w.wg.Go(func() {
			defer client.Close()
			buffer := make([]byte, 1<<16)
			for {
				n, err := server.Read(buffer)
				if err != nil || doomed.Load() {
					return // the answer is lost
				}
				if _, err := client.Write(buffer[:n]); err != nil {
					return
				}
			}
		})
	}
}

// pass carries what the client says, until it is an append that is to be lost.
func (w *wire) pass(client, server net.Conn, doomed *atomic.Bool) {
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if strings.Contains(string(buffer[:n]), "lose me") {
			switch w.cut.Swap(0) {
			case dropRequest:
				w.cuts.Add(1)
				client.Close()
				return
			case dropAnswer:
				w.cuts.Add(1)
				doomed.Store(true)
				_, _ = server.Write(buffer[:n])
				_, _ = io.Copy(io.Discard, client)
				return
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Whether the commit or the order to commit was lost, the events are there once.
func TestAnAppendWhoseAnswerIsLostIsStoredOnce(t *testing.T) {
	server := shared.Server(t)
	w := newWire(t, server)
	s := openAt(t, w.through(server.Schema(), server))
	lease := mustAcquire(t, s, id(1))
	seq := int64(1)
	for range 3 {
		for _, cut := range []int32{dropRequest, dropAnswer} {
			// The statement is prepared on every connection by then, so that it is one message.
			mustAppend(t, s, under(lease, eventsOf(id(1), seq, said("hi"), said("ho")))...)
			w.cut.Store(cut)
			mustAppend(t, s, under(lease, eventsOf(id(1), seq+2, said("lose me"), said("and me")))...)
			seq += 4
		}
	}
	if n := w.cuts.Load(); n != 6 {
		t.Fatalf("%d of 6 connections were cut", n)
	}
	if n := lengthOf(t, s, id(1)); int64(n) != seq-1 {
		t.Errorf("there are %d events; want %d", n, seq-1)
	}
	// A new session has another statement.
	for n, cut := range []int32{dropRequest, dropAnswer} {
		w.cut.Store(cut)
		mustAppend(t, s, eventsOf(id(n+2), 1, said("lose me"))...)
		if n := lengthOf(t, s, id(n+2)); n != 1 {
			t.Errorf("a new session has %d events", n)
		}
	}
}

// Somebody else's events in the place of what was lost are a conflict.
func TestALostAppendDoesNotPassForSomebodyElses(t *testing.T) {
	server := shared.Server(t)
	w := newWire(t, server)
	address := server.Schema()
	s, other := openAt(t, w.through(address, server)), openAt(t, address)
	mustAppend(t, s, eventsOf(id(1), 1, said("hi"))...)
	b, err := encode(id(1), eventsOf(id(1), 2, said("mine")))
	if err != nil {
		t.Fatal(err)
	}
	at, _, err := s.standing(t.Context(), id(1), true)
	if err != nil {
		t.Fatal(err)
	}
	b.follow(at, now())
	mustAppend(t, other, eventsOf(id(1), 2, said("theirs"))...)
	b.unsure = true
	if err := s.attempt(t.Context(), b); !errors.Is(err, troupe.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// Writers bear it that the server is killed and stopped under them: nothing is lost, and
// nothing is there twice.
func TestWritersOutliveTheServersCrashes(t *testing.T) {
	server := postgrestest.Start(t)
	s := openAt(t, server.Address("postgres"), Options{Lease: 10 * time.Second})
	const writers, crashes = 4, 4
	ctx, stop := context.WithCancel(t.Context())
	var counts [writers]int64
	var wg sync.WaitGroup
	for n := range writers {
		lease := mustAcquire(t, s, id(n))
		wg.Go(func() {
			for seq := int64(1); ctx.Err() == nil; seq++ {
				if err := s.Append(t.Context(), id(n), under(lease, eventsOf(id(n), seq, said("hi")))...); err != nil {
					t.Errorf("event %d of %d: %v", seq, n, err)
					return
				}
				atomic.StoreInt64(&counts[n], seq)
			}
		})
	}
	for n := range crashes {
		before := atomic.LoadInt64(&counts[0])
		for atomic.LoadInt64(&counts[0]) < before+5 && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		if n%2 == 0 {
			server.Kill()
		} else {
			server.Stop()
		}
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	wg.Wait()
	for n := range writers {
		if got := int64(lengthOf(t, s, id(n))); got != counts[n] {
			t.Errorf("session %d has %d events; acknowledged were %d", n, got, counts[n])
		}
	}
	for fault, err := range s.Verify(t.Context()) {
		t.Errorf("%+v, %v", fault, err)
	}
}

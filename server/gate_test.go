package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A caller is a connection from an address of its own.
type caller struct {
	net.Conn
	from net.Addr
}

func (c *caller) RemoteAddr() net.Addr { return c.from }

// A street is a listener that callers of any address come to.
type street struct{ *pipe }

// call connects from an address.
func (s street) call(t *testing.T, from string) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	s.dialled <- &caller{far, &net.TCPAddr{IP: net.ParseIP(from), Port: 1}}
	return near
}

// crowded serves with small limits.
func crowded(t *testing.T, limits Limits) (*world, street) {
	t.Helper()
	w, s := newWorld(t, clerk(t, echo()), func(c *Config) { c.Limits = limits }), street{newPipe()}
	w.serve(s, &http.Transport{DialContext: s.dial})
	return w, s
}

// ask sends a request over a connection and returns the answer's status, 0 if it was
// closed without one.
func ask(conn net.Conn, path, token string) int {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, token); err != nil {
		return 0
	}
	return answered(conn)
}

func answered(conn net.Conn) int {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func isClosed(conn net.Conn) bool {
	synctest.Wait()
	conn.SetReadDeadline(time.Now())
	_, err := conn.Read(make([]byte, 1))
	return err == io.EOF
}

func TestWhoeverThereIsNoRoomForIsToldSoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := crowded(t, Limits{Connections: 2, Unauthenticated: 2})
		began := time.Now()
		s.call(t, "127.0.0.1")
		s.call(t, "127.0.0.1")
		third := s.call(t, "127.0.0.1")
		response, err := http.ReadResponse(bufio.NewReader(third), nil)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.HasSuffix(string(said), "}") {
			t.Errorf("%d %v: %s: %v", response.StatusCode, response.Header, said, err)
		}
		if time.Since(began) != 0 {
			t.Errorf("it waited for %v", time.Since(began))
		}
		third.Close()
	})
}

func TestStrangersGiveWayToEachOtherAndNeverToThoseWhoAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := crowded(t, Limits{Connections: 100, Unauthenticated: 10, UnauthenticatedPerAddress: 4})
		known := s.call(t, "10.0.0.1")
		if got := ask(known, "/api/agents", w.token); got != http.StatusOK {
			t.Fatalf("the first gets %d", got)
		}
		flood := map[string][]net.Conn{}
		for i := range 30 { // three addresses, ten each, that say nothing
			from := fmt.Sprintf("10.0.1.%d", i%3)
			flood[from] = append(flood[from], s.call(t, from))
			synctest.Wait()
		}
		// Each address had its part, and none was there long enough to give way.
		for from, conns := range flood {
			open := 0
			for _, conn := range conns {
				if !isClosed(conn) {
					open++
				}
			}
			if open > 4 {
				t.Errorf("%s has %d connections", from, open)
			}
		}
		// Somebody new is let in at once, because another address has more.
		other := s.call(t, "10.0.0.2")
		if got := ask(other, "/api/agents", w.token); got != http.StatusOK {
			t.Errorf("somebody from elsewhere gets %d", got)
		}
		if got := ask(known, "/api/agents", w.token); got != http.StatusOK {
			t.Errorf("who was known before gets %d", got)
		}
		// After a moment those who said nothing give way to their own address too.
		time.Sleep(patience)
		late := s.call(t, "10.0.1.0")
		if got := ask(late, "/api/agents", w.token); got != http.StatusOK {
			t.Errorf("a late one of the same address gets %d", got)
		}
	})
}

func TestIdleConnectionsGiveWayWhenAllTheRoomIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := crowded(t, Limits{Connections: 3, Unauthenticated: 2})
		session := w.session()
		reader := s.call(t, "10.0.0.1")
		fmt.Fprintf(reader, "GET /api/sessions/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", session, w.token)
		if got := readStatus(reader); got != http.StatusOK {
			t.Fatalf("a reader gets %d", got)
		}
		idle := s.call(t, "10.0.0.1")
		if got := ask(idle, "/api/agents", w.token); got != http.StatusOK {
			t.Fatalf("%d", got)
		}
		synctest.Wait()
		for i := range 5 { // with the client's own, there were three
			if got := ask(s.call(t, "10.0.0.1"), "/api/agents", w.token); got != http.StatusOK {
				t.Errorf("number %d gets %d", i, got)
			}
			synctest.Wait()
		}
		if !isClosed(idle) {
			t.Error("a connection that was used last is still open")
		}
		if n := w.server.readers.size(); n != 1 {
			t.Errorf("the reader was pushed out: there are %d", n)
		}
		reader.Close()
	})
}

func readStatus(conn net.Conn) (status int) {
	line, err := bufio.NewReaderSize(conn, 16).ReadString(' ')
	if err != nil {
		return 0
	}
	go io.Copy(io.Discard, conn) // the rest, until it is closed
	if strings.HasPrefix(line, "HTTP/1.1") {
		return http.StatusOK
	}
	return 0
}

func TestWhatIsTakenOfTheRoomIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipe()
		g := newGate(p, Limits{Connections: 50, Unauthenticated: 20, UnauthenticatedPerAddress: 20})
		server := &http.Server{ConnState: g.note, ConnContext: g.remember, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/known" {
				isKnown(r.Context())
			}
		})}
		var serving, calling sync.WaitGroup
		serving.Go(func() { server.Serve(g) })
		for i := range 200 {
			calling.Go(func() {
				conn, err := p.dial(context.Background(), "", "")
				if err != nil {
					return
				}
				defer conn.Close()
				ask(conn, []string{"/known", "/"}[i%2], "")
			})
		}
		calling.Wait()
		server.Close()
		serving.Wait()
		g.turning.Wait()
		synctest.Wait() // a closed connection is noted by whoever served it
		if all, strangers := g.size(); all != 0 || strangers != 0 || len(g.addresses) != 0 || g.idle.Len() != 0 || g.away != 0 {
			t.Errorf("%d connections, %d strangers, %d addresses, %d idle and %d turned away are left", all, strangers, len(g.addresses), g.idle.Len(), g.away)
		}
	})
}

func TestLimitsFitIntoTheFilesThatMayBeOpen(t *testing.T) {
	usual := Limits{}.orDefault()
	if got := usual.within(0); got != usual {
		t.Errorf("without a limit they are %+v", got)
	}
	if got := usual.within(1024); got.Connections != 512 || got.Unauthenticated != 128 {
		t.Errorf("with 1,024 files they are %+v", got)
	}
	if got := usual.within(20_000); got != usual {
		t.Errorf("with 20,000 files they are %+v", got)
	}
}

package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// patience is how long a connection of nobody who is known has at least, before it
	// has to make room for another.
	patience = time.Second
	// mostTurnedAway is how many connections are told at the same time that there is no
	// room. Beyond that they are closed without a word.
	mostTurnedAway = 8192
	// farewellTime is how long one that is turned away has to take that in.
	farewellTime = time.Second
)

// A gate bounds the connections. Nobody waits at it: whoever there is no room for is
// told so at once. Connections over which nobody has proved who they are have a small
// part of the room, each address has a part of that, and they give way to each other,
// so that they cannot use up what signed-in people need. Connections over which
// nothing is asked at the moment give way when all the room is taken.
type gate struct {
	net.Listener
	most, mostStrangers, mostOfAddress int

	mu       sync.Mutex
	visitors map[net.Conn]*visitor
	// strangers are those of whom nothing is known, by address, and idle those that are
	// known and ask nothing; the oldest first.
	strangers int
	addresses map[string]*list.List
	idle      *list.List
	away      int // being turned away
	turning   sync.WaitGroup
}

// A visitor is a connection.
type visitor struct {
	gate    *gate
	conn    net.Conn
	address string
	since   time.Time
	known   bool
	// place is where it stands among the strangers of its address or the idle.
	place *list.Element
}

func newGate(l net.Listener, limits Limits) *gate {
	return &gate{
		Listener: l, most: limits.Connections, mostStrangers: limits.Unauthenticated, mostOfAddress: limits.UnauthenticatedPerAddress,
		visitors: map[net.Conn]*visitor{}, addresses: map[string]*list.List{}, idle: list.New(),
	}
}

// Accept returns the next connection that there is room for.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.letIn(conn) {
			return conn, nil
		}
	}
}

// letIn makes room for a connection, or sees to it that it is turned away.
func (g *gate) letIn(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := &visitor{gate: g, conn: conn, address: addressOf(conn), since: time.Now()}
	if !g.hasRoom(v) {
		g.turnAway(conn)
		return false
	}
	g.visitors[conn] = v
	g.strangers++
	if g.addresses[v.address] == nil {
		g.addresses[v.address] = list.New()
	}
	v.place = g.addresses[v.address].PushBack(v)
	return true
}

// hasRoom says whether there is room for a newcomer, and makes it if it can.
func (g *gate) hasRoom(v *visitor) bool {
	if own := g.addresses[v.address]; own != nil && own.Len() >= g.limitOf(v.address) && !g.pushOut(own, patience) {
		return false
	}
	if g.strangers >= g.mostStrangers {
		crowd := g.addresses[v.address]
		least := patience
		for _, other := range g.addresses {
			if crowd == nil || other.Len() > crowd.Len() {
				crowd, least = other, 0 // whoever has most gives way to whoever has less
			}
		}
		if !g.pushOut(crowd, least) {
			return false
		}
	}
	if len(g.visitors) < g.most {
		return true
	}
	if g.pushOut(g.idle, 0) {
		return true
	}
	for _, others := range g.addresses {
		if g.pushOut(others, patience) {
			return true
		}
	}
	return false
}

// limitOf is how many strangers of an address there may be. Of this machine there may
// be more: a proxy that is used by all comes from there.
func (g *gate) limitOf(address string) int {
	if ip := net.ParseIP(address); ip == nil || ip.IsLoopback() {
		return g.mostStrangers
	}
	return g.mostOfAddress
}

// pushOut closes the oldest connection of a list, if it is as old as that.
func (g *gate) pushOut(from *list.List, least time.Duration) bool {
	if from == nil || from.Len() == 0 {
		return false
	}
	oldest := from.Front().Value.(*visitor)
	if time.Since(oldest.since) < least {
		return false
	}
	g.forget(oldest)
	oldest.conn.Close() // whatever it answers, it is closed
	return true
}

// forget takes a visitor out of all lists; g.mu is held.
func (g *gate) forget(v *visitor) {
	if g.visitors[v.conn] != v {
		return
	}
	delete(g.visitors, v.conn)
	g.unlist(v)
}

func (g *gate) unlist(v *visitor) {
	if v.place == nil {
		return
	}
	if v.known {
		g.idle.Remove(v.place)
	} else {
		g.strangers--
		if own := g.addresses[v.address]; own.Len() == 1 {
			delete(g.addresses, v.address)
		} else {
			own.Remove(v.place)
		}
	}
	v.place = nil
}

// note follows what becomes of connections.
func (g *gate) note(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.visitors[conn]
	switch {
	case v == nil:
	case state == http.StateClosed, state == http.StateHijacked:
		g.forget(v)
	case v.known && state == http.StateIdle:
		g.unlist(v)
		v.since, v.place = time.Now(), g.idle.PushBack(v)
	case v.known && state == http.StateActive:
		g.unlist(v)
	}
}

// visitorKey is where a request's context has its connection.
type visitorKey struct{}

// remember puts a connection into the context of its requests.
func (g *gate) remember(ctx context.Context, conn net.Conn) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	return context.WithValue(ctx, visitorKey{}, g.visitors[conn])
}

// isKnown notes that somebody has proved over a request's connection who they are.
func isKnown(ctx context.Context) {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	if v == nil {
		return // somebody else's listener
	}
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	if !v.known {
		v.gate.unlist(v)
		v.known = true
	}
}

// size returns how many connections there are, and how many of strangers.
func (g *gate) size() (all, strangers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.visitors), g.strangers
}

// noRoom is what is said to a connection that there is no room for.
const noRoom = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 2\r\nConnection: close\r\nContent-Length: 107\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"there are too many connections"}`

// turnAway tells a connection that there is no room and closes it; g.mu is held.
func (g *gate) turnAway(conn net.Conn) {
	if g.away >= mostTurnedAway {
		conn.Close() // whatever it answers, it is closed
		return
	}
	g.away++
	g.turning.Go(func() {
		defer func() {
			conn.Close()
			g.mu.Lock()
			defer g.mu.Unlock()
			g.away--
		}()
		conn.SetDeadline(time.Now().Add(farewellTime))
		if _, err := conn.Write([]byte(noRoom)); err != nil {
			return
		}
		// What is closed before its request is read loses the answer on its way.
		if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			var request [1 << 10]byte
			for err := error(nil); err == nil; {
				_, err = conn.Read(request[:])
			}
		}
	})
}

// addressOf returns the address that a connection comes from, without its port.
func addressOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return host
}

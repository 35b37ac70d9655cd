package browser

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A relay stands between the browser and the server, and can be cut.
type relay struct {
	link string

	mu     sync.Mutex
	server string // where it leads to
	isCut  bool
	conns  []net.Conn
}

func newRelay(t *testing.T, link string) *relay {
	t.Helper()
	to, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	server := to.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to.Host = listener.Addr().String()
	r := &relay{link: to.String(), server: server}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { r.pass(&group, conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.cut()
		group.Wait()
	})
	return r
}

// pass passes on what both sides say until one has done.
func (r *relay) pass(group *sync.WaitGroup, browser net.Conn) {
	defer browser.Close()
	r.mu.Lock()
	address := r.server
	r.mu.Unlock()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	r.mu.Lock()
	isCut := r.isCut
	r.conns = append(r.conns, browser, server)
	r.mu.Unlock()
	if isCut {
		return
	}
	group.Go(func() {
		io.Copy(server, browser)
		server.Close()
	})
	io.Copy(browser, server)
}

// cut ends all connections, and those to come, until the relay is mended.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

// leadTo has the relay lead to another server from now on.
func (r *relay) leadTo(t *testing.T, link string) {
	t.Helper()
	to, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.link, to.Host) {
		t.Fatal("a relay that leads to itself takes all the files that there are")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = to.Host
}

func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

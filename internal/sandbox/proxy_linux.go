package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A gate lets a program that has no network reach some hosts, by way of a proxy of ours:
// the child listens on the loopback of its own namespace and hands the listener over.
type gate struct {
	ours, theirs *os.File
	hosts        []string
	serving      sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	closed   bool
}

// newGate makes a gate to hosts.
func newGate(hosts []string) (*gate, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a way out of the sandbox: %w", err)
	}
	return &gate{ours: os.NewFile(uintptr(pair[0]), "gate"), theirs: os.NewFile(uintptr(pair[1]), "gate"), hosts: hosts}, nil
}

// open waits for the child's listener and serves it, until it is closed.
func (g *gate) open() {
	g.theirs.Close()
	g.serving.Go(func() {
		l, err := receiveListener(g.ours)
		if err != nil {
			return // the child has ended, and says why
		}
		g.mu.Lock()
		if g.listener = l; g.closed {
			l.Close()
		}
		g.mu.Unlock()
		server := &http.Server{Handler: g, ReadHeaderTimeout: 30 * time.Second}
		_ = server.Serve(l) // until it is closed
		_ = server.Close()
	})
}

// close ends the gate and all that goes through it.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	if g.listener != nil {
		g.listener.Close()
	}
	g.mu.Unlock()
	g.theirs.Close()
	_ = unix.Shutdown(int(g.ours.Fd()), unix.SHUT_RDWR)
	g.serving.Wait()
	g.ours.Close()
}

func receiveListener(from *os.File) (net.Listener, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(int(from.Fd()), data, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) == 0 {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return nil, errors.Join(io.ErrUnexpectedEOF, err)
	}
	file := os.NewFile(uintptr(fds[0]), "listener")
	defer file.Close()
	return net.FileListener(file)
}

// offerListener is the child's part: it returns the proxy's address in the namespace.
func offerListener(to int) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close() // the one that is handed over stays
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := unix.Sendmsg(to, []byte{1}, unix.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), unix.Close(to)
}

// proxyEnv has programs ask the proxy for everything but loopback.
func proxyEnv(address string) (env []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+address, strings.ToLower(name)+"="+address)
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1")
}

// admits reports whether a host, or host and port, is one that was named.
func (g *gate) admits(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, ""
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, named := range g.hosts {
		name, only, err := net.SplitHostPort(named)
		if err != nil {
			name, only = named, ""
		}
		name = strings.ToLower(name)
		below, isPattern := strings.CutPrefix(name, "*.")
		if (host == name || isPattern && strings.HasSuffix(host, "."+below)) && (only == "" || only == port) {
			return true
		}
	}
	return false
}

// ServeHTTP implements [http.Handler]: a proxy for the hosts that were named.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.admits(r.Host) {
		http.Error(w, fmt.Sprintf("troupe: checks may not reach %.100s; name it in pipeline.network", r.Host), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		g.tunnel(w, r)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", r.Host
	out.Header.Del("Proxy-Connection")
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // the program notices what is missing
}

// tunnel passes bytes on, both ways, until one side ends.
func (g *gate) tunnel(w http.ResponseWriter, r *http.Request) {
	there, err := (&net.Dialer{Timeout: 30 * time.Second}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var other sync.WaitGroup
	other.Go(func() {
		_, _ = io.Copy(there, buffered)
		_ = there.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(here, there)
	here.Close()
	other.Wait()
}

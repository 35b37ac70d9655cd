package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const somewhere = "93.184.215.14"

var errDialled = errors.New("dialled")

// A world answers look-ups and takes connections, so that no packet leaves for
// anything but loopback.
type world struct {
	names  map[string][]string // other names lead somewhere
	server net.Listener        // takes all connections; nil means that none is made

	mu      sync.Mutex
	looked  []string
	dialled []string
}

func (w *world) lookup(_ context.Context, _, host string) (addrs []netip.Addr, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, host)
	found, ok := w.names[host]
	if !ok {
		found = []string{somewhere}
	}
	for _, addr := range found {
		addrs = append(addrs, netip.MustParseAddr(addr))
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	if w.server == nil {
		return nil, errDialled
	}
	return new(net.Dialer).DialContext(ctx, network, w.server.Addr().String())
}

func (w *world) client(t *testing.T, c Config) *http.Client {
	t.Helper()
	c.Lookup, c.Dial = w.lookup, w.dial
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// serve starts a server that has all the names there are.
func serve(t *testing.T, handler http.HandlerFunc) *world {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &world{server: server.Listener}
}

// get returns the body, and the error of whichever came first.
func get(client *http.Client, url string) (string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}

func refusal(err error) string {
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		return ""
	}
	return refused.Reason
}

func TestARequestIsCarriedOut(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, " ", r.URL, " ", r.Header.Get("User-Agent"))
	})
	got, err := get(w.client(t, Config{UserAgent: "test"}), "http://example.org:8080/a?b=c")
	if want := "example.org:8080 /a?b=c test"; got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if want := somewhere + ":8080"; !slices.Equal(w.dialled, []string{want}) {
		t.Errorf("dialled %v, want %s", w.dialled, want)
	}
}

func TestNoProxyStandsBetween(t *testing.T) {
	if new(world).client(t, Config{}).Transport.(*guard).transport.Proxy != nil {
		t.Error("a proxy would be asked, and the address that it connects to is unknown")
	}
}

func TestWhatWasNotGrantedIsNotDialled(t *testing.T) {
	names := map[string][]string{
		"inner.example":  {"10.1.2.3"},
		"both.example":   {somewhere, "127.0.0.1"},
		"mapped.example": {"::ffff:192.168.0.1"},
		"none.example":   {},
	}
	for url, want := range map[string]string{
		"http://inner.example/":       "a private address",
		"http://both.example/":        "a loopback address",
		"http://mapped.example/":      "a private address",
		"http://localhost:3000/":      "a name of the local network",
		"http://LOCALHOST./":          "a name of the local network",
		"http://127.0.0.1./":          "a loopback address",
		"http://127.1/":               "a number that is not an address",
		"http://2130706433/":          "a number that is not an address",
		"http://017700000001/":        "a number that is not an address",
		"http://0x7f000001/":          "a number that is not an address",
		"http://0x7f.0.0.0x1/":        "a number that is not an address",
		"http://0177.0.0.01/":         "a number that is not an address",
		"http://99999999999999999999": "a number that is not an address",
		"http://１２７.０.０.１/":           "a loopback address",
		"http://127。0。0。1/":           "a loopback address",
		"http://[::1]/":               "a loopback address",
		"http://[fe80::1%25eth0]/":    "a link-local address",
		"http://[::ffff:7f00:1]/":     "a loopback address",
		"http://0/":                   "a number that is not an address",
		"http://example.org:22/":      "a port of another service than the web",
		"http://example.org:25/":      "a port of another service than the web",
		"http://user@example.org/":    "a URL with credentials",
		"http://user:pw@example.org/": "a URL with credentials",
		"http:example.org":            "a URL without a host",
		"ftp://example.org/":          "only http and https are allowed",
		"file:///etc/passwd":          "only http and https are allowed",
		"HTTP://[::]/":                "not an address of the public web",
	} {
		w := &world{names: names}
		_, err := get(w.client(t, Config{}), url)
		if refusal(err) != want || len(w.dialled) > 0 {
			t.Errorf("%s: %v, dialled %v; want %s", url, err, w.dialled, want)
		}
		if strings.Contains(fmt.Sprint(errors.AsType[*RefusedError](err)), "pw") {
			t.Errorf("%s: the password is in %v", url, err)
		}
	}
	w := &world{names: names}
	if _, err := get(w.client(t, Config{}), "http://none.example/"); err == nil || len(w.dialled) > 0 {
		t.Errorf("a name without an address: %v, dialled %v", err, w.dialled)
	}
}

func TestGrantsOpenWhatTheyNameAndNothingElse(t *testing.T) {
	names := map[string][]string{"search": {"10.0.0.7"}, "wiki.lan": {"192.168.1.5"}}
	for _, c := range []struct {
		allow  string
		opens  []string
		closed []string
	}{
		{"search", []string{"http://search/", "http://SEARCH.:22/"}, []string{"http://10.0.0.7/", "http://wiki.lan/", "http://research/"}},
		{"Search.:8080", []string{"http://search:8080/"}, []string{"http://search/", "http://search:8081/"}},
		{"10.0.0.0/8", []string{"http://10.0.0.7:6379/", "http://[::ffff:10.9.9.9]/"}, []string{"http://11.0.0.1:22/", "http://wiki.lan/", "http://search/"}},
		{"127.0.0.1:8080", []string{"http://127.0.0.1:8080/"}, []string{"http://127.0.0.1/", "http://127.0.0.2:8080/", "http://[::1]:8080/"}},
		{"192.168.1.5", []string{"http://wiki.lan:22/"}, []string{"http://192.168.1.6/"}},
		{"::1", []string{"http://[::1]:99/"}, []string{"http://127.0.0.1/"}},
		{"[::1]:8080", []string{"http://[::1]:8080/"}, []string{"http://[::1]/"}},
		{"fd00::/8", []string{"http://[fd12::1]/"}, []string{"http://[fc00::1]/"}},
	} {
		w := &world{names: names}
		client := w.client(t, Config{Allow: []string{"other.example", c.allow}})
		for _, url := range c.opens {
			if _, err := get(client, url); !errors.Is(err, errDialled) {
				t.Errorf("%s does not open %s: %v", c.allow, url, err)
			}
		}
		for _, url := range c.closed {
			if _, err := get(client, url); refusal(err) == "" {
				t.Errorf("%s opens %s: %v", c.allow, url, err)
			}
		}
	}
	for _, bad := range []string{"", "*", "*.lan", "http://search", "search/", "search:", "search:0", "search:http", "10.0.0.0/33", ":80", "a b"} {
		if _, err := NewClient(Config{Allow: []string{bad}}); err == nil {
			t.Errorf("the grant %q is taken", bad)
		}
	}
	for _, c := range []Config{{Timeout: -1}, {MaxBytes: -1}} {
		if _, err := NewClient(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

func TestASecondAnswerOfANameServerIsCheckedToo(t *testing.T) {
	w := &world{}
	answers := []string{somewhere, "127.0.0.1"}
	client := w.client(t, Config{})
	client.Transport.(*guard).lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		next := answers[0]
		answers = answers[1:]
		return []netip.Addr{netip.MustParseAddr(next)}, nil
	}
	_, first := get(client, "http://rebind.example/")
	_, second := get(client, "http://rebind.example/")
	if !errors.Is(first, errDialled) || refusal(second) != "a loopback address" {
		t.Errorf("first %v, second %v", first, second)
	}
	if want := []string{somewhere + ":80"}; !slices.Equal(w.dialled, want) || len(answers) != 0 {
		t.Errorf("dialled %v, want %v; answers left: %v", w.dialled, want, answers)
	}
}

// The client's own resolver and dialer are in use here.
func TestAListenerOnLoopbackStaysUntouched(t *testing.T) {
	touched := 0
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { touched++ }
	server.Start()
	defer server.Close()
	client, err := NewClient(Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "127.0.0.1.", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "0", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"} {
		if _, err := get(client, "http://"+host+":"+port+"/"); refusal(err) == "" {
			t.Errorf("%s: %v", host, err)
		}
	}
	server.Close()
	if touched != 0 {
		t.Errorf("there were %d connections", touched)
	}
}

func TestAnAddressThatDoesNotAnswerIsNotTheLast(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "here") })
	w.names = map[string][]string{"two.example": {"2606:4700::1", somewhere}}
	client := w.client(t, Config{})
	g := client.Transport.(*guard)
	g.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "[2606") {
			return nil, errDialled
		}
		return w.dial(ctx, network, address)
	}
	if got, err := get(client, "http://two.example/"); got != "here" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestResponsesAreBounded(t *testing.T) {
	const limit = 1000
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
		case "/fits":
			w.Write(bytes.Repeat([]byte("x"), limit))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 1<<20))
			z.Close()
		default:
			w.Write(bytes.Repeat([]byte("x"), limit+1))
		}
	})
	client := w.client(t, Config{MaxBytes: limit})
	if body, err := get(client, "http://example.org/fits"); len(body) != limit || err != nil {
		t.Errorf("at the limit: %d bytes, %v", len(body), err)
	}
	for _, path := range []string{"/over", "/bomb"} {
		if body, err := get(client, "http://example.org"+path); len(body) != limit || !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
	}
	if _, err := get(client, "http://example.org/header"); err == nil {
		t.Error("a long header is taken")
	}

	resp, err := client.Get("http://example.org/over")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.ReadAll(resp.Body)
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, ErrTooLarge) {
		t.Errorf("read again: %d, %v", n, err)
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := NewClient(Config{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, theirs)
			return ours, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = get(client, "http://"+somewhere+"/")
		if took := time.Since(began); took != 30*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %s", err, took)
		}
	})
}

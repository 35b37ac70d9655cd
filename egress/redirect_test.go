package egress

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// redirecting serves /to?<url> as a redirect to the URL, and headers elsewhere.
func redirecting(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/to" {
		w.Header().Set("Location", r.URL.RawQuery)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Key", "Accept"} {
		fmt.Fprint(w, r.Header.Get(name), ";")
	}
}

func TestEveryHopIsChecked(t *testing.T) {
	for to, want := range map[string]string{
		"http://127.0.0.1/":                  "a loopback address",
		"http://169.254.169.254/latest/":     "a link-local address",
		"http://inner.example/":              "a private address",
		"http://2130706433/":                 "a number that is not an address",
		"//localhost/":                       "a name of the local network",
		"http://user:pw@example.org/":        "a URL with credentials",
		"file:///etc/passwd":                 "only http and https are allowed",
		"gopher://example.org/_x":            "only http and https are allowed",
		"http://example.com/to?http://[::1]": "a loopback address",
	} {
		w := serve(t, redirecting)
		w.names = map[string][]string{"inner.example": {"10.0.0.1"}}
		_, err := get(w.client(t, Config{}), "http://example.org/to?"+to)
		if refusal(err) != want {
			t.Errorf("to %s: %v, want %s", to, err, want)
		}
		if slices.ContainsFunc(w.dialled, func(address string) bool { return address != somewhere+":80" }) {
			t.Errorf("to %s: dialled %v", to, w.dialled)
		}
	}
}

func TestRedirectsAreFollowedFiveTimes(t *testing.T) {
	w := serve(t, redirecting)
	client := w.client(t, Config{})
	five := strings.Repeat("/to?", 5) + "/end"
	if got, err := get(client, "http://example.org"+five); got != ";;;;" || err != nil {
		t.Errorf("five: %q, %v", got, err)
	}
	if _, err := get(client, "http://example.org/to?"+five); refusal(err) != "more than 5 redirects" {
		t.Errorf("six: %v", err)
	}
}

func TestARedirectDoesNotLeaveHTTPS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(redirecting))
	defer server.Close()
	w := &world{server: server.Listener}
	client := w.client(t, Config{})
	client.Transport.(*guard).transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if _, err := get(client, "https://example.com/to?/end"); err != nil {
		t.Error(err)
	}
	if _, err := get(client, "https://example.com/to?http://example.com/"); refusal(err) != "redirect from https to http" {
		t.Error(err)
	}
}

func TestKeysStayWithTheHostTheyAreFor(t *testing.T) {
	for to, want := range map[string]string{
		"/end":                                      "secret;secret;secret;text/html;",
		"http://example.com/end":                    ";;;text/html;",
		"http://sub.example.org/end":                ";;;text/html;",
		"http://example.org:8080/end":               ";;;text/html;",
		"http://example.com/to?http://example.org/": ";;;text/html;",
	} {
		w := serve(t, redirecting)
		client := w.client(t, Config{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.org/to?"+to, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"secret"}, "Cookie": {"secret"}, "X-Key": {"secret"}, "Accept": {"text/html"}}
		client.Transport = record{client.Transport, func(r *http.Request) {
			if sent := fmt.Sprint(r.Header); r.URL.Host != "example.org" && strings.Contains(sent, "secret") {
				t.Errorf("%s got %s", r.URL, sent)
			}
		}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 100)
		n, _ := resp.Body.Read(body)
		resp.Body.Close()
		if got := string(body[:n]); got != want {
			t.Errorf("to %s: %s, want %s", to, got, want)
		}
	}
}

// record shows what is about to be sent.
type record struct {
	http.RoundTripper
	see func(*http.Request)
}

func (r record) RoundTrip(req *http.Request) (*http.Response, error) {
	r.see(req)
	return r.RoundTripper.RoundTrip(req)
}

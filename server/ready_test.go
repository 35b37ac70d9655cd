package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

// as asks the server's handler for something: by which name, from where, with which headers.
func (w *world) as(method, host, path, from string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(method, "http://"+host+path, nil)
	r.RemoteAddr = from
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(out, r)
	return out
}

// Load balancers have no token and ask by address. They are told whether the server can do
// its work, and nothing else; who is known is told why not.
func TestAServerWhoseStoreCannotBeWrittenIsNotReady(t *testing.T) {
	var trouble error
	w := newWorld(t, clerk(t, echo()), withUsers, func(c *Config) {
		c.Operators, c.StoreTrouble = []string{"ann"}, func() error { return trouble }
	})
	const balancer = "10.2.3.4:1234"
	known := []string{"Authorization", "Bearer " + tokenOfAnn}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := w.as("GET", "10.2.3.4:7717", path, balancer); got.Code != http.StatusOK {
			t.Errorf("%s by address and without a token: %d %s", path, got.Code, got.Body)
		}
	}
	if got := w.as("GET", "10.2.3.4:7717", "/api/agents", balancer, known...); got.Code != http.StatusForbidden {
		t.Errorf("all else by address: %d", got.Code)
	}
	if got := w.as("GET", "127.0.0.1", "/metrics", balancer, known...); !strings.Contains(got.Body.String(), "troupe_store_writable 1\n") {
		t.Errorf("metrics: %s", got.Body)
	}
	trouble = fmt.Errorf("append to /secret/place: %w", syscall.ENOSPC)
	if got := w.as("GET", "10.2.3.4", "/readyz", balancer); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "the store cannot be written") || strings.Contains(got.Body.String(), "full") {
		t.Errorf("a stranger: %d %s", got.Code, got.Body)
	}
	if got := w.as("GET", "127.0.0.1", "/readyz", balancer, known...); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "The disk is full") || strings.Contains(got.Body.String(), "secret") {
		t.Errorf("ann: %d %s", got.Code, got.Body)
	}
	if got := w.as("GET", "127.0.0.1", "/metrics", balancer, known...); !strings.Contains(got.Body.String(), "troupe_store_writable 0\n") {
		t.Errorf("metrics: %s", got.Body)
	}
}

// What cannot be stored for want of room is said to be that, and the log has the error itself.
func TestAFullDiskIsCalledOne(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
		says string
	}{
		"full":    {fmt.Errorf("/secret/place: %w", syscall.ENOSPC), http.StatusServiceUnavailable, "The disk is full: nothing was written."},
		"limited": {fmt.Errorf("/secret/place: %w", syscall.EFBIG), http.StatusServiceUnavailable, "cannot be written"},
		"failed":  {fmt.Errorf("/secret/place: %w", syscall.EIO), http.StatusServiceUnavailable, "The disk failed"},
		"other":   {errors.New("/secret/place: what?"), http.StatusInternalServerError, "the server's log says what"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, clerk(t, echo()), withRoomFor(0), func(c2 *Config) { c2.Store.(*fullStore).err = c.err })
			status, text := w.do("POST", "/v1/chat/completions", map[string]any{"model": "clerk", "messages": []any{map[string]string{"role": "user", "content": "hello"}}})
			if status != c.want || !strings.Contains(text, c.says) || strings.Contains(text, "secret") {
				t.Errorf("%d %s", status, text)
			}
			if log := w.log.String(); strings.Contains(log, "log says what") || !strings.Contains(log, "/secret/place") {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// Who signs out, who was refused what, and where they came from is for the audit log. A proxy
// of ours is believed where a request came from, as far as it says so itself.
func TestTheAuditLogKnowsWhoAndWhence(t *testing.T) {
	var got []string
	w := newWorld(t, clerk(t, echo()), withUsers, func(c *Config) {
		c.Operators = []string{"bob"}
		c.IsProxy = func(address string) bool { return strings.HasPrefix(address, "10.") }
		c.Audit = func(a Audited) {
			got = append(got, fmt.Sprint(a.User, "|", a.Role, "|", a.Act, "|", a.From, "|", a.Status, "|", a.OK))
		}
	})
	const forwarded = "X-Forwarded-For"
	ann := []string{"Authorization", "Bearer " + tokenOfAnn}
	w.as("GET", "127.0.0.1", "/api/settings", "10.0.0.1:99", append(ann, forwarded, "6.6.6.6, 203.0.113.7, 10.0.0.2")...)
	w.as("GET", "127.0.0.1", "/api/agents", "10.0.0.1:99", append(ann, forwarded, "203.0.113.7")...)
	w.as("POST", "127.0.0.1", "/api/logout", "203.0.113.9:99", append(ann, forwarded, "6.6.6.6")...)
	w.as("POST", "127.0.0.1", "/api/logout", "10.0.0.1:99", forwarded, "nonsense")
	want := []string{
		"ann|user|GET /api/settings|203.0.113.7|403|false", "ann|user|POST /api/logout|203.0.113.9:99|204|true", "||POST /api/logout|10.0.0.1:99|204|true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log is\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whoever comes in through a proxy is among the people, with the role that they came with.
func TestPeopleWhoAreSignedInElsewhereAreListed(t *testing.T) {
	w := newWorld(t, clerk(t, echo()), func(c *Config) {
		c.Auth = func(r *http.Request) (user, role string, err error) {
			if user = r.Header.Get("X-User"); user == "ann" {
				return user, RoleOperator, nil
			}
			return user, RoleUser, nil
		}
	})
	const from = "127.0.0.1:99"
	w.as("GET", "127.0.0.1", "/api/agents", from, "X-User", "zoe")
	got := w.as("GET", "127.0.0.1", "/api/people", from, "X-User", "ann").Body.String()
	if !strings.HasPrefix(got, `[{"name":"ann","operator":true,"you":true,`) || !strings.Contains(got, `},{"name":"zoe","operator":false,"you":false,`) || strings.Count(got, `"name"`) != 2 {
		t.Errorf("the people are %s", got)
	}
}

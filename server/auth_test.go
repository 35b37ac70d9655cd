package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// The empty name is that of the one user of a server without users, who sees everything: no
// program's own sign-in can hand it out by mistake.
func TestAuthMustNameAUserAndARole(t *testing.T) {
	w := newWorld(t, clerk(t, echo()), func(c *Config) {
		c.Auth = func(r *http.Request) (user, role string, err error) {
			return r.Header.Get("X-User"), r.Header.Get("X-Role"), nil
		}
	})
	for _, c := range []struct {
		user, role string
		want       int
	}{
		{"ann", RoleUser, http.StatusOK}, {"ann", RoleOperator, http.StatusOK},
		{"", RoleUser, http.StatusUnauthorized}, {" ", RoleUser, http.StatusUnauthorized}, {"", RoleOperator, http.StatusUnauthorized},
		{"ann", "", http.StatusUnauthorized}, {"ann", "admin", http.StatusUnauthorized}, {"ann", "admin", http.StatusUnauthorized},
	} {
		if got := w.as("GET", "127.0.0.1", "/api/sessions", "127.0.0.1:99", "X-User", c.user, "X-Role", c.role).Code; got != c.want {
			t.Errorf("user %q with role %q: %d, not %d", c.user, c.role, got, c.want)
		}
	}
	log := w.log.String()
	if strings.Count(log, "Auth returned no user") != 1 || strings.Count(log, "Auth returned a role that is neither") != 1 {
		t.Errorf("the log is\n%s", log)
	}
}

// Where a program signs people in there are no tokens: none is asked for.
func TestWhoIsNotSignedInToAProgramIsToldSo(t *testing.T) {
	w := newWorld(t, clerk(t, echo()), func(c *Config) {
		c.Users = nil
		c.Auth = func(*http.Request) (user, role string, err error) { return "", "", errors.New("nobody") }
	})
	if got := w.as("GET", "127.0.0.1", "/api/sessions", "127.0.0.1:99").Body.String(); !strings.Contains(got, "nobody is signed in") || strings.Contains(got, "token") {
		t.Errorf("it is said that %s", got)
	}
}

package server

import (
	"errors"
	"net/http"
	"testing"
)

// Whoever is not signed in is told how they come in, and never asked for a code that counts for
// nothing.
func TestWhoeverIsNotSignedInIsToldHowTheyComeIn(t *testing.T) {
	auth := func(*http.Request) (user, role string, err error) { return "", "", errors.New("nobody") }
	for want, set := range map[string]option{
		`{"code":true}`:  func(*Config) {},
		`{"code":false}`: func(c *Config) { c.Auth = auth },
		`{"code":false,"sign_in":"/login","name":"Company"}`: func(c *Config) { c.Auth, c.SignIn, c.SignInName = auth, "/login", "Company" },
	} {
		w := newWorld(t, clerk(t, echo()), set)
		if got := w.as("GET", "127.0.0.1", "/api/ways", "127.0.0.1:99"); got.Code != http.StatusOK || got.Body.String() != want+"\n" {
			t.Errorf("%d %s, not %s", got.Code, got.Body, want)
		}
	}
}

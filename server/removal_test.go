package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// Who is removed is out at once, with their links and their open pages; what they have written
// stays, and the others go on. Operators alone remove people, and nobody themselves.
func TestWhoIsRemovedIsOutAtOnce(t *testing.T) {
	var removed []string
	failure := errors.New("the file may not be written")
	w := open(t, clerk(t, echo()), withUsers, func(c *Config) {
		c.Operators = []string{"ann"}
		c.RemovePerson = func(_ context.Context, name string) error {
			if failure == nil {
				removed = append(removed, name)
			}
			return failure
		}
	})
	session := w.session(as(tokenOfBob))
	w.talk(session, "hello", as(tokenOfBob))
	var link signInLink
	w.want(http.StatusOK, &link, "POST", "/api/people/bob/link", nil)
	byLink := as(link.Fragment[len("#token="):])
	w.want(http.StatusOK, nil, "GET", "/api/me", nil, byLink)
	stream := w.changes(as(tokenOfBob))

	w.want(http.StatusForbidden, nil, "DELETE", "/api/people/ann", nil, as(tokenOfBob))
	w.want(http.StatusForbidden, nil, "DELETE", "/api/people/bob", nil, as(tokenOfBob))
	w.want(http.StatusUnprocessableEntity, nil, "DELETE", "/api/people/ann", nil)
	w.want(http.StatusConflict, nil, "DELETE", "/api/people/eve", nil)
	w.want(http.StatusUnprocessableEntity, nil, "DELETE", "/api/people/bob", nil)
	w.want(http.StatusOK, nil, "GET", "/api/me", nil, as(tokenOfBob)) // whose removal has failed
	var list []personView
	w.want(http.StatusOK, &list, "GET", "/api/people", nil)
	if len(list) != 2 || list[0].Removable || !list[1].Removable || removed != nil {
		t.Errorf("%+v, removed are %q", list, removed)
	}

	failure = nil
	w.want(http.StatusNoContent, nil, "DELETE", "/api/people/bob", nil)
	for range stream { // which ends
	}
	for _, his := range []header{as(tokenOfBob), byLink} {
		w.want(http.StatusUnauthorized, nil, "GET", "/api/me", nil, his)
		w.want(http.StatusUnauthorized, nil, "GET", "/api/sessions/"+session, nil, his)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session, nil) // it is not Ann's now
	if found, err := collect(w.config.Store.Sessions(t.Context(), troupe.SessionFilter{User: "bob"}), 2); err != nil || len(found) != 1 {
		t.Errorf("of bob there are %v, %v", found, err)
	}
	w.want(http.StatusOK, &list, "GET", "/api/people", nil)
	if len(list) != 1 || len(removed) != 1 {
		t.Errorf("%+v, removed are %q", list, removed)
	}
	w.want(http.StatusConflict, nil, "DELETE", "/api/people/bob", nil)
	w.want(http.StatusNotFound, nil, "POST", "/api/people/bob/link", nil)

	// Nor does his link let him in once the configuration was read again.
	c := w.config
	c.Users = map[string]string{"ann": tokenOfAnn}
	next, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.server.HandOver(next)
	w.want(http.StatusUnauthorized, nil, "GET", "/api/me", nil, byLink)
}

// Who may not remove themselves is sent to another operator only where there is one.
func TestWhoRemovesThemselvesIsToldWhoCan(t *testing.T) {
	for why, operators := range map[string][]string{
		"nobody removes themselves, and there is no other operator who could do it": {"ann", "eve"}, // who has no token
		"nobody removes themselves: another operator can do it":                     {"ann", "bob"},
	} {
		w := open(t, clerk(t, echo()), withUsers, func(c *Config) {
			c.Operators = operators
			c.RemovePerson = func(context.Context, string) error { return nil }
		})
		if status, text := w.do("DELETE", "/api/people/ann", nil); status != http.StatusUnprocessableEntity || !strings.Contains(text, why) {
			t.Errorf("of %q ann is told %d %s", operators, status, text)
		}
	}
}

package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A mounted handler gets requests of known users alone, whole, and knows whose they are.
func TestAMountedHandlerIsBehindTheServersDoor(t *testing.T) {
	w := open(t, clerk(t, echo()))
	var got []string
	w.server.Mount("/own/{path...}", http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.PathValue("path")+" "+VisitOf(r).Role+" "+string(body))
		out.WriteHeader(http.StatusTeapot)
	}))
	for _, c := range []struct {
		method, body string
		want         int
		headers      []header
	}{
		{"GET", "", http.StatusTeapot, nil},
		{"POST", `{"a":1}`, http.StatusTeapot, nil},
		{"POST", `{"a":1}`, http.StatusUnauthorized, []header{as("wrong")}},
		{"POST", `{"a":1}`, http.StatusForbidden, []header{with("Origin", "https://elsewhere.example")}},
		{"POST", `"` + strings.Repeat("x", 17<<20) + `"`, http.StatusRequestEntityTooLarge, nil},
	} {
		if status := w.status(c.method, "/own/a/b", c.body, c.headers...); status != c.want {
			t.Errorf("%s %v: %d, not %d", c.method, c.headers, status, c.want)
		}
	}
	if want := "GET a/b operator |POST a/b operator {\"a\":1}"; strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}

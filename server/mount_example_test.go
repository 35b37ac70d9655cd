package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/web"
)

// shop is what the example can run: one agent.
type shop struct{ agent *troupe.Agent }

func (s shop) Agents() []server.Agent {
	return []server.Agent{{ID: "clerk", Name: "Clerk", EntryPoint: true}}
}
func (s shop) Flows() []server.Flow { return nil }
func (s shop) Step(_ context.Context, name string) (troupe.Step, error) {
	if name != "clerk" {
		return nil, server.ErrUnknown
	}
	return s.agent, nil
}

// A program mounts the API and the page in its own mux, under a path of its own and
// with its own users.
func ExampleNew() {
	store := troupe.NewMemoryStore()
	engine, _ := troupe.New(troupe.Config{Store: store})
	defer engine.Close()
	agent, _ := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Instructions: "You are a clerk.", Model: rehearsal.New()})
	signedIn := func(r *http.Request) (user, role string, err error) { return "ann", server.RoleUser, nil }
	mux := http.NewServeMux()

	troupeServer, err := server.New(server.Config{Engine: engine, Store: store, Cast: shop{agent}, Page: web.Page(), Auth: signedIn, Prefix: "/troupe"})
	if err != nil {
		panic(err)
	}
	mux.Handle("/troupe/", http.StripPrefix("/troupe", troupeServer.Handler()))

	for _, path := range []string{"/troupe/", "/troupe/api/me"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest("GET", "http://localhost"+path, nil))
		fmt.Println(path, answer.Code, answer.Header().Get("Content-Type"))
	}
	// Output:
	// /troupe/ 200 text/html; charset=utf-8
	// /troupe/api/me 200 application/json
}

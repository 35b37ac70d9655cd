// Command http offers an agent over HTTP beside a program's own routes. Any OpenAI
// client can use it as a model.
//
//	curl localhost:7718/v1/chat/completions -H "Authorization: Bearer $TOKEN" \
//		-H 'Content-Type: application/json' -d '{"model":"clerk","messages":[{"role":"user","content":"Please add 19.5 and 22.5."}]}'
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/server"
)

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// A cast is what the server can run: one agent here.
type cast struct{ agent *troupe.Agent }

func (c cast) Agents() []server.Agent { return []server.Agent{{ID: c.agent.Name(), Name: "Clerk"}} }
func (c cast) Flows() []server.Flow   { return nil }
func (c cast) Step(_ context.Context, name string) (troupe.Step, error) {
	if name != c.agent.Name() {
		return nil, fmt.Errorf("%s: %w", name, server.ErrUnknown)
	}
	return c.agent, nil
}

// newHandler returns the agents beside a route of the program's own.
func newHandler(engine *troupe.Engine, store troupe.Store, token string) (http.Handler, error) {
	add := troupe.NewTool("add", "Adds two numbers.", func(_ context.Context, p pair) (float64, error) { return p.A + p.B, nil }, troupe.ReadOnly())
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: rehearsal.New(), Tools: []troupe.Tool{add}}) // with a key: openai.New
	if err != nil {
		return nil, err
	}
	agents, err := server.New(server.Config{Engine: engine, Store: store, Cast: cast{agent}, Users: map[string]string{"ann": token}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a route of the program's own") })
	mux.Handle("/", agents.Handler())
	return mux, nil
}

func main() {
	store := troupe.NewMemoryStore() // or store/sqlite
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	handler, err := newHandler(engine, store, os.Getenv("TOKEN")) // 32 characters or more
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:7718", handler))
}

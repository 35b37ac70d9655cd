package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/troupetest"
)

// A cast of one agent.
type cast struct{ agent *troupe.Agent }

func (c cast) Agents() []server.Agent { return []server.Agent{{ID: c.agent.Name(), Name: "Mira"}} }
func (c cast) Flows() []server.Flow   { return nil }
func (c cast) Step(_ context.Context, name string) (troupe.Step, error) {
	if name != c.agent.Name() {
		return nil, fmt.Errorf("%s: %w", name, server.ErrUnknown)
	}
	return c.agent, nil
}

// Agents over HTTP, mounted in a program's own mux. Any OpenAI client can use them.
func ExampleServer_Handler() {
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "mira", Model: troupetest.NewScript(nil, troupetest.Say("Hello, Ann."))})
	if err != nil {
		log.Fatal(err)
	}
	const token = "a-token-of-32-characters-or-more"
	agents, err := server.New(server.Config{Engine: engine, Store: store, Cast: cast{agent}, Users: map[string]string{"ann": token}})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", agents.Handler())
	site := httptest.NewServer(mux)
	defer site.Close()

	body := `{"model":"mira","messages":[{"role":"user","content":"Hello"}]}`
	request, err := http.NewRequest(http.MethodPost, site.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := site.Client().Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, strings.Contains(string(answer), "Hello, Ann."), err)
	// Output: 200 true <nil>
}

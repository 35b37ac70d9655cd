package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

func TestTheAgentAnswersBesideARouteOfTheProgram(t *testing.T) {
	store := troupe.NewMemoryStore()
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	const token = "a-token-of-32-characters-or-more"
	handler, err := newHandler(engine, store, token)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(handler)
	defer site.Close()
	send := func(method, path, body string) string {
		request, err := http.NewRequest(method, site.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		response, err := site.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.Status + " " + string(text)
	}
	if got := send(http.MethodGet, "/hello", ""); got != "200 OK a route of the program's own\n" {
		t.Errorf("got %s", got)
	}
	const question = `{"model":"clerk","messages":[{"role":"user","content":"Please add 19.5 and 22.5."}]}`
	if got := send(http.MethodPost, "/v1/chat/completions", question); !strings.Contains(got, "200 OK") || !strings.Contains(got, "add says: 42") {
		t.Errorf("got %s", got)
	}
}

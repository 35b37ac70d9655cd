package project_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
)

// A modelServer answers in chat completions and remembers which models were asked. Models
// whose names begin with "down" are.
type modelServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newModelServer(t *testing.T) *modelServer {
	m := &modelServer{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Model string }
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&request) != nil {
			http.NotFound(w, r)
			return
		}
		m.mu.Lock()
		m.asked = append(m.asked, request.Model)
		m.mu.Unlock()
		if strings.HasPrefix(request.Model, "down") {
			http.Error(w, "closed for today", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s says yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", request.Model)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) project(t *testing.T) string {
	return write(t, fmt.Sprintf("model: [local/usual, local/spare, local/last]\nproviders: {local: {base_url: %q, models: {usual: {window: 9000}, other: {window: 7000}, down: {window: 5000}}}}\nagents:\n  clerk: {instructions: x}\n", m.URL))
}

func say(t *testing.T, p *project.Project, step troupe.Step, session string) troupe.Outcome {
	t.Helper()
	outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), step, troupe.Input{Session: session, Text: "Really?"}))
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestSeveralModelsAreChosenInTheMidstOfAConversation(t *testing.T) {
	server := newModelServer(t)
	p := open(t, server.project(t), project.Options{})
	session := say(t, p, agent(t, p, "clerk"), "").Session
	step, err := p.StepUsing(t.Context(), "clerk", session, "local/down, local/other")
	if err != nil {
		t.Fatal(err)
	}
	m, by, ok := p.AnsweredBy(step)
	if !ok || m.Ref != "local/down,local/other" || m.Window != 5000 || by == "" {
		t.Errorf("%+v answers, chosen by %q", m, by)
	}
	if outcome := say(t, p, step, session); outcome.Text != "other says yes." {
		t.Errorf("the answer is %q", outcome.Text)
	}
	again, err := p.StepUsing(t.Context(), "clerk", session, "local/down,local/last")
	if err != nil {
		t.Fatal(err)
	}
	if m, _, _ := p.AnsweredBy(again); m.Ref != "local/down,local/last" {
		t.Errorf("another second choice is %q", m.Ref)
	}
}

func TestAChosenModelGoesOnAnotherDay(t *testing.T) {
	server := newModelServer(t)
	dir := server.project(t)
	p := open(t, dir, project.Options{})
	session := say(t, p, agent(t, p, "clerk"), "").Session
	if err := p.ChooseModel(t.Context(), session, "local/other"); err != nil {
		t.Fatal(err)
	}
	p.Close()
	for flag, want := range map[string]string{"": "other says yes.", "local/last": "last says yes."} {
		p := open(t, dir, project.Options{Model: flag})
		step, err := p.StepIn(t.Context(), "clerk", session)
		if err != nil {
			t.Fatal(err)
		}
		if outcome := say(t, p, step, session); outcome.Text != want {
			t.Errorf("with --model %q the answer is %q, want %q", flag, outcome.Text, want)
		}
		fresh, err := p.StepIn(t.Context(), "clerk", "")
		if err != nil {
			t.Fatal(err)
		}
		if m, _, _ := p.AnsweredBy(fresh); flag == "" && m.Ref != "local/usual,local/spare,local/last" {
			t.Errorf("a new conversation is answered by %s", m.Ref)
		}
		p.Close()
	}
}

func TestModelsAreListedInTheOrderInWhichTheyAreAsked(t *testing.T) {
	server := newModelServer(t)
	p := open(t, server.project(t), project.Options{})
	var list []string
	for _, m := range p.Models(t.Context()) {
		list = append(list, m.Ref+" "+m.Use)
	}
	if want := []string{"local/usual default", "local/spare default, choice 2", "local/last default, choice 3"}; !slices.Equal(list, want) {
		t.Errorf("listed are %q, want %q", list, want)
	}
}

// A delivery that is limited in money may ask a provider which reports what it bills.
func TestADeliveryTakesModelsWhoseProviderReportsTheirCost(t *testing.T) {
	for ref, works := range map[string]bool{"openrouter/foo/unknown": true, "far/odd": false} {
		dir := write(t, "pipeline: {cost: 1}\nproviders: {far: {base_url: \"http://models.example:1/v1\"}}\n")
		p := open(t, dir, project.Options{Model: ref, LookupEnv: func(name string) (string, bool) { return "k", name == "OPENROUTER_API_KEY" }})
		_, err := p.Step(t.Context(), project.Deliver)
		if works && err != nil || !works && (err == nil || !strings.Contains(err.Error(), "pipeline.cost")) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestAChosenModelThatIsGoneIsNamedWithAWayOut(t *testing.T) {
	server := newModelServer(t)
	dir := server.project(t)
	p := open(t, dir, project.Options{})
	session := say(t, p, agent(t, p, "clerk"), "").Session
	if err := p.ChooseModel(t.Context(), session, "gone/m"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.StepIn(t.Context(), "clerk", session); err == nil || !strings.Contains(err.Error(), "gone") || !strings.Contains(err.Error(), "with --model provider/name") {
		t.Errorf("%v", err)
	}
}

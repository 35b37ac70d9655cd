package project_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-key-4c11d0"

// env is an environment with nothing in it but a key.
func env(name string) (string, bool) { return canary, name == "CANARY" }

// write writes a project that is one file.
func write(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open opens a project for as long as the test takes.
func open(t *testing.T, dir string, o project.Options) *project.Project {
	t.Helper()
	if o.LookupEnv == nil {
		o.LookupEnv = env
	}
	p, err := project.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func engine(t *testing.T, p *project.Project) *troupe.Engine {
	t.Helper()
	e, err := p.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func agent(t *testing.T, p *project.Project, id string) *troupe.Agent {
	t.Helper()
	a, err := p.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withServer is a troupe.yaml whose model is at url.
func withServer(url string) string {
	return fmt.Sprintf(`
model: local/m
providers: {local: {base_url: %q, key_env: CANARY}}
limits: {model_tries: 1}
agents:
  clerk: {instructions: "You add up.", tools: [calculator]}
  poet: {instructions: "You write a line.", description: Writes.}
flows:
  both: {description: One after the other., sequence: [clerk, poet]}
`, url)
}

func TestLookingAtAProjectWritesNothing(t *testing.T) {
	dir := write(t, withServer("http://127.0.0.1:1"))
	p := open(t, dir, project.Options{})
	var ids []string
	for _, a := range p.Agents() {
		ids = append(ids, a.ID)
	}
	if got := strings.Join(ids, " "); got != "clerk poet" {
		t.Errorf("agents %s", got)
	}
	if flows := p.Flows(); len(flows) != 1 || flows[0].Name != "both" || !strings.Contains(flows[0].Tree, "└─ poet") {
		t.Errorf("flows %+v", flows)
	}
	if plan, err := p.Plan("both"); err != nil || !strings.Contains(plan, "clerk  local/m, calculator") {
		t.Errorf("plan %s, %v", plan, err)
	}
	if model, by := p.Model("poet"); model != "local/m" || by != "model in troupe.yaml" {
		t.Errorf("model %s, chosen by %s", model, by)
	}
	if list, err := p.Sessions(t.Context(), outputs.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("sessions %v, %v", list, err)
	}
	if _, err := p.OpenReader(t.Context()); !errors.Is(err, project.ErrNoSessions) {
		t.Errorf("reader: %v", err)
	}
	if found, _ := os.ReadDir(dir); len(found) != 1 {
		t.Errorf("in the directory: %v", found)
	}
}

func TestAnAgentRunsWithItsModelAndItsTools(t *testing.T) {
	model := troupetest.NewServer(t,
		troupetest.ServeCalls(troupe.ToolCall{ID: "1", Name: "calculator", Arguments: `{"expression":"19.5+22.5"}`}),
		troupetest.ServeText("It is 42."),
	)
	p := open(t, write(t, withServer(model.URL)), project.Options{})
	outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "clerk"), troupe.Input{Text: "19.5 and 22.5?"}))
	if err != nil || outcome.Text != "It is 42." {
		t.Fatalf("%+v, %v", outcome, err)
	}
	requests := model.Requests()
	if len(requests) != 2 || requests[0].Header.Get("Authorization") != "Bearer "+canary {
		t.Fatalf("%d requests, the first with %q", len(requests), requests[0].Header.Get("Authorization"))
	}
	for _, want := range []string{"You add up.", `\"42\"`} {
		if !strings.Contains(string(requests[1].Body), want) {
			t.Errorf("the model is not sent %s: %s", want, requests[1].Body)
		}
	}
	if p.Rehearses() {
		t.Error("it is called a rehearsal")
	}
}

func TestAConversationGoesOnInAnotherProcess(t *testing.T) {
	model := troupetest.NewServer(t, troupetest.ServeText("Hello, Ada."), troupetest.ServeText("You are Ada."))
	dir := write(t, withServer(model.URL))
	first := open(t, dir, project.Options{})
	said, err := troupe.Collect(engine(t, first).Run(t.Context(), agent(t, first, "poet"), troupe.Input{Text: "I am Ada."}))
	if err = errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, project.Options{})
	list, err := second.Sessions(t.Context(), outputs.Filter{})
	if err != nil || len(list) != 1 || list[0].SessionID != said.Session {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	step, err := second.StepIn(t.Context(), "poet", said.Session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := troupe.Collect(engine(t, second).Run(t.Context(), step, troupe.Input{Session: said.Session, Text: "Who am I?"})); err != nil {
		t.Fatal(err)
	}
	if body := string(model.Requests()[1].Body); !strings.Contains(body, "I am Ada.") || !strings.Contains(body, "Hello, Ada.") {
		t.Errorf("the model is not reminded: %s", body)
	}
}

func TestClosingEndsWhatRuns(t *testing.T) {
	asked := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	}))
	defer model.Close()
	p := open(t, write(t, withServer(model.URL)), project.Options{})
	handle, err := engine(t, p).Start(t.Context(), agent(t, p, "poet"), troupe.Input{Text: "Go."})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := handle.Wait(t.Context()); err == nil {
		t.Error("the run went on")
	}
	if _, err := p.Engine(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("an engine of a closed project: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestAnAgentIsMadeOnce(t *testing.T) {
	p := open(t, write(t, withServer("http://127.0.0.1:1")), project.Options{})
	made := make([]*troupe.Agent, 8)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() { made[i], _ = p.Agent(t.Context(), "poet") })
	}
	all.Wait()
	for _, a := range made {
		if a == nil || a != made[0] {
			t.Fatalf("made %v", made)
		}
	}
}

func TestANameThatIsNobodysIsAnErrorThatHelps(t *testing.T) {
	p := open(t, write(t, withServer("http://127.0.0.1:1")), project.Options{})
	for _, find := range []func() error{
		func() error { _, err := p.Agent(t.Context(), "poett"); return err },
		func() error { _, err := p.Step(t.Context(), "poett"); return err },
		func() error { _, err := p.Plan("poett"); return err },
	} {
		if err := find(); !errors.Is(err, bundle.ErrNoAgent) || !strings.Contains(err.Error(), "did you mean poet?") {
			t.Errorf("error %v", err)
		}
	}
}

func TestAMistakeIsReportedWithItsLine(t *testing.T) {
	dir := write(t, "model: rehearsal\nagnets: {}\nlimits: {turns: many}\n")
	_, err := project.Open(dir, project.Options{})
	for _, want := range []string{"troupe.yaml:2:", "agents", "troupe.yaml:3:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
	if _, err := project.Open(filepath.Join(dir, "nowhere"), project.Options{}); err == nil || !strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("a directory that is not there: %v", err)
	}
	checks := project.Diagnose(t.Context(), dir, project.Options{LookupEnv: env})
	if checks[0].Name != "configuration" || checks[0].Status != project.Broken || checks[0].Fix == "" || !strings.Contains(checks[0].Message, "troupe.yaml:2:") {
		t.Errorf("%+v", checks)
	}
	report, err := project.Lint(dir, env)
	if err != nil || report.Errors() != 2 || report.Findings[len(report.Findings)-1].Line != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestTheServerIsPartOfAnotherMux(t *testing.T) {
	model := troupetest.NewServer(t, troupetest.ServeText("Otters hold hands."))
	p := open(t, write(t, withServer(model.URL)), project.Options{})
	s, err := p.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "mine") })
	mux.Handle("/below/", http.StripPrefix("/below", s.Handler()))
	mux.Handle("/", s.Handler())
	web := httptest.NewServer(mux)
	defer web.Close()
	ask := func(method, path, token, body string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := web.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	const completion = `{"model":"poet","messages":[{"role":"user","content":"Otters."}]}`
	for _, test := range []struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		{"GET", "/own", "", "", 200, "mine"},
		{"GET", "/", "", "", 200, "<html"},
		{"POST", "/v1/chat/completions", "nobody's", completion, 401, ""},
		{"POST", "/v1/chat/completions", s.Token(), completion, 200, "Otters hold hands."},
		{"GET", "/below/api/agents", s.Token(), "", 200, `"id":"clerk"`},
		{"GET", "/metrics", s.Token(), "", 200, `agent="poet"`},
	} {
		status, text := ask(test.method, test.path, test.token, test.body)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %d\n%s", test.method, test.path, status, text)
		}
	}
}

// A sink keeps the kinds of events.
type sink struct {
	mu    sync.Mutex
	kinds []string
}

func (s *sink) Note(e *troupe.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = append(s.kinds, string(e.Kind()))
}

func TestAProgramHearsOfWhatAgentsDoButOfNoKey(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key: %s"}}`, canary)
	}))
	defer model.Close()
	var log strings.Builder
	level := slog.Level(-1)
	seen := &sink{}
	p := open(t, write(t, withServer(model.URL)+"log: {level: info}\n"), project.Options{
		Observers: []observe.Sink{seen},
		Log: func(l slog.Level) slog.Handler {
			level = l
			return slog.NewTextHandler(&log, &slog.HandlerOptions{Level: l})
		},
	})
	_, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "poet"), troupe.Input{Text: canary}))
	if err == nil {
		t.Error("the run is called a success")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if level != slog.LevelInfo || !strings.Contains(log.String(), "run_failed") || strings.Contains(log.String(), canary) {
		t.Errorf("level %v, log %s", level, &log)
	}
	if kinds := strings.Join(seen.kinds, " "); !strings.HasPrefix(kinds, "run_started") || !strings.HasSuffix(kinds, "run_failed") {
		t.Errorf("seen: %s", kinds)
	}
}

func TestADeliveryIsDoneFromGo(t *testing.T) {
	p := open(t, t.TempDir(), project.Options{})
	order := p.Delivery()
	order.To = "architecture"
	step, input, err := p.StartDelivery(t.Context(), "Create a todo app", order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := troupe.Collect(engine(t, p).Run(t.Context(), step, input)); err != nil {
		t.Fatal(err)
	}
	written, _ := filepath.Glob(filepath.Join(p.Dir(), "delivery", "*", "specs", "*", "*.md"))
	if len(written) != 2 || !p.Rehearses() {
		t.Errorf("written: %v", written)
	}
}

func TestAnOptionDecidesOnTheModel(t *testing.T) {
	p := open(t, write(t, withServer("http://127.0.0.1:1")), project.Options{Model: "rehearsal"})
	if model, by := p.Model("poet"); model != "rehearsal" || by == "" {
		t.Errorf("model %s, chosen by %q", model, by)
	}
	if outcome, err := troupe.Collect(engine(t, p).Run(t.Context(), agent(t, p, "poet"), troupe.Input{Text: "Go."})); err != nil || outcome.Text == "" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestACommandThatIsNotThereIsAnErrorThatHelps(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, project.Options{})
	for _, test := range []struct{ agent, command, want string }{
		{"mira", "decid", "did you mean *decide?"},
		{"mria", "", "did you mean mira?"},
	} {
		if _, err := p.Rehearse(t.Context(), test.agent, test.command); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
	all, err := p.Rehearse(t.Context(), "", "")
	if err != nil || len(all) < 4 {
		t.Errorf("%d reports, %v", len(all), err)
	}
	if _, err := os.Stat(p.DataDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a rehearsal leaves something behind: %v", err)
	}
}

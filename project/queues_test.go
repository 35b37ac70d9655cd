package project_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/work"
)

// queued is a project of which each queue is for something else.
const queued = `
model: rehearsal
engine: temporal
agents:
  clerk: {instructions: You answer.}
  clever: {instructions: You think., model: openai/gpt-x}
  reckoner: {instructions: You calculate., tools: [calculator]}
flows: {both: {sequence: [clerk, reckoner]}}
providers: {openai: {base_url: "http://127.0.0.1:1/v1", key_env: KEY}}
server: {users: {ann: ANN, bob: BOB}}
queues:
  - {name: acme, users: [ann]}
  - {name: quota, models: ["openai/*"], rate: 5}
  - {name: machines, tools: [calc*]}
`

func writeQueued(t *testing.T, yaml string) (dir string, options project.Options) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, project.Options{LookupEnv: func(name string) (string, bool) {
		value, ok := map[string]string{"KEY": "k", "ANN": strings.Repeat("a", 40), "BOB": strings.Repeat("b", 40)}[name]
		return value, ok
	}}
}

func openQueued(t *testing.T, yaml string) (*project.Project, error) {
	t.Helper()
	dir, options := writeQueued(t, yaml)
	p, err := project.Open(dir, options)
	if err == nil {
		t.Cleanup(func() { p.Close() })
	}
	return p, err
}

func TestARunGoesToTheFirstQueueThatFits(t *testing.T) {
	p, err := openQueued(t, queued+"store: "+postgrestest.Start(t).Schema()+"\n")
	if err != nil {
		t.Fatal(err)
	}
	runner, err := p.Runner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range []string{"clerk", "clever", "reckoner", "both"} {
		for _, user := range []string{"ann", "bob"} {
			step, err := p.Step(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			run, err := runner.Submit(t.Context(), step, troupe.Input{Text: "go", User: user})
			if err != nil {
				t.Fatal(err)
			}
			got[user+" "+name] = queueOf(t, p, run.Session)
			if name == "reckoner" { // one that is resumed goes where it was
				resumeAndCancel(t, p, step, run.Session, got[user+" "+name])
			}
		}
	}
	want := map[string]string{
		"ann clerk": "acme", "ann clever": "acme", "ann reckoner": "acme", "ann both": "acme",
		"bob clerk": "", "bob clever": "quota", "bob reckoner": "machines", "bob both": "machines",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if queue, err := p.QueueFor(t.Context(), "both"); err != nil || queue != "machines" {
		t.Errorf("nobody's: %s, %v", queue, err)
	}
}

func queueOf(t *testing.T, p *project.Project, session string) string {
	t.Helper()
	shared, err := p.SharedStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job, there, err := shared.JobOf(t.Context(), session)
	if err != nil || !there {
		t.Fatalf("no job, %v", err)
	}
	return job.Queue
}

// resumeAndCancel checks that a run which was cancelled and is resumed is in the queue again.
func resumeAndCancel(t *testing.T, p *project.Project, step troupe.Step, session, want string) {
	t.Helper()
	runner, err := p.Runner(t.Context())
	if err == nil {
		err = runner.Cancel(t.Context(), session)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range runner.Resume(ctx, step, session) {
		}
	}()
	shared, err := p.SharedStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for there := false; !there; {
		if _, there, err = shared.JobOf(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	<-over
	if queue := queueOf(t, p, session); queue != want {
		t.Errorf("resumed in queue %q, and not %q", queue, want)
	}
}

func TestTheRateOfAQueueIsThatOfTheFile(t *testing.T) {
	p, err := openQueued(t, queued)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"": 0, "acme": 0, "quota": 5} {
		if rate, err := p.QueueRate(name); err != nil || rate != want {
			t.Errorf("%s: %g, %v", name, rate, err)
		}
	}
	if _, err := p.QueueRate("qouta"); err == nil || !strings.Contains(err.Error(), "did you mean quota?") {
		t.Error(err)
	}
	none, err := openQueued(t, "engine: workers\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.QueueRate("acme"); err == nil || !strings.Contains(err.Error(), "has no queues") {
		t.Error(err)
	}
}

func TestQueuesForNobodyAreRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"users: [ann]", "users: [anna]"}:              `acme is for "anna", and there is no such user; did you mean ann?`,
		{"users: [ann]", "agents: [clark]"}:            `acme is for "clark", and there is no such agent or flow; did you mean clerk?`,
		{"openai/*", "opnai/*"}:                        `quota is for "opnai", and there is no such provider; did you mean openai?`,
		{"users: [ann]", "user: [ann]"}:                "did you mean users?",
		{`models: ["openai/*"]`, "models: [openai]"}:   "openai/* is all of a provider's",
		{"{name: acme, users: [ann]}", "{name: acme}"}: "acme takes every run, and quota after it none",
		{"name: machines", "name: acme"}:               "there are two named acme",
		{"name: acme", "name: a/b"}:                    "letters, digits, _ and -",
		{"name: acme, ", ""}:                           "queue 1 of queues has no name",
		{"rate: 5", "rate: -1"}:                        "rate of quota must be a number, 0 or more",
		{"engine: temporal", "engine: workers"}:        "rate of quota needs engine: temporal",
		{"engine: temporal\n", ""}:                     "set engine: workers or engine: temporal",
	} {
		yaml := strings.Replace(queued, change[0], change[1], 1)
		if yaml == queued {
			t.Fatalf("%s is not there", change[0])
		}
		dir, options := writeQueued(t, yaml+"store: postgres://127.0.0.1:1/none\n")
		p, err := project.Open(dir, options)
		if err == nil {
			_, err = p.Engine(t.Context())
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change[1], err)
		}
		// Whoever asks what is wrong is told so, too.
		said := ""
		for _, check := range project.Diagnose(t.Context(), dir, options) {
			said += check.Message + "\n"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s", change[1], said)
		}
	}
}

// What an agent is told is made where it runs: a worker with other files leaves a run that begins to
// others. One that goes on has on record what it was told.
func TestARunGoesToAWorkerWithTheSameFiles(t *testing.T) {
	address := postgrestest.Start(t).Schema()
	open := func(change ...string) *project.Project {
		t.Helper()
		p, err := openQueued(t, strings.NewReplacer(change...).Replace(queued)+"store: "+address+"\n")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	server, same, edited := open(), open(), open("You answer.", "You answer otherwise.")
	runner, err := server.Runner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := func(p *project.Project, session string) error {
		t.Helper()
		shared, err := p.SharedStore(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		job, _, err := shared.JobOf(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		step, err := p.StepOf(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return p.CheckJob(job, step)
	}
	for _, name := range []string{"clerk", "both", "clever"} { // of which the last is told the same
		step, err := server.Step(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		run, err := runner.Submit(t.Context(), step, troupe.Input{Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		if err := check(same, run.Session); err != nil {
			t.Errorf("%s: with the same files: %v", name, err)
		}
		if err := check(edited, run.Session); errors.Is(err, work.ErrDefinition) != (name != "clever") {
			t.Errorf("%s: with other files: %v", name, err)
		}
	}
	step, err := server.Step(t.Context(), "clerk")
	if err != nil {
		t.Fatal(err)
	}
	run, err := runner.Submit(t.Context(), step, troupe.Input{Text: "go"})
	if err == nil {
		err = runner.Cancel(t.Context(), run.Session)
	}
	if err == nil {
		_, err = runner.Submit(t.Context(), step, troupe.Input{Session: run.Session, Text: "more"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := check(edited, run.Session); err != nil {
		t.Errorf("a session that goes on: %v", err)
	}
}

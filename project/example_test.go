package project_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project"
)

// noModel has nobody choose a model, so that examples print the same everywhere.
var noModel = project.Options{LookupEnv: func(string) (string, bool) { return "", false }}

// newProject writes the project that 'troupe init' writes.
func newProject() string {
	dir, err := os.MkdirTemp("", "troupe-example-")
	if err == nil {
		_, _, err = project.Init(dir)
	}
	if err != nil {
		panic(err)
	}
	return dir
}

// A project's agents are listed and run. With no key in the environment and no model
// in troupe.yaml, they rehearse.
func Example() {
	ctx := context.Background()
	dir := newProject()
	defer os.RemoveAll(dir)

	p, err := project.Open(dir, noModel)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	for _, a := range p.Agents() {
		fmt.Printf("%s: %s\n", a.ID, a.Title)
	}

	engine, err := p.Engine(ctx)
	if err != nil {
		panic(err)
	}
	mira, err := p.Agent(ctx, "mira")
	if err != nil {
		panic(err)
	}
	outcome, err := troupe.Collect(engine.Run(ctx, mira, troupe.Input{Text: "*decide"}))
	fmt.Println(outcome.Text, err)
	// Output:
	// mira: Decision Guide
	// bruno: Friendly Sceptic
	// **decide**: Takes one decision from a muddle to one page that still makes sense in a year.
	//
	// **Step 1: Find out what is really being decided**
	//
	// **Question 1**
	//
	// What are you trying to decide? One sentence is enough. <nil>
}

// A flow of troupe.yaml runs in the background; its events can be followed, and its
// outcome waited for.
func ExampleProject_Step() {
	ctx := context.Background()
	dir := newProject()
	defer os.RemoveAll(dir)
	const yaml = `
agents:
  poet: {instructions: "You write a line."}
  critic: {instructions: "You judge a line."}
flows:
  verse: {sequence: [poet, critic]}
`
	if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
		panic(err)
	}

	p, err := project.Open(dir, noModel)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	fmt.Print(p.Flows()[0].Tree)
	engine, err := p.Engine(ctx)
	if err != nil {
		panic(err)
	}
	verse, err := p.Step(ctx, "verse")
	if err != nil {
		panic(err)
	}
	handle, err := engine.Start(ctx, verse, troupe.Input{Text: "Otters"})
	if err != nil {
		panic(err)
	}
	for e, err := range handle.Events(ctx) {
		if err != nil {
			panic(err)
		}
		if _, ok := e.Body.(*troupe.RunFinished); ok {
			fmt.Println(e.Agent, "has finished")
		}
	}
	outcome, err := handle.Wait(ctx)
	fmt.Println(outcome.Stop, err)
	// Output:
	// verse (sequence)
	// ├─ poet
	// └─ critic
	// poet has finished
	// critic has finished
	// verse has finished
	// answered <nil>
}

// The page, the API and the endpoint that speaks OpenAI's are part of a program's own
// mux.
func ExampleProject_Server() {
	dir := newProject()
	defer os.RemoveAll(dir)
	p, err := project.Open(dir, noModel)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	troupeServer, err := p.Server(context.Background())
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /own", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "mine") })
	mux.Handle("/", troupeServer.Handler())

	for _, path := range []string{"/own", "/v1/models"} {
		request := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		request.Header.Set("Authorization", "Bearer "+troupeServer.Token())
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		fmt.Println(path, answer.Code)
	}
	// Output:
	// /own 200
	// /v1/models 200
}

// Below a path of the program's mux, answers name addresses with that path.
func ExampleProject_Server_prefix() {
	dir := newProject()
	defer os.RemoveAll(dir)
	options := noModel
	options.Prefix = "/troupe"
	p, err := project.Open(dir, options)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	troupeServer, err := p.Server(context.Background())
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/troupe/", http.StripPrefix("/troupe", troupeServer.Handler()))

	request := httptest.NewRequest("POST", "http://127.0.0.1/troupe/api/sessions", strings.NewReader(`{"agent":"mira"}`))
	request.Header.Set("Authorization", "Bearer "+troupeServer.Token())
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	fmt.Println(answer.Code, path.Dir(answer.Header().Get("Location")))
	// Output:
	// 201 /troupe/api/sessions
}

// Every command of every agent is played with no model, as a test of the files that
// the agents are written in.
func ExampleProject_Rehearse() {
	dir := newProject()
	defer os.RemoveAll(dir)
	p, err := project.Open(dir, noModel)
	if err != nil {
		panic(err)
	}
	defer p.Close()
	reports, err := p.Rehearse(context.Background(), "mira", "*decide")
	if err != nil {
		panic(err)
	}
	for _, r := range reports {
		fmt.Printf("%s %s: %s, %d steps, %d questions\n", r.Agent, r.Command, r.Result, r.Steps, r.Questions)
	}
	// Output:
	// mira *decide: complete, 5 steps, 4 questions
}

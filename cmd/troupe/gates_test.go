package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A client delivers over plain HTTP: it knows the documented routes and nothing else, and
// its server is killed now and then.
type client struct {
	t           *testing.T
	dir         string
	environment []string
	base, token string
	server      *exec.Cmd
	session     string
}

// serves starts the server, after it was killed where it ran.
func (c *client) serves() {
	c.t.Helper()
	if c.server != nil {
		_ = c.server.Process.Kill()
		_ = c.server.Wait()
	}
	c.base, c.token, c.server = serveProcess(c.t, c.dir, nil, c.environment...)
}

// asks sends a request and returns the status and what was answered.
func (c *client) asks(method, path, key string, body any, into any) (int, string) {
	c.t.Helper()
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && into != nil && response.StatusCode < 300 {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		c.t.Fatalf("%s %s: %d: %v\n%.300s", method, path, response.StatusCode, err, data)
	}
	return response.StatusCode, string(data)
}

// wants is asks for a status.
func (c *client) wants(status int, method, path, key string, body any, into any) {
	c.t.Helper()
	if got, said := c.asks(method, path, key, body, into); got != status {
		c.t.Fatalf("%s %s %v: %d, want %d: %s", method, path, body, got, status, said)
	}
}

type askedAtGate struct {
	ID        int64
	Kind      string
	Text      string
	Arguments struct{ Phase, Kind, Next string }
}

// about is what a gate is about.
func (q *askedAtGate) about() string {
	if q.Arguments.Kind != "" {
		return q.Arguments.Kind
	}
	return q.Arguments.Phase
}

type sessionSeen struct {
	Status   string
	Question *askedAtGate
}

// stands waits until the delivery waits or has come to its end.
func (c *client) stands() (s sessionSeen) {
	c.t.Helper()
	until(c.t, "the delivery waits, or has come to its end", func() bool {
		s = sessionSeen{}
		c.wants(http.StatusOK, "GET", "/api/sessions/"+c.session, "", nil, &s)
		return s.Status != "running"
	})
	return s
}

func (c *client) answers(status int, key string, body fields) {
	c.t.Helper()
	c.wants(status, "POST", "/api/sessions/"+c.session+"/answers", key, body, nil)
}

// begins starts a delivery: sent twice under one key it is one.
func (c *client) begins(request, approve string) {
	c.t.Helper()
	var first, second struct{ Session, Run string }
	body := fields{"request": request, "approve": approve}
	c.wants(http.StatusAccepted, "POST", "/api/deliveries", "begin-"+request, body, &first)
	c.wants(http.StatusAccepted, "POST", "/api/deliveries", "begin-"+request, body, &second)
	if first != second {
		c.t.Fatalf("one key, two deliveries: %v, %v", first, second)
	}
	c.wants(http.StatusUnprocessableEntity, "POST", "/api/deliveries", "begin-"+request, fields{"request": "something else"}, nil)
	c.session = first.Session
}

// gatedRepository has all that a delivery can ask about: a setup, dependencies, and a check
// that needs something that is not there.
func (a *agency) gatedRepository(t *testing.T) (dir, tool string) {
	t.Helper()
	tools := t.TempDir()
	tool = filepath.Join(tools, "measure")
	dir = a.repositoryOf(t, fmt.Sprintf("  read: [%s]\n  setup: [sh install.sh]\n  checks: [{name: test, run: %s uses.txt}]\n", tools, tool), map[string]string{
		"base.ok": "good\n", "uses.txt": "one\n", "requirements.txt": "one\n",
		"install.sh": "mkdir -p deps; while read -r name; do echo > deps/$name; done < requirements.txt\n",
	})
	inRepository(t, dir, "echo /deps/ >> .gitignore && git commit -qam ignored")
	return dir, tool
}

// needsTwo plays agents whose first step adds a dependency.
func needsTwo(phase, step, prompt string, n int) string {
	if phase == "implementation" && step == "1" {
		return builtFiles(anEdit("uses.txt", "one\n", "one\ntwo\n"), anEdit("requirements.txt", "one\n", "one\ntwo\n"))
	}
	return goodWork(phase, step, prompt, n)
}

// Every gate of a delivery is met and answered over HTTP. What is no answer is refused and
// changes nothing, an answer counts once however often it is sent, and a kill of the server
// before or after it loses nothing.
func TestGatesOverHTTP(t *testing.T) {
	a := newAgency(t)
	a.plays(needsTwo)
	dir, tool := a.gatedRepository(t)
	c := &client{t: t, dir: dir, environment: a.environment(dir)}
	c.serves()
	before := fingerprintOf(t, dir)
	c.wants(http.StatusUnprocessableEntity, "POST", "/api/deliveries", "", fields{"request": "x", "approve": "sometimes"}, nil)
	c.wants(http.StatusBadRequest, "POST", "/api/deliveries", "", fields{"request": " "}, nil)
	c.begins("Make it good", "manual")

	var met []string
	for len(met) < 30 {
		s := c.stands()
		if s.Question == nil {
			if s.Status != "completed" {
				t.Fatalf("after %q the delivery is %s", met, s.Status)
			}
			break
		}
		q := s.Question
		if q.Kind != "gate" || q.Text == "" {
			t.Fatalf("%+v", q)
		}
		met = append(met, q.about())
		t.Log(q.about(), strings.Split(q.Text, "\n")[0])
		c.refusesNonsense(q)
		if len(met)%2 == 0 { // killed while it waits
			c.serves()
			if again := c.stands(); again.Question == nil || again.Question.ID != q.ID {
				t.Fatalf("after a kill it asks %+v, not %+v", again.Question, q)
			}
		}
		if q.about() == "environment" {
			if n := countOf(met, "environment"); n == 1 {
				c.answers(http.StatusAccepted, "vague", fields{"question": q.ID, "text": "I will look into it"})
				if s = c.stands(); s.Question == nil || s.Question.about() != "environment" || s.Question.ID == q.ID || !strings.Contains(s.Question.Text, "neither") {
					t.Fatalf("after a sentence that is no answer: %+v", s)
				}
				q = s.Question
			}
			if err := os.WriteFile(tool, []byte("#!/bin/sh\nwhile read -r name; do test -e deps/$name || { echo \"$1:1: $name is missing\"; exit 1; }; done < $1\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		c.goesOn(q, fmt.Sprintf("gate-%d", len(met)), len(met)%3 == 0)
	}
	for _, kind := range []string{"environment", "requirements", "architecture", "discovery", "plan", "dependencies", "step", "diff"} {
		if !slices.Contains(met, kind) {
			t.Errorf("it was not asked about: %s; met: %q", kind, met)
		}
	}
	if n := countOf(met, "dependencies"); n != 1 {
		t.Errorf("it was asked %d times about one dependency", n)
	}
	var seen struct {
		Outcome, Branch string
		Commits         []struct{ Step string }
		Notes           []string
	}
	c.wants(http.StatusOK, "GET", "/api/deliveries/"+c.session, "", nil, &seen)
	if seen.Outcome != "delivered" || len(seen.Commits) != 2 || len(seen.Notes) != 0 {
		t.Errorf("it ends as %+v", seen)
	}
	if got := inRepository(t, dir, "git show "+seen.Branch+":requirements.txt"); got != "one\ntwo\n" {
		t.Errorf("requirements.txt is %q", got)
	}
	if after := fingerprintOf(t, dir); after != before {
		t.Errorf("the checkout has changed:\n%s\nwas\n%s", after, before)
	}
	c.answers(http.StatusConflict, "late", fields{"question": 1, "text": "go on"})
	t.Logf("gates: %s; %d requests to models", strings.Join(met, ", "), a.requests())
	if n := a.requests(); n > 9 { // four phases, two steps, a review, and two that a kill has cut off
		t.Errorf("%d requests: what was answered was asked for again", n)
	}
}

func countOf(list []string, word string) (n int) {
	for _, w := range list {
		if w == word {
			n++
		}
	}
	return n
}

// refusesNonsense sends what is no answer to a question.
func (c *client) refusesNonsense(q *askedAtGate) {
	c.t.Helper()
	for _, bad := range []struct {
		status int
		body   fields
	}{
		{http.StatusBadRequest, fields{"question": q.ID}},
		{http.StatusBadRequest, fields{"question": q.ID, "text": " \n"}},
		{http.StatusBadRequest, fields{"question": q.ID, "allow": "perhaps"}},
		{http.StatusBadRequest, fields{"question": "first", "text": "go on"}},
		{http.StatusConflict, fields{"question": q.ID + 1, "text": "go on"}},
		{http.StatusConflict, fields{"question": q.ID - 1, "text": "stop"}},
		{http.StatusBadRequest, fields{"text": "go on"}},
	} {
		c.answers(bad.status, "", bad.body)
	}
	c.wants(http.StatusNotFound, "POST", "/api/sessions/00000000-0000-0000-0000-000000000000/answers", "", fields{"question": q.ID, "text": "go on"}, nil)
	c.wants(http.StatusConflict, "POST", "/api/deliveries/"+c.session+"/continue", "", fields{"guidance": "hurry"}, nil)
	if s := c.stands(); s.Question == nil || s.Question.ID != q.ID {
		c.t.Fatalf("what is no answer has changed the question: %+v", s)
	}
}

// goesOn answers a question, twice under one key, with a kill in between where there is one.
func (c *client) goesOn(q *askedAtGate, key string, killed bool) {
	c.t.Helper()
	body := fields{"question": q.ID, "text": "go on"}
	var first, second struct{ Session, Run string }
	path := "/api/sessions/" + c.session + "/answers"
	c.wants(http.StatusAccepted, "POST", path, key, body, &first)
	if killed {
		c.serves()
	}
	c.wants(http.StatusAccepted, "POST", path, key, body, &second)
	if first != second {
		c.t.Errorf("one key, two answers: %v, %v", first, second)
	}
	c.wants(http.StatusUnprocessableEntity, "POST", path, key, fields{"question": q.ID, "text": "stop"}, nil)
}

// What else can be answered over HTTP: guidance, no, and stop.
func TestOtherAnswersAtGatesOverHTTP(t *testing.T) {
	a := newAgency(t)
	a.plays(func(phase, step, prompt string, n int) string {
		if phase == "implementation" && step == "1" {
			return builtFiles(anEdit("requirements.txt", "one\n", "one\ntwo\n"), aFile("step1.ok", "good\n"))
		}
		return goodWork(phase, step, prompt, n)
	})
	dir, tool := a.gatedRepository(t)
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, dir: dir, environment: a.environment(dir)}
	c.serves()
	type end struct {
		Outcome, Branch string
		Reasons, Notes  []string
		Commits         []struct{ Step string }
	}
	at := func(kind string) *askedAtGate {
		t.Helper()
		s := c.stands()
		if s.Question == nil || s.Question.about() != kind {
			t.Fatalf("it is %s and asks %+v, not about %s", s.Status, s.Question, kind)
		}
		return s.Question
	}

	c.begins("Plan it", "plan")
	c.answers(http.StatusAccepted, "", fields{"question": at("plan").ID, "text": "Speak of a walrus"})
	q := at("plan")
	if a.holds("BMAD planning", "Speak of a walrus") == 0 {
		t.Error("the planner does not see what was said")
	}
	var changed struct{ Changes []string }
	path := "/api/deliveries/" + c.session + "/plan"
	c.wants(http.StatusUnprocessableEntity, "PUT", path, "", fields{"steps": []fields{{"id": "1", "title": "First", "depends_on": []string{"7"}}}}, nil)
	c.wants(http.StatusOK, "PUT", path, "", fields{"steps": []fields{{"id": "1", "title": "First", "goal": "Only this."}}}, &changed)
	if got := strings.Join(changed.Changes, "; "); got != "dropped: 2 Second; changed: 1 First" {
		t.Errorf("the plan changed: %s", got)
	}
	c.answers(http.StatusAccepted, "", fields{"question": q.ID, "text": "stop"})
	var stopped end
	if s := c.stands(); s.Question != nil {
		t.Fatalf("it was told to stop, and asks %+v", s.Question)
	}
	c.wants(http.StatusOK, "GET", "/api/deliveries/"+c.session, "", nil, &stopped)
	if stopped.Outcome != "failed" || len(stopped.Commits) != 0 {
		t.Errorf("stopped, it is %+v", stopped)
	}

	c.begins("Deliver it", "diff")
	c.answers(http.StatusAccepted, "", fields{"question": at("dependencies").ID, "allow": "no"})
	c.answers(http.StatusAccepted, "", fields{"question": at("diff").ID, "text": "A third file, please"})
	c.answers(http.StatusAccepted, "", fields{"question": at("diff").ID, "text": "go on"})
	var done end
	if s := c.stands(); s.Question != nil {
		t.Fatalf("it asks %+v", s.Question)
	}
	c.wants(http.StatusOK, "GET", "/api/deliveries/"+c.session, "", nil, &done)
	if done.Outcome != "delivered" || len(done.Commits) != 3 || done.Commits[2].Step != "wish-1" || !strings.Contains(strings.Join(done.Notes, "\n"), "because a person did not want it") {
		t.Errorf("it ends as %+v", done)
	}
}

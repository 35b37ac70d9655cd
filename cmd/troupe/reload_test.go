package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/troupetest"
)

// An edit of troupe.yaml is served without a restart: whoever is signed in stays so, what
// is under way goes on, and an edit with a mistake changes nothing.
func TestAnEditedConfigurationIsServed(t *testing.T) {
	models := troupetest.NewServer(t, troupetest.ServeText("Yes."), troupetest.ServeText("Still."))
	dir := clerkAt(t, models.URL)
	hearing, telling := io.Pipe()
	base, token, stop := serveTelling(t, dir, telling, "CANARY=k")
	lines := make(chan string, 100)
	go func() {
		for scanner := bufio.NewScanner(hearing); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	hear := func(want string) {
		t.Helper()
		for late := time.After(time.Minute); ; {
			select {
			case line := <-lines:
				if strings.Contains(line, want) {
					return
				}
			case <-late:
				t.Fatalf("nobody says %q", want)
			}
		}
	}
	agents := func() (names string) {
		var list []struct{ ID string }
		if code := request(t, "GET", base+"/api/agents", token, "", &list); code != 200 {
			t.Fatalf("agents: %d", code)
		}
		for _, a := range list {
			names += a.ID + " "
		}
		return names
	}
	eventually := func(want string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); agents() != want; {
			if time.Now().After(end) {
				t.Fatalf("%q, not %q", agents(), want)
			}
		}
	}
	say := func(agent string) string {
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		request(t, "POST", base+"/v1/chat/completions", token, `{"model":"`+agent+`","messages":[{"role":"user","content":"Well?"}]}`, &answer)
		if len(answer.Choices) == 0 {
			return ""
		}
		return answer.Choices[0].Message.Content
	}
	file := filepath.Join(dir, "troupe.yaml")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually("clerk ")
	if got := say("clerk"); got != "Yes." {
		t.Errorf("before: %q", got)
	}
	edit(strings.Replace(string(first), "agents: {", "agents: {baker: {instructions: You bake.}, ", 1))
	eventually("baker clerk ")
	hear("was read again")
	edit(string(first) + "nonsense: true\n")
	hear("nonsense")
	hear("from before stays in use")
	eventually("baker clerk ")
	edit(string(first) + "data: elsewhere\n")
	hear("data in troupe.yaml has changed: that takes a restart")
	edit(strings.Replace(string(first), "agents: {", "agents: {cook: {instructions: You cook.}, ", 1))
	eventually("clerk cook ")
	if got := say("cook"); got != "Still." {
		t.Errorf("after: %q", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A user whose quota is used up is told so, after a restart, too; others go on.
func TestAQuotaIsKeptPerUser(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "server: {users: {ada: ADA, bo: BO}, quota: {runs: 2}}\n")
	ada, bo := strings.Repeat("a", 40), strings.Repeat("b", 40)
	env := []string{"CANARY=k", "ADA=" + ada, "BO=" + bo}
	say := func(base, token string) (int, string) {
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
			Error   struct{ Message string }
		}
		code := request(t, "POST", base+"/v1/chat/completions", token, `{"model":"clerk","messages":[{"role":"user","content":"Well?"}]}`, &answer)
		if len(answer.Choices) > 0 {
			return code, answer.Choices[0].Message.Content
		}
		return code, answer.Error.Message
	}
	base, _, stop := serveIn(t, dir, env...)
	for range 2 {
		if code, text := say(base, ada); code != 200 || text != "It rains." {
			t.Errorf("within the quota: %d %s", code, text)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	base, _, stop = serveIn(t, dir, env...)
	if code, text := say(base, ada); code != http.StatusTooManyRequests || !strings.Contains(text, "quota of 2 runs is used up") {
		t.Errorf("beyond the quota: %d %s", code, text)
	}
	if code, text := say(base, bo); code != 200 {
		t.Errorf("somebody else: %d %s", code, text)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/troupetest"
)

// troupeIn runs the program in a directory and returns all that it wrote.
func troupeIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("troupe", args...)
	c.Dir, c.Env = dir, append(c.Environ(), "CANARY=k", "TROUPE_LOOK_FOR_OLLAMA=no", "GORACE="+hurry)
	out, _ := c.CombinedOutput()
	return string(out)
}

// shows fails the test if the text lacks something.
func shows(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q:\n%s", want, text)
		}
	}
}

// An answer that a provider withholds is paid for: where it takes all that a run may
// cost, the next model is not asked, and people see what it took.
func TestADearAnswerThatIsWithheldEndsTheRun(t *testing.T) {
	withheld := `data: {"model":"m","choices":[{"delta":{"content":"I wi"},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}` + "\n\ndata: [DONE]\n\n"
	models := troupetest.NewServer(t, troupetest.ServeRaw("text/event-stream", withheld))
	dir := write(t, "model: [one/m, two/n]\nlimits: {cost: 1}\nproviders:\n"+
		"  one: {base_url: \""+models.URL+"/v1\", key_env: CANARY, models: {m: {price: {input: 1000, output: 1000}}}}\n"+
		"  two: {base_url: \""+models.URL+"/v1\", key_env: CANARY, models: {n: {price: {input: 1, output: 1}}}}\n"+
		"agents: {clerk: {instructions: You answer., tools: []}}\n")
	said := troupeIn(t, dir, "run", "clerk", "Go.")
	shows(t, said, "! The 1 US dollars of this run are spent; the last answer was paid for and came to nothing, and no model is asked any more.", "The run has used up its money.")
	if strings.Contains(said, "asked instead") {
		t.Errorf("nobody is asked instead: %s", said)
	}
	shows(t, troupeIn(t, dir, "sessions", "explain", "last"), "1,000", "500", "$1.5000", "failed: The provider refuses this request.", "(model: the provider withheld the answer)", "the limit of cost was reached")
	shows(t, troupeIn(t, dir, "metrics"), "1,000", "1.5")
}

// Where models stand in for each other, people see whose model has answered, also if two
// providers call it by the same name.
func TestAnAnswerSaysWhichProviderItIsFrom(t *testing.T) {
	models := troupetest.NewServer(t, troupetest.ServeStatus(401, `{"error":{"message":"no","code":"invalid_api_key"}}`), troupetest.ServeText("Hello."))
	dir := write(t, "model: [one/m, two/m]\nproviders:\n  one: {base_url: \""+models.URL+"/v1\", key_env: CANARY}\n  two: {base_url: \""+models.URL+"/v1\", key_env: CANARY}\n"+
		"agents: {clerk: {instructions: You answer., tools: []}}\n")
	troupeIn(t, dir, "run", "clerk", "Go.")
	shows(t, troupeIn(t, dir, "sessions", "explain", "last"), "  two/")
	shows(t, troupeIn(t, dir, "sessions", "explain", "last", "--turn", "1"), "clerk, two/")
	shows(t, troupeIn(t, dir, "sessions", "show", "last"), "model     two/")
	shows(t, troupeIn(t, dir, "sessions", "show", "last", "--events"), `"provider":"two"`)
}

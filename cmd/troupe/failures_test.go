package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

const noKey = `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`

// Wherever a failed model is told of, it is in the catalogue's words, with what to do.
func TestEveryCommandExplainsAFailedModel(t *testing.T) {
	models := troupetest.NewServer(t, slices.Repeat([]troupetest.Exchange{troupetest.ServeStatus(401, noKey)}, 4)...)
	dir := write(t, "model: one/m\nproviders:\n  one: {base_url: \""+models.URL+"/v1\", key_env: CANARY}\nagents: {clerk: {instructions: You answer., tools: []}}\n")
	for name, text := range map[string]string{
		"in.jsonl":   `"Go."` + "\n",
		"suite.yaml": "agent: clerk\ncases:\n  - name: goes\n    messages: [Go.]\n    checks: [{contains: x}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const sentence, next = "The provider does not accept the key.", "Check the key; troupe doctor says which variable it is read from."
	shows(t, troupeIn(t, dir, "run", "clerk", "--each", "in.jsonl"), "failed", sentence, next)
	shows(t, troupeIn(t, dir, "--json", "run", "clerk", "--each", "in.jsonl", "--batch", "b"), `"problem":"`+sentence+" "+next, "invalid_api_key")
	shows(t, troupeIn(t, dir, "sessions", "show", "last"), "status    failed", "problem   "+sentence, next, "details   ", "invalid_api_key")
	shows(t, troupeIn(t, dir, "eval", "suite.yaml"), "could not be carried out: "+sentence, next, "details: ", "invalid_api_key")
	shows(t, troupeIn(t, dir, "--json", "eval", "suite.yaml"), `"problem": "`+sentence)
}

// Where nobody knows what a model costs, that is said where the cost would be.
func TestAPriceThatIsNotKnownIsSaidSo(t *testing.T) {
	answer := `data: {"model":"m","choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}` + "\n\ndata: [DONE]\n\n"
	for name, test := range map[string]struct{ provider, show, explain, models string }{
		"unknown": {"", "used      1,500 tokens, price not known\n", "  ?  ", "  ?"},
		"known":   {", models: {m: {price: {input: 1, output: 2}}}", "used      1,500 tokens, $0.0020\n", "$0.0020", "$1"},
		"free":    {", models: {m: {price: {free: true}}}", "used      1,500 tokens\n", "  -  ", "free"},
	} {
		t.Run(name, func(t *testing.T) {
			models := troupetest.NewServer(t, troupetest.ServeRaw("text/event-stream", answer))
			_, port, _ := strings.Cut(strings.TrimPrefix(models.URL, "http://"), ":")
			// A host that is not of a private network: there models would cost nothing.
			t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+port)
			dir := write(t, "model: one/m\nproviders:\n  one: {base_url: \"http://models.example/v1\", key_env: CANARY"+test.provider+"}\nagents: {clerk: {instructions: You answer., tools: []}}\n")
			shows(t, troupeIn(t, dir, "run", "clerk", "Go."), "Hello.")
			shows(t, troupeIn(t, dir, "sessions", "show", "last"), test.show)
			shows(t, troupeIn(t, dir, "sessions", "explain", "last"), test.explain)
			shows(t, troupeIn(t, dir, "models"), test.models)
		})
	}
}

// Attempts that failed stand where they were made, with what they cost and who was asked
// next, whether or not they were paid for.
func TestFailedAttemptsAndFallbacksAreExplained(t *testing.T) {
	models := troupetest.NewServer(t,
		troupetest.ServeRaw("text/event-stream", `data: {"model":"m","choices":[{"delta":{"content":"I wi"},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":1000,"completion_tokens":500}}`+"\n\ndata: [DONE]\n\n"),
		troupetest.ServeStatus(401, noKey), troupetest.ServeText("Hello."))
	dir := write(t, "model: [one/m, two/n, three/o]\nproviders:\n"+
		"  one: {base_url: \""+models.URL+"/v1\", key_env: CANARY, models: {m: {price: {input: 100, output: 100}}}}\n"+
		"  two: {base_url: \""+models.URL+"/v1\", key_env: CANARY}\n  three: {base_url: \""+models.URL+"/v1\", key_env: CANARY}\n"+
		"agents: {clerk: {instructions: You answer., tools: []}}\n")
	troupeIn(t, dir, "run", "clerk", "Go.")
	said := troupeIn(t, dir, "sessions", "explain", "last")
	shows(t, said, "$0.1500", "failed: The provider refuses this request. two/n is asked instead.", "failed: The provider does not accept the key. three/o is asked instead.")
	if first, second, answer := strings.Index(said, "two/n is asked"), strings.Index(said, "three/o is asked"), strings.Index(said, "Hello."); first > second || second > answer {
		t.Errorf("they are out of order:\n%s", said)
	}
	shows(t, troupeIn(t, dir, "sessions", "explain", "last", "--turn", "1"), "an attempt failed: The provider does not accept the key.")
	shows(t, troupeIn(t, dir, "--json", "sessions", "explain", "last"), `"failed_attempts"`, `"reason": "key"`, `"reason": "refused"`, `"cost": 0.15`)
}

// A delivery that a model has failed says so in the same words.
func TestADeliveryExplainsAFailedModel(t *testing.T) {
	var out, aside bytes.Buffer
	p := &program{out: &out, err: &aside}
	failed := "agent qa: task \"x\": after 1 turn: model: 401 invalid_api_key: no"
	if err := p.writeDelivery(project.Taken{}, &pipeline.Summary{Session: "5f0c2b6e", Errors: []string{failed, "the plan has no steps"}}); err != nil && !isReported(err) {
		t.Fatal(err)
	}
	shows(t, aside.String(), "✗ The provider does not accept the key. Check the key; troupe doctor says which variable it is read from.\n  details: "+failed, "✗ the plan has no steps\n")
}

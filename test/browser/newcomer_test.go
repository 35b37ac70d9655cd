package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Somebody who has run troupe init, and nothing else, sets a key on the page, and its
// model is chosen. From then on the page says that this is the model which answers; the agents are grouped
// by a name, what they call by a trigger has words, and what was answered waits no more.
func TestWhoeverBeginsSetsAKeyAndIsAnswered(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"Where do we keep", []reply{{text: "Type *decide to think it through."}}},
		script{"Think it through", []reply{{text: "Which way should it be?\n\n1. SQLite\n2. PostgreSQL"}}},
	)
	dir := project(t, nil)
	troupe(t, dir, "-q", "init")
	h := &house{dir: dir}
	file := filepath.Join(dir, "troupe.yaml")
	if err := os.WriteFile(file, []byte(h.read(t, "troupe.yaml")+"\nproviders:\n  office:\n    base_url: "+m.URL+"/v1   # our own\n    key_env: OFFICE_KEY\n    models: {stub-1: {price: {input: 2, output: 8}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	written := h.read(t, "troupe.yaml")
	b := open(t, serve(t, dir).link)
	b.sees(".bundle", "Decisions")
	b.sees(".ask .model", "rehearsal")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.click(".rows button", "Set key")
	b.write(".key-form input", "sk-office")
	b.click(".key-form button", "Save and test")
	b.sees(".rows .chip", "answers")
	b.toasted("stub-1 answers from now on.") // which is its only one
	b.toasted("Saved in troupe.yaml")
	b.sees(".list", "$8")
	for line := range strings.Lines(written) {
		if !strings.Contains(h.read(t, "troupe.yaml"), line) {
			t.Errorf("troupe.yaml has lost %q", line)
		}
	}
	b.click(".side nav a", "Home")
	b.sees(".ask .model", "stub-1")
	b.write(".ask textarea", "Where do we keep orders?")
	b.click(".ask button", "Send")
	b.sees(answers, "Type “Think a decision through in four questions, and write it down” to think it through.")
	b.sees(".bar .model", "stub-1")

	b.holds("find('.composer button', 'Send')")
	b.say("Think it through")
	b.holds("find('.asks .choice')")
	b.click(".side nav a", "Home")
	b.sees(".waits .card", "Which way should it be?")
	value[any](b, `void ((ask) => { globalThis.fetch = (path, options) => String(path).endsWith("/answers") ? new Promise((resolve) => (globalThis.takes = () => resolve(new Response("{}")))) : ask(path, options); })(globalThis.fetch)`)
	b.click(".waits button", "SQLite")
	b.sees(".waits .card", "Sending…") // it is not given before it was taken
	b.holds("find('.waits button', 'SQLite').disabled")
	value[any](b, "void takes()") // and goes before the stream says so
	b.lacks(".waits", "Which way should it be?")
}

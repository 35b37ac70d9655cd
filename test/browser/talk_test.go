package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestACommandLeadsThroughItsQuestionsToTheSavedDocument(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.sees(".agent", "Mira")
	b.sees(".agent", "Friendly Sceptic")
	b.lacks("main", "*decide") // triggers are for machines
	b.picture("agents")
	b.click(".agent .does button", "decision")
	b.sees(answers, "What are you trying to decide?")
	b.sees(said, "Think a decision through")
	b.holds("find('.side .item[data-status=waiting]')") // a word on how to answer does not make it no question
	if address := value[string](b, "location.href"); strings.Contains(address, "token") {
		t.Errorf("the token is still in the address: %s", address)
	}
	for _, step := range []struct{ answer, next string }{
		{"Which database to use", "Which options do you see?"},
		{"SQLite, or Postgres", "What must be true of a good choice"},
		{"It runs without an operator", "Which option do you choose"},
		{"SQLite, until we need two machines", "“Have Bruno look at it”"}, // what the agent calls *second-opinion
	} {
		b.say(step.answer)
		b.sees(answers, step.next)
	}
	b.holds("find(%s).value === ''", composer)
	b.holds("find('.side .item[data-status=completed]')")
	b.picture("conversation")
	b.click(".doc button", "Which database to use")
	b.sees(".panel .prose", "Which database to use")
	b.picture("document-rendered")
	address := value[string](b, "location.hash")
	b.do(chromedp.Reload()) // the place survives
	b.sees(".panel .prose", "Which database to use")
	b.click(".panel button", "Source")
	b.sees(".panel .listing", "# ")
	b.picture("document-source")
	b.click(".panel button", "All files")
	b.sees(".panel .recent", "decision-")
	b.lacks(".panel .recent", "manifest.json")
	value[any](b, "void history.back()")
	b.holds("location.hash === %s", address)
	b.sees(".panel .prose", "Which database to use")
	b.click(".panel button", "Close")
	b.lacks(".panel", "")
}

// begin opens a conversation with an agent of the test's project.
func begin(t *testing.T, link, agent string) *tab {
	t.Helper()
	b := open(t, link)
	b.click(".agent header button", agent)
	b.sees(".beginning h2", agent)
	return b
}

func TestACallIsMadeAsItWasShownOrNotAtAll(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	arguments := map[string]any{"file_path": "{session-folder}/guarded.md", "content": "Pay 1.\nTo \u202efdp.exe"}

	b.say("Write it down")
	m.calls(t, "write_file", arguments)
	b.sees("[aria-label=Approval]", "clerk asks before doing this")
	b.sees("[aria-label=Approval]", "Save guarded.md?")
	b.sees("[aria-label='What will be done']", "To [U+202E]fdp.exe")
	b.click("[aria-label=Approval] summary", "Show exactly")
	b.sees("[aria-label='Exact arguments']", `"file_path": "{session-folder}/guarded.md"`)
	b.sees("[aria-label='Exact arguments']", `"content": "Pay 1.\nTo \u{202e}fdp.exe"`)
	b.picture("approval")
	b.click("[aria-label=Approval] button", "Do not allow")
	if a := m.asked(t); !strings.Contains(a.last, "no") {
		t.Errorf("the model was told %q", a.last)
	} else {
		a.say("Then not.")
		a.end()
	}
	b.reads(answers, "Then not.")
	b.lacks("[aria-label=Approval]", "")
	if files, _ := filepath.Glob(filepath.Join(h.dir, "data/agent-outputs/*/guarded.md")); len(files) > 0 {
		t.Errorf("a call that was denied was made: %v", files)
	}

	b.say("Do write it down")
	m.calls(t, "write_file", arguments)
	b.click("[aria-label=Approval] button", "Allow once")
	m.answers(t, "Written.")
	b.reads(answers, "Then not.", "Written.")
	b.sees(".doc", "guarded.md")
	files, _ := filepath.Glob(filepath.Join(h.dir, "data/agent-outputs/*/guarded.md"))
	if len(files) != 1 {
		t.Fatalf("the call that was approved wrote %v", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != arguments["content"] {
		t.Errorf("it wrote %q, %v", data, err)
	}
}

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent saves in a directory that it was granted is read beside the conversation, compared
// and found like other files, and changed where it is: the page has no button for that.
func TestAFileInAGrantedDirectoryIsOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := project(t, map[string]string{
		"troupe.yaml": strings.Replace(`model: stub/stub-1
providers: {stub: {base_url: URL, models: {stub-1: {}}}}
limits: {model_tries: 1}
agents: {writer: {instructions: You write., tools: [write_file], write: {handbook: ./docs}}}
`, "URL", m.URL+"/v1", 1),
		"docs/keep.md": "# Keep\n",
	})
	b := begin(t, serve(t, dir).link, "writer")
	b.say("Write of otters")
	m.calls(t, "write_file", map[string]any{"file_path": "{handbook}/otters.md", "content": "# Otters\n\nThey swim.\n\n- [ ] feed them\n"})
	m.answers(t, "Written.")
	b.sees(answers, "Written.")
	b.sees(".doc", "otters.md · version 1")
	b.sees(".doc .line > .cut", "· handbook")
	b.say("They dive, too")
	m.calls(t, "write_file", map[string]any{"file_path": "{handbook}/otters.md", "content": "# Otters\n\nThey swim and dive.\n\n- [ ] feed them\n"})
	m.answers(t, "Now they dive.")
	b.sees(answers, "Now they dive.")
	b.lacks("body", "{")

	value[any](b, "void all('.doc button').at(-1).click()")
	b.sees(".panel .sheet", "They swim and dive.")
	b.sees(".panel .bar .folder", "handbook")
	b.sees(".panel .bar .folder + .cut", "otters.md")
	b.holds("find('.panel .sheet input[type=checkbox]').disabled && !find('.panel [aria-label=Edit]')")
	b.click(".panel .seg button", "Changes")
	b.sees(".panel .sheet ins", "and dive")
	b.chooses(".panel .pick.desk-only select", "1")
	b.click(".panel .seg button", "Read")
	b.sees(".panel .sheet", "They swim.")
	b.holds("![...document.querySelectorAll('.panel button')].some((b) => b.innerText.includes('Bring back'))")

	b.chooses(".panel .pick.desk-only select", "2")
	b.sees(".panel .sheet", "They swim and dive.")
	if err := os.WriteFile(filepath.Join(dir, "docs", "otters.md"), []byte("# Otters\n\nThey sleep.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	value[any](b, "void dispatchEvent(new Event('focus'))") // as when somebody comes back from their editor
	b.sees(".panel .sheet", "They sleep.")
	value[any](b, "void (location.hash = '#/files?q=sleep')")
	b.sees(".library .talks", "handbook / otters.md")
	b.click(".library .talks tr[tabindex]", "Otters")
	b.sees(".glance", "They sleep.")
	b.lacks("body", "keep.md")

	// It stays when its conversation is deleted; and that it was read is nothing that was written there.
	b.click(".side .item", "Write of otters")
	b.sees(answers, "Now they dive.")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.toasted("“Write of otters” deleted")
	b.holds("!globalThis.toastsSeen.some((said) => said.includes('with its file'))")
	b.click(".toast button", "Dismiss")
	b.at("#/files")
	b.sees("main", "No file was saved yet")
	b.lacks(".toast", "is not deleted")
	if _, err := os.Stat(filepath.Join(dir, "docs", "otters.md")); err != nil {
		t.Error(err)
	}
}

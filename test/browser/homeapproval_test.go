package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// homeApproval is the card on the first screen of a call that waits for a yes.
const homeApproval = "[aria-label='Waiting for you'] article"

// What waits for a yes is given it on the first screen: whole, decoded and as plain text,
// page by page where it is long, and only what was shown is done.
func TestAnApprovalIsGivenOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	var content strings.Builder
	content.WriteString("# Minutes <b>of</b> *November*\nTo \u202efdp.exe\n")
	for i := range 400 {
		fmt.Fprintf(&content, "%d. The supplier was discussed.\n", i+1)
	}
	content.WriteString("The very last line.\n")
	arguments := map[string]any{"content": content.String(), "file_path": "{session-folder}/minutes/guarded.md"}
	b.say("Write it down")
	m.calls(t, "write_file", arguments)
	b.sees("[aria-label=Approval]", "Save guarded.md?")

	b.click(".side nav a", "Home")
	shown := homeApproval + " [aria-label='What will be done']"
	b.sees(shown, "# Minutes <b>of</b> *November*") // as plain text
	b.sees(shown, "To [U+202E]fdp.exe")
	b.sees(shown, "File: this conversation / minutes/guarded.md") // where it goes is seen first
	b.lacks(shown, "The very last line.")
	b.picture("home-approval")
	b.holds("find(%s).dataset.more === 'true'", shown) // that there is more is seen
	b.click(homeApproval+" button", "Show the whole page")
	b.holds("((box) => box.scrollHeight === box.clientHeight && box.dataset.more === 'false')(find(%s))", shown)
	b.click(homeApproval+" button", "Show less")
	b.holds("find(%s).scrollTop = 1e6", shown)
	b.holds("find(%s).dataset.more === 'false'", shown)
	for b.sees(homeApproval, "Next page"); !value[bool](b, "find(%s).innerText.includes('The very last line.')", shown); {
		b.click(homeApproval+" .exact-sent:not(details) .pages button", "Next page")
	}
	b.click(homeApproval+" summary", "Show exactly what is sent")
	b.sees(homeApproval+" [aria-label='Exact arguments']", `"content": "# Minutes <b>of</b> *November*\nTo \u{202e}fdp.exe`)

	b.click(homeApproval+" button", "Allow once")
	m.answers(t, "Written.")
	b.lacks(homeApproval, "")
	b.holds("find('.side .item[data-status=completed]')")
	files, _ := filepath.Glob(filepath.Join(h.dir, "data/agent-outputs/*/minutes/guarded.md"))
	if len(files) != 1 {
		t.Fatalf("the call that was approved wrote %v", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != content.String() {
		t.Errorf("it wrote %q, %v", data, err)
	}

	b.click(".side .item", "Write it down")
	b.say("Once more")
	m.calls(t, "write_file", arguments)
	b.click(".side nav a", "Home")
	b.sees(homeApproval, "A version is there already")
	b.click(homeApproval+" button", "Do not allow")
	m.answers(t, "Then not.")
	b.lacks(homeApproval, "")
}

// In a flow it is the agent at work that asks, and not the flow.
func TestAnApprovalInAFlowNamesWhoAsks(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	session := h.runs(t, "review", "Write it down")
	m.calls(t, "write_file", map[string]any{"content": "All night.", "file_path": "{session-folder}/guarded.md"})
	b.sees(homeApproval, "clerk asks before doing something")
	b.sees(homeApproval, "clerk wants to save guarded.md")
	b.lacks(homeApproval, "review wants")
	b.looksAt(session, "")
	b.sees("[aria-label=Approval]", "clerk wants to save guarded.md")
	b.looksAt(session, "flow")
	b.sees(".node[data-state=wait]", "clerk")
	value[any](b, "void (location.hash = '#/')")
	b.click(homeApproval+" button", "Allow once")
	b.toasted("You allowed clerk to save guarded.md")
	m.answers(t, "Written.")
	m.answers(t, "Good.")
	b.lacks(homeApproval, "")
}

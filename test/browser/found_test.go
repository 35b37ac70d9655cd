package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// What is found inside a conversation or a file is quoted, with the words marked, while they are
// still being typed.
func TestWhatWasFoundIsQuoted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	b := begin(t, h.link, "Ada")
	b.say("One bank or three?")
	m.answers(t, "That depends.\n\n- On Sundays **one bank** of lockers is not enough.")
	b.sees(answers, "On Sundays")
	h.begins(t, "ben", "Write the plan")
	saves(t, m, "{planning_artifacts}/plan.md", "# The plan\n\nThe lockers come in May.\n", "It is written.")
	b.sees("body", "Write the plan")
	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "locker")
	b.sees(".finder [aria-label=Conversations] .opt", "One bank or three?\n“On Sundays one bank of lockers is not enough.”")
	b.sees(".finder [aria-label=Conversations] small b", "locker")
	b.sees(".finder [aria-label=Files] .opt", "The plan\n“The lockers come in May.”")
	b.sees(".finder [aria-label=Files] small b", "locker")
	b.write(".finder input", "bank sundays")
	b.sees(".finder small", "“On Sundays one bank of lockers is not enough.”")
	b.holds("all('.finder small b').map((e) => e.innerText).join() === 'Sundays,bank'")
	b.press(kb.Escape)
	b.at("#/files?q=lockers")
	b.sees(".library tr", "“The lockers come in May.”")
	b.sees(".library tr b", "lockers")
}

// A row of files says each thing once: a file that is shown by its own name has only its folder
// below, and the rows are still of one height.
func TestARowOfFilesSaysANameOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	h.begins(t, "ada", "Write three")
	for path, text := range map[string]string{"figures.csv": "a,b\n1,2\n", "notes.md": "No heading.\n", "brief.md": "# Lockers\n", "sub/hours.csv": "a,b\n", "{planning_artifacts}/prices.csv": "a,b\n"} {
		m.calls(t, "save_output", map[string]any{"file_path": path, "content": text})
	}
	m.answers(t, "All are written.")
	b := open(t, h.link)
	b.at("#/files")
	for name, row := range map[string]string{"figures.csv": "figures.csv", "Notes": "Notes", "Lockers": "Lockers\nbrief.md", "hours.csv": "hours.csv\nsub", "prices.csv": "prices.csv\nplanning"} {
		b.sees(".library tr .strong", name)
		b.holds("find('.library tr td:nth-child(2)', %s).innerText.trim() === %s", name, row)
	}
	b.holds("new Set(all('.library tr[tabindex]').map((e) => e.getBoundingClientRect().height)).size === 1")
	b.click(".library tr .strong", "figures.csv")
	b.sees(".glance h2", "figures.csv")
	b.holds("find('.glance p.small').innerText.startsWith('8 B')")
}

// A row of files that goes, or is scrolled away, leaves the focus to the one in its place, the last
// one to the heading of its list.
func TestAFileThatGoesLeavesTheFocusToTheNext(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	sessions := map[string]string{}
	for _, name := range []string{"one.md", "two.md", "three.md"} {
		sessions[name] = h.begins(t, "ada", "Write "+name)
		saves(t, m, name, "Words.\n", "It is written.")
	}
	b := open(t, h.link)
	b.at("#/files")
	b.sees(".library tr", "One")
	const row = "document.activeElement.querySelector('.strong')?.innerText === %s"
	value[any](b, "find('.library tr[tabindex]').focus()")
	b.press("j")
	b.holds(row, "Two")
	h.must(t, "DELETE", "/api/sessions/"+sessions["two.md"], nil)
	b.lacks(".library tr", "Two")
	b.holds(row, "One")
	h.must(t, "DELETE", "/api/sessions/"+sessions["one.md"], nil)
	b.lacks(".library tr", "One")
	b.holds(row, "Three")
	h.must(t, "DELETE", "/api/sessions/"+sessions["three.md"], nil)
	b.sees(".library", "No file was saved yet.")
	b.holds("document.activeElement.innerText === 'From conversations'")
}

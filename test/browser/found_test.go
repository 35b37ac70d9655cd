package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
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
	b.sees(".finder [aria-label=Files] .opt", "The plan\nplanning / plan.md\n“The lockers come in May.”")
	b.sees(".finder [aria-label=Files] small b", "locker")
	b.write(".finder input", "bank sundays")
	b.sees(".finder small", "“On Sundays one bank of lockers is not enough.”")
	b.holds("all('.finder small b').map((e) => e.innerText).join() === 'Sundays,bank'")
	b.press(kb.Escape)
	b.at("#/files?q=lockers")
	b.sees(".library tr", "plan.md · “The lockers come in May.”")
	b.sees(".library tr b", "lockers")
}

// Of each kind of thing that is found a few are shown, so that all kinds are in view, and the rest on
// demand, by key, too.
func TestEachKindThatIsFoundIsInView(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	for n := range 6 {
		h.begins(t, "ada", fmt.Sprintf("Write brief %d", n))
		saves(t, m, fmt.Sprintf("{planning_artifacts}/brief-%d.md", n), "# Brief\n\nA brief.\n", "It is written.")
	}
	b := open(t, h.link)
	b.sees(".side", "Write brief 5")
	b.click(".side .find button", "Find anything")
	b.write(".finder input", "brief")
	b.holds("all('.finder [role=group]').map((e) => e.querySelectorAll('.opt').length).join() === '4,4,2'")
	b.holds("find('.finder').scrollHeight <= find('.finder').clientHeight + 1")
	for range 3 {
		b.press(kb.ArrowDown)
	}
	b.sees(".finder [aria-selected=true]", "3 more")
	b.press(kb.Enter)
	b.holds("find('.finder [aria-label=Conversations]').querySelectorAll('.opt').length === 6 && find('.finder [aria-selected=true]').innerText.includes('Write brief')")
	b.click(".finder [aria-label=Files] .opt", "3 more")
	b.holds("find('.finder [aria-label=Files]').querySelectorAll('.opt').length === 6")
}

// A row of files says each thing once: a file that is shown by its whole name has only its folder
// below, one without its ending the name with it, which tells it from others, and the rows are still of one height.
func TestARowOfFilesSaysANameOnce(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	h.begins(t, "ada", "Write three")
	for path, text := range map[string]string{"figures.csv": "a,b\n1,2\n", "notes.md": "No heading.\n", "notes.txt": "No heading.\n", "brief.md": "# Lockers\n", "sub/hours.csv": "a,b\n", "{planning_artifacts}/prices.csv": "a,b\n"} {
		m.calls(t, "save_output", map[string]any{"file_path": path, "content": text})
	}
	m.answers(t, "All are written.")
	b := open(t, h.link)
	b.at("#/files")
	b.holds("all('.library tr td:nth-child(2)').map((e) => e.innerText.trim()).filter((text) => text.startsWith('Notes')).sort().join() === 'Notes\\nnotes.md,Notes\\nnotes.txt'")
	for name, row := range map[string]string{"figures.csv": "figures.csv", "Lockers": "Lockers\nbrief.md", "hours.csv": "hours.csv\nsub", "prices.csv": "prices.csv\nplanning"} {
		b.sees(".library tr .strong", name)
		b.holds("find('.library tr td:nth-child(2)', %s).innerText.trim() === %s", name, row)
	}
	b.holds("new Set(all('.library tr[tabindex]').map((e) => e.getBoundingClientRect().height)).size === 1")
	b.do(chromedp.EmulateViewport(390, 800)) // where the column with the conversation has no place
	b.holds("all('.library table:last-of-type tr[tabindex] td:nth-child(2)').every((e) => e.innerText.includes('\\nWrite three, '))")
	b.holds("new Set(all('.library table:last-of-type tr[tabindex]').map((e) => e.getBoundingClientRect().height)).size === 1")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.click(".library tr .strong", "figures.csv")
	b.sees(".glance h2", "figures.csv")
	b.holds("find('.glance p.small').innerText.startsWith('8 B')")
}

// Files of one name are told apart by their conversations: where they are found, and where they
// are compared.
func TestFilesOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	written := map[string]string{"The first": "The lockers of May.", "The second": "The lockers of June."}
	for title, line := range written {
		h.begins(t, "ada", title)
		saves(t, m, "b.md", line+"\n", "It is written.")
	}
	b := open(t, h.link)
	b.at("#/files")
	b.holds("all('.library [aria-label=\"Choose b.md\"]').length === 2")
	value[any](b, "void all('.library [aria-label=\"Choose b.md\"]').forEach((e) => e.click())")
	b.click(".chosen button", "Compare")
	b.holds("['B from “The first” and B from “The second”', 'B from “The second” and B from “The first”'].includes(find('.compare h3').innerText)")
	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "lockers")
	for title, line := range written {
		b.sees(".finder [aria-label=Files] .opt", "B\nb.md · "+title+"\n“"+line+"”")
		b.sees(".finder [aria-label=Conversations] .opt", title+"\n“"+line+"”")
	}
}

// A file has the mark of what waits if somebody asks about it, and has their name: not because
// something else is asked in its conversation.
func TestAFileIsMarkedWhereItIsAskedAbout(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the writer", []reply{savesOnce("writer"), {text: "Saved."}, savesOnce("other"), {text: "Saved."}, savesOnce("writer")}})
	h, b := m.servesTwo(t)
	session := h.runs(t, "writer", "Write")
	b.looksAt(session, "")
	b.presses(approval+" button", "Allow once")
	b.sees(answers, "Saved.")
	b.say("Another one")
	b.sees(approval, "other.md")
	b.at("#/files")
	b.sees(".library tr", "writer.md")
	b.lacks(".library .chip.spot", "")
	b.looksAt(session, "")
	b.presses(approval+" button", "Allow once")
	b.lacks(approval, "")
	b.say("The first again")
	b.sees(approval, "writer.md")
	b.at("#/files")
	b.sees(".library tr:has(.spot)", "writer.md")
	b.holds("all('.library .chip.spot').map((e) => e.innerText).join() === 'writer asks'")
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
	b.sees(".library", "No file was saved yet")
	b.holds("document.activeElement.innerText === 'No file was saved yet'")
}

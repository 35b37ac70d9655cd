package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestConversationsAreFoundRenamedAndDeleted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	for _, talk := range []struct{ message, answer string }{{"About stripes", "A zebra has them."}, {"About spots", "A leopard has them."}} {
		b.click(".side nav a", "Home")
		b.click(".agent header button", "clerk")
		b.say(talk.message)
		m.answers(t, talk.answer)
		b.reads(answers, talk.answer)
	}
	b.holds("all('.side .item .cut').map((e) => e.innerText).join() === 'About spots,About stripes'")

	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "zebra")
	b.sees(".finder [role=option]", "About stripes")
	b.lacks(".finder [role=option]", "About spots")
	b.write(".finder input", "elephant")
	b.sees(".finder", "Nothing was found.")
	b.picture("find")
	b.write(".finder input", "spots")
	b.sees(".finder [role=option][aria-selected=true]", "About spots")
	b.press(kb.Enter)
	b.reads(answers, "A leopard has them.")
	b.click(".side .item", "About stripes")
	b.reads(answers, "A zebra has them.")

	b.click(".bar button", "More")
	b.click(".pop button", "Rename")
	b.write("#new-title", "Herds")
	b.press(kb.Enter)
	b.sees(".side .item", "Herds")
	b.holds("document.title.startsWith('Herds')")

	b.click(".bar button", "More")
	// It stays for as long as it has the focus, however slow whoever looks at it is.
	value[any](b, "void new MutationObserver(() => find('.toast button', 'Undo')?.focus()).observe(document.body, { childList: true, subtree: true })")
	b.click(".pop button", "Delete")
	b.sees(".toast", "“Herds” deleted")
	b.sees("h1", "Who would you like to work with?")
	b.click(".toast button", "Undo")
	b.click(".side .item", "Herds")
	b.reads(answers, "A zebra has them.")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.lacks(".side .item", "Herds")
	b.do(chromedp.Reload()) // a tab that is left does not wait
	b.sees(".agent", "clerk")
	b.holds("all('.side .item .cut').map((e) => e.innerText).join() === 'About spots'")
	eventually(t, func() error {
		folders, err := filepath.Glob(filepath.Join(h.dir, "data", "agent-outputs", "[^.]*"))
		if err == nil && len(folders) > 1 {
			err = fmt.Errorf("what is left of two conversations after one was deleted: %v", folders)
		}
		return err
	})
}

// A conversation that is deleted while its agent works is stopped at once, the toast says which
// files go along, and leaving the page takes it away for good.
func TestDeletingARunningConversationStopsItAndSaysWhatGoesAlong(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Write it down")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Brief\n"})
	a := m.asked(t)
	a.say("One moment")
	b.sees(answers, "One moment")
	remove := func() {
		value[any](b, "void new MutationObserver(() => find('.toast button', 'Undo')?.focus()).observe(document.body, { childList: true, subtree: true })")
		b.click(".bar button", "More")
		b.click(".pop button", "Delete")
	}
	remove()
	b.toasted("“Write it down” stopped and deleted, with its file brief.md")
	a.isLeft()
	b.lacks(".side .item", "Write it down")
	b.picture("deleted-with-a-file")
	b.click(".toast button", "Undo")
	b.click(".side .item", "Write it down")
	b.sees(".docs", "brief.md")

	b.say("And more")
	a = m.asked(t)
	a.say("Yet another moment")
	b.sees(answers, "Yet another moment")
	remove()
	b.sees(".toast", "stopped and deleted")
	b.do(chromedp.Reload())
	b.sees(".agent", "clerk")
	a.isLeft()
	eventually(t, func() error {
		if list := h.get(t, "/api/sessions"); list != "[]\n" && list != "[]" {
			return fmt.Errorf("what is left after the one conversation was deleted: %s", list)
		}
		return nil
	})
	b.lacks(".side .item", "Write it down")
}

// While a deletion can still be undone, nothing shows what goes with it, and whoever opens the
// conversation all the same has it back: what is written there then must not be lost.
func TestOpeningWhatIsBeingDeletedBringsItBack(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Write it down")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Brief\n"})
	m.answers(t, "It is written.")
	b.reads(answers, "It is written.")
	place := value[string](b, "location.hash")
	b.click(".side nav a", "Home")
	b.sees(".recent", "brief.md")
	b.click(".side nav a", "Files")
	b.sees(".library", "Brief")

	b.at(place)
	b.reads(answers, "It is written.") // all of it is there, and moves no more
	// However slow whoever looks at it is, the time to undo it is not over.
	value[any](b, "void (() => { const wait = setTimeout; window.setTimeout = (what, ms, ...more) => (ms === 10_000 ? 0 : wait(what, ms, ...more)) })()")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.sees(".toast", "deleted, with its file brief.md")
	b.sees("h1", "Who would you like to work with?")
	b.lacks(".recent", "brief.md")
	b.click(".side nav a", "Files")
	b.sees(".library", "No file was saved yet")
	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "brief")
	b.sees(".finder", "Nothing was found.")
	b.press(kb.Escape)

	b.at(place)
	b.toasted("“Write it down” is not deleted: you opened it again")
	b.lacks(".toast button", "Undo")
	b.sees(".side .item", "Write it down")
	b.say("And more")
	m.answers(t, "More of it.")
	b.sees(answers, "More of it.")
	b.click(".side nav a", "Files")
	b.sees(".library", "Brief")
	b.do(chromedp.Reload()) // which takes away for good what is being deleted
	b.sees(".library", "Brief")
	b.click(".side .item", "Write it down")
	b.reads(answers, "It is written.", "More of it.")
}

// A conversation that somebody writes in while its deletion can still be undone, in another tab,
// is not deleted when the time is over: nobody has seen what would go with it.
func TestWhatIsWrittenInAnotherTabIsNotDeleted(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Write it down")
	m.answers(t, "It is written.")
	b.reads(answers, "It is written.")
	place := value[string](b, "location.hash")
	ctx, cancel := chromedp.NewContext(b.ctx) // another tab of the same browser
	t.Cleanup(cancel)
	other := &tab{t: t, ctx: ctx}
	origin, _, _ := strings.Cut(h.link, "#")
	other.do(chromedp.Navigate(origin + place))
	other.reads(answers, "It is written.")

	// The time to undo it is over when the test says so.
	value[any](b, "void (() => { const wait = setTimeout; window.setTimeout = (what, ms, ...more) => (ms === 10_000 ? ((window.overdue = what), 0) : wait(what, ms, ...more)) })()")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.sees(".toast", "“Write it down” deleted")
	other.say("And more")
	m.answers(t, "More of it.")
	other.reads(answers, "It is written.", "More of it.")
	value[any](b, "void overdue()")
	b.toasted("“Write it down” is not deleted: something was written in it meanwhile")
	b.click(".side .item", "Write it down")
	b.reads(answers, "It is written.", "More of it.")
}

// What the stream has told of a conversation is newer than an answer that was asked for before
// and comes after it.
func TestALateAnswerDoesNotBringBackThatAConversationRuns(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	id := h.begins(t, "clerk", "Count slowly")
	a := m.asked(t)
	a.say("One")
	b.holds("find('.side .item .spin')")
	value[any](b, `void (globalThis.inTime = fetch, globalThis.fetch = (address, ...more) => inTime(address, ...more).then((answer) =>
		(!globalThis.release && String(address).endsWith("api/sessions/" + %s) ? new Promise((on) => (globalThis.release = () => on(answer))) : answer)))`, id)
	value[any](b, "void (location.hash = '#/s/' + %s)", id)
	b.sees(answers, "One")
	b.holds("globalThis.release")
	h.post(t, "/api/sessions/"+id+"/cancel", nil)
	b.holds("find('.side .item') && !find('.side .item .spin')")
	value[any](b, "void (globalThis.fetch = inTime, release(), inTime('api/me').then((answer) => answer.json()).then(() => (globalThis.isLater = true)))")
	b.holds("globalThis.isLater")
	if status := value[string](b, "find('.side .item').dataset.status"); status != "cancelled" {
		t.Errorf("a conversation that was stopped is %s in the side bar", status)
	}
}

// An answer that ends in the moment in which its conversation is left was seen, though nobody had
// told the page yet that it is new.
func TestAnAnswerThatEndsAsItIsLeftWasSeen(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, `void ((parse) => (JSON.parse = (...given) => {
		const news = parse(...given);
		if (news?.session?.unseen) news.session.unseen = false;
		return news;
	}))(JSON.parse)`)
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	b.holds("find('.flow[aria-busy=false]')")
	value[any](b, "void (location.hash = '#/')")
	b.holds("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/seen'))")
	value[any](b, "void (globalThis.before = true, location.reload())")
	b.holds("!globalThis.before && find('.side .item', 'One')")
	b.lacks(".side .item", "New")
}

package browser

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// inView says that an element is wholly within what its telephone shows.
const inView = `((e) => { const r = e?.getBoundingClientRect(); return !!r && r.width > 0 && r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth && e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)); })`

// On the narrowest phone it is still said who begins; a sheet covers what is behind it, and a tap there
// closes it and does nothing else; and what is not here any more leads back.
func TestAPhoneSaysWhoBeginsAndCoversWhatIsBehindASheet(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Say it", []reply{{text: "It is said."}}})
	h := play(t, m)
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(320, 640))
	b.sees(".agent", "clerk")
	b.holds("((e) => e.innerText === 'clerk' && e.scrollWidth <= e.clientWidth && e.clientWidth > 20)(all('.ask .pick > span:not(.face)')[0])")
	const covered = "document.elementFromPoint(160, 40).closest(%s) && !document.elementFromPoint(160, 40).closest('h1, .brand, .page, .flow')"
	b.do(chromedp.EmulateViewport(390, 700))
	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "Say it"))
	b.sees(".turn .prose", "It is said.")
	b.presses(".composer .model", "")
	b.holds("find('.models') && innerHeight - find('.models').getBoundingClientRect().bottom === 8 && "+covered, ".composer")
	b.draws() // who opens it looks, before
	b.do(chromedp.MouseClickXY(160, 40))
	b.lacks(".models", "")
	b.presses(".bar button", "More")
	b.holds("find('.pop.right') && "+covered, ".bar")
	b.draws() // who opens it looks, before
	b.do(chromedp.MouseClickXY(160, 40))
	b.lacks(".pop.right", "")

	b.at("#/s/00000000-0000-4000-8000-000000000000")
	b.sees(".trouble", "not here any more")
	b.click(".bar a", "Back")
	b.sees("h1", "Who would you like to work with?")
}

// On a phone, what answers a question stays in view however long the question is, tables
// of little fit, and nothing that can be done elsewhere is missing.
func TestAPhoneHasWhatActsInView(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	long := strings.Repeat("One bank is the cheapest that works, and is full on 41 nights. ", 12)
	m.directed(t,
		script{"Which way", []reply{{text: "There is much to be said.\n\n" + strings.Repeat("A line of it.\n\n", 10) + "Which way should it be?\n\n1. One bank: " + long + "\n2. Two banks: " + long}}},
		script{"Count the hours", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/hours.csv", "content": "hour,returns\n18,31\n19,44\n"}}, {text: arabicText}}},
		script{"Guarded and long", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/guarded.md", "content": strings.Repeat("All night, every night.\n", 80)}}}},
		script{"Say which licences", []reply{{text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}}},
	)
	h := play(t, m)
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(390, 844))

	// Whoever flings past the beginning of the card, before it was drawn once, has passed it.
	value[any](b, "void new MutationObserver((_, seen) => { const card = document.querySelector('.asks .choice'); const fling = (left) => { document.querySelector('.asks .choice')?.scrollIntoView({ block: 'start' }); if (left) requestAnimationFrame(() => fling(left - 1)); }; if (card) seen.disconnect(), fling(20); }).observe(document.body, { childList: true, subtree: true })")
	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "Which way?"))
	b.holds("find('.asks .choice')")
	b.holds(inView + "(find('.needs button', 'Answer')) && " + inView + "(find('.needs button', 'decide'))")
	b.holds("document.documentElement.scrollHeight === innerHeight && " + inView + "(find('.bar h1'))") // only the conversation scrolls
	b.picture("phone-question")

	value[any](b, "void (location.hash = '#/s/' + %s)", h.asks(t, "clerk", "", "Guarded and long"))
	b.holds("find('[aria-label=Approval]')")
	value[any](b, "void find('[aria-label=Approval] h3').scrollIntoView({ block: 'start' })")
	for _, name := range []string{"Allow once", "Allow in this conversation", "Do not allow"} {
		b.holds(inView+"(find('.needs button', %s))", name)
	}
	b.picture("phone-approval")

	hours := h.asks(t, "clerk", "", "Count the hours")
	value[any](b, "void (location.hash = '#/s/' + %s + '?file=hours.csv')", hours)
	b.holds("find('.sheet-table th', 'returns')")
	b.holds(inView + "(find('.sheet-table th', 'returns'))")
	value[any](b, "void (location.hash = '#/s/' + %s)", hours)
	b.holds("find('.turn td')")
	// Text from right to left begins at the right.
	b.holds(`(() => { const cell = find('.turn tbody td'), words = document.createRange(); words.selectNodeContents(cell); return getComputedStyle(cell).direction === 'rtl' && cell.closest('table').getBoundingClientRect().right - words.getBoundingClientRect().right < 20; })()`)

	value[any](b, "void (location.hash = '#/files')")
	b.holds("find('.library td', 'hours.csv').offsetWidth > 260 && find('.bar h1').offsetHeight < 40 && find('.bar .search').offsetWidth > 300")
	b.picture("phone-files")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.holds("find('.list th', 'Out / million') && find('.list td', '$8.00')")
	value[any](b, "void (location.hash = '#/settings/look')")
	b.holds("find('.tabbar [aria-current]')?.innerText === 'More'")                                                                                                    // which leads there
	b.holds("Math.abs(find('.rows [role=switch]').getBoundingClientRect().top - find('.rows [role=switch]').previousElementSibling.getBoundingClientRect().top) < 40") // beside its words

	value[any](b, "void (location.hash = '#/deliveries')")
	b.write("#request", "Lockers")
	b.click("form button", "Deliver")
	b.holds(inView + "(find('.act button', 'Go on'))")
	// What it costs is not cut, whatever else is.
	b.holds("((row) => { const all = document.createRange(); all.selectNodeContents(row); return / · \\$[\\d.]+/.test(row.innerText) && all.getBoundingClientRect().right <= row.getBoundingClientRect().right + 1 && !row.innerText.includes('Delivery'); })(find('.bar .tiny'))")
	value[any](b, "void find('.needs button', 'Stop here').scrollIntoView({ block: 'center' })")
	b.holds(inView + "(find('.needs button', 'Stop here'))")
	b.click(".needs button", "Stop here")
	b.lacks(".needs", "")
}

// Of a dialog that is longer than a phone, its list scrolls: what closes it stays in view, away from
// its edge.
func TestALongDialogKeepsItsButtonsInView(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.sees(".agent", "Mira")
	for _, height := range []int64{844, 500, 320} {
		b.do(chromedp.EmulateViewport(390, height))
		b.holds("find('dialog[open]') || void document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))")
		b.holds(inView + "(find('dialog h2')) && " + inView + "(find('dialog button', 'Close'))")
		b.holds("find('dialog').getBoundingClientRect().bottom - find('dialog button', 'Close').getBoundingClientRect().bottom >= 20")
		value[any](b, "void find('dialog .keys div:last-child').scrollIntoView({ block: 'nearest' })")
		b.holds(inView + "(find('dialog .keys div:last-child')) && " + inView + "(find('dialog button', 'Close'))")
		b.picture("phone-keys-" + strconv.FormatInt(height, 10))
		b.presses("dialog button", "Close")
		b.lacks("dialog", "")
	}
}

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// written writes files to be attached.
func written(t *testing.T, names ...string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

const attached = ".attached li"

// What is attached and not sent is there when the page is opened again, as what is typed
// is, and goes to the model as it was.
func TestTheFilesOfADraftAreKept(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.choose(".composer input[type=file]", written(t, "one.md", "two.csv")...)
	b.holds("all(%s).length === 2", attached)
	b.write(composer, "Look at these")
	b.settled(2)
	b.do(chromedp.Reload())
	b.holds("find(%s).value === 'Look at these'", composer)
	b.sees(attached, "one.md")
	b.sees(attached, "two.csv")

	// What was taken away stays away.
	b.click(attached+" button", "Remove two.csv")
	b.settled(1)
	b.do(chromedp.Reload())
	b.sees(attached, "one.md")
	b.holds("all(%s).length === 1", attached)

	// On its way to the server it is kept, until that has it.
	value[any](b, `void ((ask) => { globalThis.fetch = (path, options) => String(path).endsWith("/messages") ? ((globalThis.isSent = true), new Promise(() => {})) : ask(path, options); })(globalThis.fetch)`)
	b.press(kb.Enter)
	b.holds("globalThis.isSent && find(%s).value === ''", composer)
	b.do(chromedp.Reload())
	b.holds("find(%s).value === 'Look at these'", composer)
	b.sees(attached, "one.md")
	b.click(".composer button", "Send")
	a := m.asked(t)
	if !strings.Contains(a.all, "content of one.md") || strings.Contains(a.all, "content of two.csv") {
		t.Errorf("the model was asked: %s", a.all)
	}
	a.say("One file.")
	a.end()
	b.reads(answers, "One file.")
	b.settled(0)
	b.do(chromedp.Reload())
	b.reads(answers, "One file.")
	b.holds("all(%s).length === 0 && find(%s).value === ''", attached, composer)
}

// settled waits until the browser has kept so many files of a draft.
func (b *tab) settled(files int) {
	b.t.Helper()
	b.holds(`(() => {
		const asked = indexedDB.open("troupe", 1);
		asked.onupgradeneeded = () => asked.transaction.abort(); // it is the page that makes it
		asked.onsuccess = () => {
			const got = asked.result.transaction("attached").objectStore("attached").getAll();
			got.onsuccess = () => ((window.keptFiles = got.result.flat().length), asked.result.close());
		};
		return window.keptFiles === %s;
	})()`, files)
}

// The first screen keeps them too, also over signing out, which says so.
func TestTheFilesOfTheFirstScreenAreKeptOverSigningOut(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	link := play(t, m).link
	b := open(t, link)
	b.sees(".agent", "clerk")
	b.choose(".ask input[type=file]", written(t, "one.md")...)
	b.sees(".ask "+attached, "one.md")
	b.write(".ask textarea", "Look at this")
	b.settled(1)
	value[any](b, "void (location.hash = '#/settings/look')")
	b.click(".rows button", "Sign out")
	b.sees("h1", "Welcome to Troupe")
	value[any](b, "void (location.href = %s)", link)
	value[any](b, "void (location.hash = '#/')")
	b.sees(".ask "+attached, "one.md")
	b.holds("find('.ask textarea').value === 'Look at this'")
	b.click(".ask button", "Send")
	if a := m.asked(t); !strings.Contains(a.all, "content of one.md") {
		t.Errorf("the model was asked: %s", a.all)
	} else {
		a.end()
	}
	b.settled(0)
}

// Where the browser has no room the file goes with the message all the same; that it
// would not outlive the page is said when it is attached, and that it did not when the
// page is there again.
func TestAFileThatCannotBeKeptIsNamed(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, `void (IDBObjectStore.prototype.put = () => { throw new DOMException("no room", "QuotaExceededError"); })`)
	b.choose(".composer input[type=file]", written(t, "one.md", "two.csv")...)
	b.toasted("one.md and two.csv cannot be kept in this browser. Should you load the page again before you send, attach them again.")
	b.holds("all(%s).length === 2", attached)
	b.do(chromedp.Reload())
	b.toasted("one.md and two.csv could not be kept in this browser. Attach them again.")
	b.holds("all(%s).length === 0", attached)
	b.do(chromedp.Reload()) // it is said once
	b.holds("find(%s)", composer)
	b.holds("all('.toast').length === 0 && !Object.keys(localStorage).some((key) => key.startsWith('troupe.attached.'))")
}

// Whoever edits what was said before finds what was in the box when they let it be.
func TestEditingPutsADraftAside(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Say first")
	m.answers(t, "The first answer.")
	b.reads(answers, "The first answer.")
	b.write(composer, "Half a thought")
	b.choose(".composer input[type=file]", written(t, "one.md")...)
	b.sees(attached, "one.md")
	b.presses(".said button", "Edit and try again")
	b.holds("find(%s).value === 'Say first' && all(%s).length === 0", composer, attached)
	b.click(".editing button", "Cancel")
	b.holds("find(%s).value === 'Half a thought'", composer)
	b.presses(".said button", "Edit and try again")
	b.holds("find(%s).value === 'Say first'", composer)
	b.write(composer, "Say second")
	b.do(chromedp.Reload()) // what is changed of it stays changed
	b.holds("find('.editing') && find(%s)?.value === 'Say second' && all(%s).length === 0 && (find(%s).focus(), true)", composer, attached, composer)
	b.press(kb.Escape)
	b.holds("!find('.editing') && find(%s).value === 'Half a thought'", composer)
	b.sees(attached, "one.md")
}

// readsFilesLate has the page that is loaded next wait for globalThis.release before it reads files.
const readsFilesLate = `(() => {
	if (!sessionStorage.getItem("late")) return;
	sessionStorage.removeItem("late");
	const open = IDBFactory.prototype.open, released = new Promise((release) => (globalThis.release = release));
	IDBFactory.prototype.open = function (...given) {
		const asked = {};
		released.then(() => {
			const real = open.apply(this, given);
			real.onsuccess = () => ((asked.result = real.result), asked.onsuccess());
		});
		return asked;
	};
})()`

// Whoever lets an edit be before the files that were put aside are read again has them still.
func TestAnEditThatEndsEarlyKeepsTheFiles(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Say first")
	m.answers(t, "The first answer.")
	b.reads(answers, "The first answer.")
	b.choose(".composer input[type=file]", written(t, "one.md")...)
	b.sees(attached, "one.md")
	b.settled(1)
	b.presses(".said button", "Edit and try again")
	b.holds("find(%s).value === 'Say first'", composer)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: readsFilesLate}); err != nil {
		t.Fatal(err)
	}
	value[any](b, "void sessionStorage.setItem('late', 'yes')")
	b.do(chromedp.Reload())
	b.holds("find('.editing') && find(%s)?.value === 'Say first' && (find(%s).focus(), true)", composer, composer)
	b.press(kb.Escape)
	b.holds("!find('.editing')")
	value[any](b, "void globalThis.release()")
	b.sees(attached, "one.md")
	b.do(chromedp.Reload())
	b.sees(attached, "one.md")
}

// What is changed by hand in a document, and what is half of an answer, are there when the
// page is opened again; a version that came meanwhile is not overwritten by them.
func TestWhatIsHalfWrittenElsewhereIsKept(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	m.directed(t, script{"Write it down", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Brief\n\nOne bank."}}, {text: "Saved. Is it for readers?\n\n1. Yes, for readers\n2. No, for the porter"}}},
		script{"And then", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Brief\n\nTwo banks."}}, {text: "Two."}}})
	b.say("Write it down")
	b.sees(".asks .choice", "Yes, for readers")
	b.click(".asks label", "Something else")
	b.write(".asks textarea", "For both, I think")
	b.do(chromedp.Reload())
	b.holds("find('.asks textarea')?.value === 'For both, I think'")

	b.presses(".doc button", "Brief")
	b.sees(".panel .prose", "One bank.")
	b.click(".panel button", "Edit")
	b.write(".editor textarea", "# Brief\n\nOne bank, by hand.")
	b.do(chromedp.Reload())
	b.holds("find('.editor textarea')?.value.includes('by hand')")
	h.asks(t, "clerk", value[string](b, "location.hash.match(/s\\/([^?]+)/)[1]"), "And then")
	b.holds("find('.panel .pick', 'Version 2')")
	b.sees(".clash", "clerk saved version 2 meanwhile")
	b.holds("find(%s)?.value === 'For both, I think'", composer) // what it was to answer is over
	b.holds("find('.editor textarea')?.value.includes('by hand')")
	b.click(".clash button", "Take version 2")
	b.sees(".panel .prose", "Two banks.")
	b.do(chromedp.Reload())
	b.sees(".panel .prose", "Two banks.")
}

// What is typed in a conversation that is deleted, perhaps in another tab, is not lost with it.
func TestADraftOutlivesItsConversation(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	b.write(composer, "Half a thought")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.sees(".toast", "deleted")
	value[any](b, "void (globalThis.before = true, location.reload())")
	b.holds("!globalThis.before && find('.ask textarea')?.value === 'Half a thought'")
}

// Two windows on one conversation: each keeps what was typed in it, whatever the other does, and
// what was in one that is closed is found by the next that is opened.
func TestTwoWindowsKeepEachItsOwnWords(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	other := b.beside(place)
	other.reads(answers, "First.")
	other.write(composer, "Typed in the other")
	b.front()
	b.holds("find(%s).value === ''", composer) // nobody else writes into it
	b.write(composer, "Typed in the first")
	for _, w := range []struct {
		*tab
		text string
	}{{other, "Typed in the other"}, {b, "Typed in the first"}} {
		w.front()
		w.do(chromedp.Reload())
		w.holds("find(%s)?.value === %s", composer, w.text)
	}

	// What is sent in one stays in the other.
	other.front()
	other.click(".composer button", "Send")
	m.answers(t, "Second.")
	other.reads(answers, "First.", "Second.")
	other.holds("find(%s).value === ''", composer)
	b.front()
	b.reads(answers, "First.", "Second.")
	b.holds("find(%s).value === 'Typed in the first'", composer)

	// One is closed whose words the other has written over.
	other.front()
	other.write(composer, "And last in the other")
	b.front()
	for range 2 { // which leaves nothing: it is there
		b.do(chromedp.Reload())
		b.holds("find(%s)?.value === 'Typed in the first'", composer)
	}
	value[any](b, "void (location.hash = '#/')")
	b.sees(".agent", "clerk")
	b.do(chromedp.Reload())
	b.sees(".agent", "clerk")
	value[any](b, "void (location.href = 'about:blank')")
	b.holds("location.href === 'about:blank'")
	third := b.beside(place)
	third.holds("find(%s)?.value === 'Typed in the first'", composer) // and nothing of the one that is open
	other.front()
	other.do(chromedp.Reload())
	other.holds("find(%s)?.value === 'And last in the other'", composer)
}

// What was typed last in a window that is closed is kept, though another one that has words of its
// own goes on.
func TestAWindowGoesOnBesideTheWordsOfAClosedOne(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	other := b.beside(place)
	other.reads(answers, "First.")
	other.write(composer, "Typed in the other")
	b.front()
	b.write(composer, "Typed in the first")
	value[any](b, "void (location.href = 'about:blank')")
	b.holds("location.href === 'about:blank'")
	other.front()
	other.write(composer, "And on in the other")
	third := other.beside(place)
	third.holds("find(%s)?.value === 'Typed in the first'", composer)

	// It is the third one's now, until that is closed, too.
	other.front()
	other.write(composer, "And last in the other")
	third.front()
	third.do(chromedp.Reload())
	third.holds("find(%s)?.value === 'Typed in the first'", composer)
}

// What a closed window has left is not found again once another that showed it has sent it, as it
// was or with more to it.
func TestTheWordsOfAClosedWindowAreSentOnce(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	b.write(composer, "Half")
	other := b.beside(place)
	other.holds("find(%s)?.value === 'Half'", composer)
	b.front()
	value[any](b, "void (location.href = 'about:blank')")
	b.holds("location.href === 'about:blank'")
	other.front()
	other.write(composer, "Half a thought")
	other.click(".composer button", "Send")
	m.answers(t, "Second.")
	other.reads(answers, "First.", "Second.")
	third := other.beside(place)
	third.reads(answers, "First.", "Second.")
	// A window has its name once it has looked for what was left.
	third.holds("find(%s)?.value === '' && sessionStorage.getItem('troupe.own.window')", composer)
}

// A window in which nobody has typed shows what is typed in the other, which is sent once.
func TestAWindowFollowsTheWordsOfAnother(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	b.write(composer, "Half")
	other := b.beside(value[string](b, "location.href"))
	other.holds("find(%s)?.value === 'Half'", composer)
	b.front()
	b.write(composer, "Half a thought")
	other.front()
	other.holds("find(%s).value === 'Half a thought'", composer)
	b.front()
	b.click(".composer button", "Send")
	m.answers(t, "Second.")
	b.reads(answers, "First.", "Second.")
	other.holds("find(%s).value === ''", composer)

	// It is sent where it was not typed.
	b.write(composer, "Another")
	other.front()
	other.do(chromedp.Reload())
	other.holds("find(%s)?.value === 'Another'", composer)
	other.click(".composer button", "Send")
	m.answers(t, "Third.")
	other.reads(answers, "First.", "Second.", "Third.")
	b.front()
	b.holds("find(%s).value === ''", composer)
	b.do(chromedp.Reload())
	b.holds("find(%s)?.value === ''", composer)
}

// Two windows on one conversation: each keeps the files that were attached in it. One in which
// nobody has attached any shows those of the other, and what was sent leaves both.
func TestTwoWindowsKeepEachItsOwnFiles(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	other := b.beside(place)
	other.reads(answers, "First.")
	shows := func(w *tab, names string) {
		t.Helper()
		w.holds("all(%s).map((li) => li.firstChild.nextSibling.textContent).join(' ') === %s", attached, names)
	}
	attach := func(w *tab, name, all string, kept int) {
		t.Helper()
		w.front()
		w.choose(".composer input[type=file]", written(t, name)...)
		shows(w, all)
		w.settled(kept)
	}
	attach(other, "theirs.md", "theirs.md", 1)
	b.front()
	shows(b, "") // nobody else puts something into it
	attach(b, "ours.md", "ours.md", 2)
	other.front()
	other.do(chromedp.Reload())
	shows(other, "theirs.md")
	b.front()
	b.do(chromedp.Reload())
	shows(b, "ours.md")

	// What is sent in one stays attached in the other, if it is the other's.
	other.front()
	other.click(".composer button", "Send")
	if a := m.asked(t); !strings.Contains(a.all, "content of theirs.md") || strings.Contains(a.all, "content of ours.md") {
		t.Errorf("the model was asked: %s", a.all)
	} else {
		a.say("Second.")
		a.end()
	}
	other.reads(answers, "First.", "Second.")
	other.settled(1)
	shows(other, "")
	b.front()
	shows(b, "ours.md")

	// One that has none shows it, and follows it; sent there, it is gone from both.
	other.front()
	other.do(chromedp.Reload())
	shows(other, "ours.md")
	attach(b, "more.md", "ours.md more.md", 2)
	other.front()
	shows(other, "ours.md more.md")
	attach(other, "own.md", "ours.md more.md own.md", 5)
	other.click(".composer button", "Send")
	m.answers(t, "Third.")
	other.reads(answers, "First.", "Second.", "Third.")
	other.settled(0)
	b.front()
	shows(b, "")
	b.do(chromedp.Reload())
	b.reads(answers, "First.", "Second.", "Third.")
	shows(b, "")
}

// The next window finds the files of one that is closed, and those of the one that is open stay
// there alone.
func TestTheFilesOfAClosedWindowAreFound(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	other := b.beside(place)
	other.reads(answers, "First.")
	other.choose(".composer input[type=file]", written(t, "theirs.md")...)
	other.settled(1)
	b.front()
	b.choose(".composer input[type=file]", written(t, "ours.md")...)
	b.settled(2)
	value[any](b, "void (location.href = 'about:blank')")
	b.holds("location.href === 'about:blank'")
	third := b.beside(place)
	third.sees(attached, "ours.md")
	third.holds("all(%s).length === 1", attached)
	third.settled(2)
	third.click(attached+" button", "Remove ours.md")
	third.settled(1)
	third.do(chromedp.Reload())
	third.reads(answers, "First.")
	third.holds("all(%s).length === 0", attached)
	other.front()
	other.do(chromedp.Reload())
	other.sees(attached, "theirs.md")
}

// What is in a window that is gone at once, without a last act, is found: a browser does not wait
// long for one, and a crash has none.
func TestWhatIsInAWindowThatIsGoneAtOnceIsFound(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	b.write(composer, "Typed in the first")
	b.choose(".composer input[type=file]", written(t, "ours.md")...)
	b.settled(1)
	other := b.beside(place)
	other.holds("find(%s)?.value === 'Typed in the first'", composer)
	other.write(composer, "Typed in the other")
	b.front()
	value[any](b, "void (Storage.prototype.setItem = Storage.prototype.removeItem = () => {})") // nothing is stored any more
	value[any](b, "void (location.href = 'about:blank')")
	b.holds("location.href === 'about:blank'")
	third := b.beside(place)
	third.holds("find(%s)?.value === 'Typed in the first'", composer)
	third.sees(attached, "ours.md")
	third.do(chromedp.Reload())
	third.holds("find(%s)?.value === 'Typed in the first'", composer)
	third.sees(attached, "ours.md")
}

// storesNoMore lets a page change nothing of what it stores once it has taken something away, the
// first time it is loaded.
const storesNoMore = `if (location.protocol !== "about:" && !sessionStorage.getItem("ended")) {
	const remove = IDBObjectStore.prototype.delete;
	IDBObjectStore.prototype.delete = function (at) {
		sessionStorage.setItem("ended", "yes");
		IDBFactory.prototype.open = () => ({});
		return remove.call(this, at);
	};
}`

// Files of a window that is closed are taken over at once: whatever ends the one that takes them,
// they are there for the next.
func TestFilesOfAClosedWindowAreNeverBetweenWindows(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	place := value[string](b, "location.href")
	b.choose(".composer input[type=file]", written(t, "ours.md")...)
	b.settled(1)
	b.goTo("about:blank")
	next := b.beside("about:blank")
	if _, err := chromedp.Call(next.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: storesNoMore}); err != nil {
		t.Fatal(err)
	}
	next.goTo(place)
	next.sees(attached, "ours.md")
	next.holds("sessionStorage.getItem('ended')")
	next.do(chromedp.Reload())
	next.sees(attached, "ours.md")
}

// A message that is only a file is as high as that: nothing is blank above or below it.
func TestAMessageThatIsAFileHasNoBlankSpace(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.choose(".composer input[type=file]", written(t, "one.md")...)
	b.sees(attached, "one.md")
	b.click(".composer button", "Send")
	m.answers(t, "First.")
	b.reads(answers, "First.")
	b.holds("find('.said details.attachment')")
	if blank := value[[]float64](b, "((box, file) => [file.top - box.top, box.bottom - file.bottom])(find('.said > div').getBoundingClientRect(), find('.said summary').getBoundingClientRect())"); max(blank[0], blank[1]) > 12 {
		t.Errorf("%v px are blank above and below the file", blank)
	}
}

// What has arrived though nobody was told so does not stand in the box when the page is loaded
// again: it would be sent twice. Until then it is said that it is still being sent.
func TestWhatHasArrivedIsNotInTheBoxAgain(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, `void ((ask) => { globalThis.fetch = (path, options) => String(path).endsWith("/messages") ? (ask(path, options), new Promise(() => {})) : ask(path, options); })(globalThis.fetch)`)
	b.say("Only once")
	b.toasted("Still sending. What you typed is kept.")
	b.picture("still-sending")
	m.answers(t, "Heard.")
	b.sees(answers, "Heard.")
	b.do(chromedp.Reload())
	b.sees(answers, "Heard.")
	b.holds("find(%s)?.value === '' && all(%s).length === 1", composer, said)
	b.do(chromedp.Reload())
	b.holds("find(%s)?.value === ''", composer)
}

package browser

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// approval is the card of a call that waits for a yes.
const approval = "[aria-label=Approval]"

// guarded has the clerk ask before it writes a file.
func (m *model) guarded(t *testing.T, name string) {
	t.Helper()
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/guarded-" + name, "content": "Open all night."})
}

// A reason is why a call is refused, by whichever key it is given, and the conversation
// shows it.
func TestAReasonRefusesACall(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Write it down")
	m.guarded(t, "a.md")
	b.sees(approval, "lets everybody here save files, whatever is sent, without asking you again")
	b.holds("document.activeElement === find(%s) && getComputedStyle(document.activeElement).outlineStyle === 'solid'", approval)
	b.write(approval+" input", "Not before Monday")
	b.press(kb.Enter, kb.ModifierCtrl)
	m.answers(t, "Then on Monday.")
	b.sees(".answered[data-state=refused]", "You did not allow clerk to save guarded-a.md: “Not before Monday”")
	b.sees(".did", "Did not save guarded-a.md")
	b.holds("getComputedStyle(find('.answered[data-state=refused] svg')).color === getComputedStyle(find('.did summary svg')).color") // it was not done, and is not green
	b.holds("find('.turn').getBoundingClientRect().right - find('.did summary').getBoundingClientRect().right >= 4")                  // room for the ring of the focus

	// What is written in the box instead is a refusal, too, which the box says, and stays.
	b.say("Again")
	m.guarded(t, "b.md")
	b.holds("find(%s).placeholder.includes('write why not')", composer)
	b.write(composer, "Yes, but call it c.md")
	b.press(kb.Enter)
	m.answers(t, "As you like.")
	b.sees(said, "Yes, but call it c.md")
	b.sees(".answered[data-state=refused]", "You did not allow clerk to save guarded-b.md")

	b.say("Once more")
	m.guarded(t, "c.md")
	b.click(approval+" button", "Allow once")
	m.answers(t, "Written.")
	b.sees(".answered", "You allowed clerk to save guarded-c.md")

	// On the first screen as well.
	b.say("And another")
	m.guarded(t, "d.md")
	b.holds("find(%s)", approval)
	b.press("j", kb.ModifierCtrl)
	b.write(homeApproval+" input", "Tomorrow")
	b.holds("[...document.querySelectorAll(%s)].every((e) => e.offsetHeight >= 36)", homeApproval+" button")
	b.press(kb.Enter, kb.ModifierCtrl)
	m.answers(t, "Tomorrow, then.")
	b.toasted("You did not allow clerk to save guarded-d.md")
	b.click(".side .item", "Write it down")
	b.sees(".answered", "“Tomorrow”")
}

// What waits for a person can be stopped, with the button and by the keys, and asks again
// where it goes on.
func TestWhatWaitsCanBeStopped(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Write it down")
	m.guarded(t, "a.md")
	b.holds("find(%s)", approval)
	b.click(".composer button", "Stop")
	b.sees(".trouble", "Stopped")
	b.sees(".answered[data-state=left]", "clerk asked to save guarded-a.md, you stopped it there")
	b.holds("!find(%s) && !find('.composer button', 'Stop')", approval)
	b.click(".trouble button", "Go on")
	b.click(approval+" button", "Allow once")
	m.answers(t, "Written.")
	b.sees(answers, "Written.")

	b.say("Again")
	m.guarded(t, "b.md")
	b.holds("find(%s)", approval)
	b.press(kb.Escape)
	b.press(kb.Escape)
	b.sees(".trouble", "Stopped")
	b.say("Something else")
	m.answers(t, "Gladly.")
	b.sees(answers, "Gladly.")
	b.sees(".answered[data-state=left]", "clerk asked to save guarded-b.md, you stopped it there")
	b.holds("getComputedStyle(find('.answered[data-state=left] svg')).color !== getComputedStyle(find('.answered[data-state=done] svg')).color")
}

// An approval that waits over a restart is given in the conversation as on the first screen.
func TestAnApprovalIsGivenAfterARestart(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := project(t, map[string]string{"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1), "legal.json": legalSchema})
	h, stop := serveUntil(t, dir)
	b := begin(t, h.link, "clerk")
	b.say("Write it down")
	m.guarded(t, "a.md")
	b.holds("find(%s)", approval)
	address := value[string](b, "location.hash")
	value[any](b, "void location.replace('about:blank')")
	b.holds("location.protocol === 'about:'")
	stop(os.Interrupt)
	b = open(t, serve(t, dir).link)
	value[any](b, "void (location.hash = %s)", address)
	b.click(approval+" button", "Allow once")
	m.answers(t, "Written.")
	b.sees(answers, "Written.")
}

// What was attached can be looked at once it is sent.
func TestWhatWasAttachedCanBeOpened(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	dir := t.TempDir()
	var drawing bytes.Buffer
	if err := png.Encode(&drawing, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	var files []string
	for name, content := range map[string][]byte{"plan.png": drawing.Bytes(), "page.txt": []byte("Open <b>all</b> night.")} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.choose(".composer input[type=file]", files...)
	b.holds("all('.attached li').length === 2")
	b.say("Look at these")
	m.answers(t, "I have.")
	b.holds("find('.said .attachment', 'plan.png').querySelector('img.thumb').naturalWidth === 40")
	b.click(".said .attachment summary", "plan.png")
	b.holds("find('.said .attachment[open] img:not(.thumb)').naturalWidth === 40")
	b.click(".said .attachment summary", "page.txt")
	b.sees(".said .attachment pre", "Open <b>all</b> night.")
	b.holds("find('.said .attachment a[download=\"page.txt\"]').href.startsWith('blob:')")
}

// However long the list of conversations is, only the list scrolls.
func TestALongSideBarScrollsAlone(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	for range 24 {
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(h.post(t, "/api/sessions", map[string]any{"agent": "clerk"})), &made); err != nil {
			t.Fatal(err)
		}
		h.post(t, "/api/sessions/"+made.ID+"/messages", map[string]any{"text": "Hello"})
		m.answers(t, "Good day.")
	}
	b.holds("document.querySelectorAll('.side .item').length === 24 && find('.side .item .hidden', 'New')")
	b.holds("find('.side .scroll').scrollHeight > find('.side .scroll').clientHeight && document.documentElement.scrollHeight === innerHeight")
}

// Whoever uses a keyboard is somewhere: at what waits, at the heading of the place that was
// gone to, or where a dialog was opened.
func TestTheFocusIsNeverLost(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Write it down")
	m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/guarded.md", "content": strings.Repeat("Open all night.\n", 200)})
	b.holds("document.activeElement === find(%s)", approval)
	b.holds("find(%s).getBoundingClientRect().top >= find('.flow').getBoundingClientRect().top && !find('.latest')", approval) // a tall card is shown from its top
	for b.sees(approval, "Next page"); !value[bool](b, "find(%s).ariaDisabled === 'true'", approval+" .pages button:last-child"); {
		value[any](b, "void find(%s).focus()", approval+" .pages button:last-child")
		b.press(kb.Enter)
	}
	b.holds("document.activeElement.innerText === 'Next page'")
	value[any](b, "document.activeElement.blur()")
	b.press("w")
	b.holds("document.activeElement === find(%s)", approval)

	b.press("g")
	b.press("h")
	b.holds("document.activeElement === find('h1', 'Who would you like')")
	b.press(kb.Escape)
	b.holds("document.activeElement === find('.ask textarea')")
	value[any](b, "document.activeElement.blur()")
	b.press("w")
	b.holds("document.activeElement === find(%s)", approval)
	b.click(approval+" button", "Do not allow")
	m.answers(t, "Then not.")

	b.click(".bar button", "More")
	b.click(".pop button", "Rename")
	b.write("dialog input", "Minutes")
	b.press(kb.Enter)
	b.holds("document.activeElement === find('.bar button', 'More')")
	b.click(".bar button", "More")
	b.click(".pop button", "Delete")
	b.holds("document.activeElement === find('h1', 'Who would you like')")
}

// Who has signed in is at the box, and w leads to a gate from there.
func TestTheFocusAfterSigningInAndAtAGate(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	ready := reply{text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}
	m.directed(t, script{"Say which licences", []reply{ready, ready, {text: "{", held: true}}})
	h := play(t, m)
	origin, _, _ := strings.Cut(h.link, "#token=")
	b := newTab(t)
	b.goTo(origin)
	b.write("#code", h.link)
	b.press(kb.Enter)
	b.holds("document.activeElement === find('.ask textarea')")

	value[any](b, "void (location.hash = '#/deliveries')")
	b.write("#request", "Lockers")
	b.click("form button", "Deliver")
	b.holds("find('.delivery .needs')")
	b.press("j", kb.ModifierCtrl)
	b.holds("find('.ask textarea')")
	value[any](b, "document.activeElement.blur()")
	b.press("w")
	b.holds("document.activeElement === find('.delivery .needs')")

	// What is sent from the gate's field takes the field along: the focus goes to the next gate,
	// and to the headline while there is none.
	b.write(".delivery .needs textarea", "Shorter")
	b.press(kb.Enter)
	b.sees(".delivery .needs", "You asked for changes: Shorter")
	b.holds("document.activeElement === find('.delivery .needs')")
	b.write(".delivery .needs textarea", "Shorter still")
	b.press(kb.Enter, kb.ModifierCtrl)
	b.lacks(".delivery .needs", "")
	b.holds("document.activeElement.matches('h1')")
}

// The run counts calls that were made and questions that were asked, and says everywhere alike
// for how long it waits.
func TestARunCountsWhatWasMadeAndAsked(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	guarded := map[string]any{"content": "All night.", "file_path": "{session-folder}/guarded.md"}
	b.say("Write it down")
	m.calls(t, "write_file", guarded)
	b.sees("[aria-label=Approval]", "Save guarded.md?")
	b.click(".tabs a", "Run")
	b.sees(".lane", "Wants to save guarded.md")
	b.holds("find('.figures div', 'Tool calls').innerText.replace(/\\s+/g, ' ') === 'Tool calls 0'")
	// It goes on by itself, and is rounded to tenths: it began to wait a moment after it asked.
	b.holds("/and waited [\\d.]+ s for you/.test(find('.figures small').innerText) && Math.abs(parseFloat(find('.figures small').innerText.slice(11)) - parseFloat(find('.lane[data-kind=ask] > span.wait').innerText)) < 0.25")

	b.click(".tabs a", "Conversation")
	b.click("[aria-label=Approval] button", "Allow in this conversation")
	m.answers(t, "Written.")
	b.reads(answers, "Written.")
	b.say("Once more")
	m.calls(t, "write_file", guarded)
	m.answers(t, "Written again.")
	b.reads(answers, "Written.", "Written again.")
	b.sees(".answered", "You allowed clerk to save guarded.md, in this whole conversation")
	b.sees(".answered", "You allowed clerk to save guarded.md, as you had allowed in this whole conversation")
	b.click(".tabs a", "Run")
	b.holds("find('.figures div', 'Tool calls').innerText.replace(/\\s+/g, ' ') === 'Tool calls 2'")
	b.holds("all('.lane[data-kind=ask]').length === 1 && all('.lane[data-kind=tool]').length === 2")
}

// A command that an answer offers is chosen by what it does.
func TestCommandsAreChosenByWhatTheyDo(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	m.directed(t, script{"Help me", []reply{{text: "That can mean two of my commands. Which one?\n\n1. *help - Show what I can do\n2. *exit - Say goodbye"}}},
		script{"*exit", []reply{{text: "Goodbye."}}})
	b.say("Help me")
	b.sees(".asks .choice", "Say goodbye")
	b.lacks(".asks", "*exit")
	talk := value[string](b, "location.hash")
	b.at("#/")
	b.sees(".waits button", "Show what I can do")
	b.lacks(".waits", "*help")
	b.at(talk)
	b.click(".asks label", "Say goodbye")
	b.click(".asks button", "Answer")
	b.sees(answers, "Goodbye.")
}

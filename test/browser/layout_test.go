package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// laidOut is a house with a conversation in a script that is not Latin, with a question
// and an approval that wait, and with a delivery at its gate.
func laidOut(t *testing.T) (h *house, talk, guarded string) {
	t.Helper()
	m := newModel(t)
	m.directed(t,
		script{"还书柜", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/hours.csv", "content": "a,b\n"}}, {text: "## 夜间还书柜\n\n```go\nfunc full() bool {\n\treturn true\n}\n```"}}},
		script{"Ask me", []reply{{text: "Which way should it be, now that we have seen all three of them and none was without its price?\n\n1. One bank, emptied at ten: the cheapest\n2. Two banks, one at the side door: never full\n3. Neither of the two: a larger slot"}}},
		script{"guarded", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/guarded.md", "content": "# Hours\n"}}}},
		script{"Say which licences", []reply{{text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}, {text: "```json\n" + phaseAnswer("legal", "It may go on.") + "\n```"}}},
	)
	h = play(t, m)
	talk = "#/s/" + h.asks(t, "clerk", "", "写写还书柜")
	h.asks(t, "clerk", "", "Ask me")
	h.post(t, "/api/deliveries", map[string]string{"request": "Return lockers"})
	guarded = "#/s/" + h.begins(t, "clerk", "Put it where it is guarded")
	return h, talk, guarded
}

func TestTextsAreWholeAndLargeEnough(t *testing.T) {
	t.Parallel()
	h, talk, _ := laidOut(t)
	b := open(t, h.link)
	value[any](b, "void (location.hash = %s)", talk)
	b.sees(".bar h1", "写写还书柜")
	b.holds("find('.code pre')")
	// Scripts reach higher than the letters that a line is made for.
	for _, title := range []string{".bar h1", ".side .item[aria-current] .cut"} {
		if lost := value[float64](b, `((e) => {
			const style = getComputedStyle(e), mark = document.createElement("span"), ruler = document.createElement("canvas").getContext("2d");
			mark.style.display = "inline-block";
			e.prepend(mark);
			ruler.font = style.font;
			const top = mark.getBoundingClientRect().bottom - ruler.measureText(e.textContent).actualBoundingBoxAscent;
			mark.remove();
			return style.overflowY === "visible" ? 0 : e.getBoundingClientRect().top - top;
		})(find(%s))`, title); lost > 0.5 {
			t.Errorf("%s: %.1f px of its top are cut off", title, lost)
		}
	}
	b.holds("all('pre code, pre code *').every((e) => parseFloat(getComputedStyle(e).fontSize) >= 12)")
	b.holds("getComputedStyle(find('pre code')).tabSize === '4'")
	if at := value[float64](b, "find('.turn .prose').firstElementChild.getBoundingClientRect().top - find('.turn .prose').getBoundingClientRect().top"); at > 5 {
		t.Errorf("an answer begins %.0f px below where it could", at)
	}

	// A bubble is as wide as what is said in it, at the right.
	b.holds("((bubble, words, all) => bubble.width < words.width + 30 && bubble.right === all.right)(...['.said > div', '.said p', '.said'].map((selector) => find(selector).getBoundingClientRect()))")

	// A title that is too long ends with dots, and does not reach over what is beside it.
	b.do(chromedp.EmulateViewport(390, 844))
	value[any](b, "void (find('.bar h1').textContent = %s)", strings.Repeat("还书柜", 20))
	b.holds("((e) => e.scrollWidth > e.clientWidth && getComputedStyle(e).textOverflow === 'ellipsis' && e.getBoundingClientRect().right <= find('.bar button').getBoundingClientRect().left)(find('.bar h1'))")
}

func TestWhatIsBesideEachOtherIsInLine(t *testing.T) {
	t.Parallel()
	h, talk, _ := laidOut(t)
	b := open(t, h.link)
	b.holds("all('.waits .card:not(.whole)').length === 2 && all('.waits .card:not(.whole)')[0].offsetTop === all('.waits .card:not(.whole)')[1].offsetTop")
	b.holds("new Set(all('.waits .card:not(.whole) b').map((e) => e.getBoundingClientRect().top)).size === 1")
	b.holds("all('.waits .card').map((e) => e.getBoundingClientRect()).every((r, i, all) => !i || r.top > all[i - 1].top || (r.top === all[i - 1].top && r.left > all[i - 1].left))") // read in the order in which keys go through them
	b.click(".waits a.chip", "Look and decide")
	b.holds("find('[aria-label=Gate]') && find('.delivery aside section')")
	b.holds("Math.abs(find('[aria-label=Gate]').getBoundingClientRect().top - find('.delivery aside section').getBoundingClientRect().top) < 1")
	b.holds("getComputedStyle(find('[aria-label=Gate] textarea'), '::placeholder').color === getComputedStyle(find('.side .find .field')).color")

	// The times above a run stand at its lines.
	value[any](b, "void (location.hash = %s + '/run')", talk)
	b.holds("find('.lane[data-kind=model] .track')")
	b.holds("Math.abs(parseFloat(getComputedStyle(find('.lane[data-kind=model] .track')).backgroundImage.match(/[\\d.]+(?=%%)/g).at(-1)) - 100 / (all('.axis .track span').length - 1)) < 0.01")
	b.holds("Math.abs(((a, b) => a.top + a.bottom - b.top - b.bottom)(find('.axis b').getBoundingClientRect(), find('.axis .track span').getBoundingClientRect())) < 3")

	// So does what is said of files in both tables.
	h.must(t, "POST", "/api/documents", map[string]any{"name": "plan.md", "data": []byte("# Plan\n")})
	value[any](b, "void (location.hash = '#/files')")
	for _, width := range []int64{1280, 1000, 2000} {
		b.do(chromedp.EmulateViewport(width, 800))
		b.holds("((all) => all.length === 2 && all[0] > 0 && Math.abs(all[0] - all[1]) < 1.5)(all('.library th').filter((e) => e.innerText === 'Changed').map((e) => e.getBoundingClientRect().left))")
	}
	b.do(chromedp.EmulateViewport(1280, 800))

	// Of the models, the one that answers is marked.
	value[any](b, "void (location.hash = %s)", talk)
	b.click(".bar .model", "")
	b.holds("getComputedStyle(find('.models [aria-current=true]')).backgroundColor !== getComputedStyle(find('.models .opt:not([aria-current])')).backgroundColor")
}

func TestTheRingOfACardIsWholeOnAPhone(t *testing.T) {
	t.Parallel()
	h, _, guarded := laidOut(t)
	b := open(t, h.link)
	b.do(chromedp.EmulateViewport(390, 844))
	value[any](b, "void (location.hash = %s)", guarded)
	b.holds("find('.turn .needs')")
	// A turn is cut at its edge, and a ring is 4 px outside of what has it.
	b.holds("((turn, card) => card.left - turn.left >= 4 && turn.right - card.right >= 4)(find('.turn .needs').closest('.turn').getBoundingClientRect(), find('.turn .needs').getBoundingClientRect())")
	b.holds("find('.turn .needs').getBoundingClientRect().left === find('.composer').getBoundingClientRect().left + 6") // and stands where it stood

	value[any](b, "void (location.hash = '#/')")
	b.holds("find('.sec .field.search')")
	b.holds("find('.sec .field.search').getBoundingClientRect().width > 300")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.holds("find('.set h2') && find('.bar h1').getBoundingClientRect().left + parseFloat(getComputedStyle(find('.bar h1')).paddingLeft) === find('.set h2').getBoundingClientRect().left")
}

// What is found says which it is: no name stands there twice, and the words are marked.
func TestWhatIsFoundAndSavedSaysWhichItIs(t *testing.T) {
	t.Parallel()
	h, talk, _ := laidOut(t)
	b := open(t, h.link)
	value[any](b, "void (location.hash = %s)", talk)
	b.sees(".doc", "hours.csv")
	b.holds("find('.doc').innerText.split('hours.csv').length === 2 && find('.doc .line').innerText.startsWith('version 1')")
	value[any](b, "void document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))")
	b.write("dialog input", "hours")
	b.sees("#found .opt b", "hours")
	b.sees("#found .opt small", "写写还书柜")
	b.holds("find('#found .opt[aria-selected=true] kbd')")
}

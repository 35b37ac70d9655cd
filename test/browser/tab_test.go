package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// patience is how long a condition may take to hold. Nothing waits for so long
// unless it is broken.
const patience = 2 * time.Minute

// A tab shows the page to somebody who looks and clicks. It takes note of what a
// page of ours must never do.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close context.CancelFunc

	mu     sync.Mutex
	origin string
	noted  []string
}

// newTab opens a tab in a profile of its own.
func newTab(t *testing.T) *tab {
	t.Helper()
	return tabIn(t, browserOf(t), chromedp.WithNewBrowserContext())
}

// beside opens a link in another tab of the same window, before this one, which is hidden by it.
func (b *tab) beside(link string) *tab {
	b.t.Helper()
	if _, ok := withThem.Load(b.t.Name()); !ok {
		b.t.Fatal("a test that opens a window says so: hasWindows")
	}
	other := tabIn(b.t, b.ctx, chromedp.WithNewWindow(false))
	b.t.Cleanup(other.isAsItMustBe)
	other.goTo(link)
	b.holds("document.hidden")
	return other
}

// front brings a tab before the others of its window.
func (b *tab) front() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.BringToFront, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	b.holds("!document.hidden")
}

func tabIn(t *testing.T, in context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(in, options...)
	b := &tab{t: t, ctx: ctx, close: cancel}
	b.do(chromedp.EmulateViewport(1280, 800))
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: notesToasts}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, runtime.AddBinding, runtime.AddBindingParams{Name: "canary"}); err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	dialogs, called := chromedp.Events(ctx, page.JavascriptDialogOpening), chromedp.Events(ctx, runtime.BindingCalled)
	requests, thrown := chromedp.Events(ctx, network.RequestWillBeSent), chromedp.Events(ctx, runtime.ExceptionThrown)
	logged := chromedp.Events(ctx, runtime.ConsoleAPICalled)
	watch(&watching, b, called, func(e runtime.EventBindingCalled) string { return "a script ran: " + e.Payload })
	watch(&watching, b, thrown, func(e runtime.EventExceptionThrown) string { return "an exception: " + textOf(&e) })
	watch(&watching, b, logged, func(e runtime.EventConsoleAPICalled) string {
		if e.Type != "error" || len(e.Args) == 0 {
			return ""
		}
		return "a view broke: " + e.Args[0].Description
	})
	watch(&watching, b, dialogs, func(e page.EventJavascriptDialogOpening) string {
		chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		return "a dialog opened: " + e.Message
	})
	watch(&watching, b, requests, func(e network.EventRequestWillBeSent) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		// A blob of the page's own is in its memory.
		if strings.HasPrefix(strings.TrimPrefix(e.Request.URL, "blob:"), b.origin+"/") {
			return ""
		}
		return "a request left: " + e.Request.URL
	})
	return b
}

// notesToasts has a page keep what its toasts said. They go away by themselves, perhaps
// before a busy machine has got round to looking at them.
const notesToasts = `(() => {
	const said = (globalThis.toastsSeen = []);
	new MutationObserver((changes) => {
		for (const { addedNodes } of changes) for (const node of addedNodes) for (const one of [node, ...(node.querySelectorAll?.(".toast") ?? [])]) if (one.matches?.(".toast")) said.push(one.innerText);
	}).observe(document, { childList: true, subtree: true });
})()`

// toasted waits until a toast has said a text, whether or not it is still there.
func (b *tab) toasted(text string) {
	b.t.Helper()
	b.holds("globalThis.toastsSeen.some((said) => said.includes(%s))", text)
}

// textOf says what was thrown, and where.
func textOf(e *runtime.EventExceptionThrown) string {
	text := e.ExceptionDetails.Text
	if thrown := e.ExceptionDetails.Exception; thrown != nil {
		text += " " + thrown.Description
	}
	return fmt.Sprintf("%s (%s:%d)", text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1)
}

// watch notes what an event means, if anything.
func watch[E any](group *sync.WaitGroup, b *tab, events iter.Seq2[E, error], meaning func(E) string) {
	group.Go(func() {
		for event, err := range events {
			if err != nil {
				return // the tab is closed
			}
			if text := meaning(event); text != "" {
				b.mu.Lock()
				b.noted = append(b.noted, text)
				b.mu.Unlock()
			}
		}
	})
}

// open shows what a link leads to. When the test ends, nothing may have been noted.
func open(t *testing.T, link string) *tab {
	t.Helper()
	b := newTab(t)
	b.goTo(link)
	t.Cleanup(b.isAsItMustBe)
	return b
}

// isAsItMustBe reports what was noted, and leaves a picture of a tab whose test has failed.
func (b *tab) isAsItMustBe() {
	if noted := b.notes(); len(noted) > 0 {
		b.t.Errorf("the page did what it must not do:\n%s", strings.Join(noted, "\n"))
	}
	if b.t.Failed() && b.ctx.Err() == nil {
		b.picture("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	}
}

func (b *tab) notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.noted
}

func (b *tab) goTo(link string) {
	b.t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.origin = u.Scheme + "://" + u.Host
	b.mu.Unlock()
	b.do(chromedp.Navigate(link))
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// lookup has what expressions find elements with: whether one can be seen, what it
// is called, and the first of those that can be seen and are called so.
const lookup = `
	const seen = (e) => e.checkVisibility({ opacityProperty: false, visibilityProperty: true });
	const called = (e) => (e.getAttribute("aria-label") ?? e.innerText ?? "").trim();
	const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
	const find = (selector, name = "") => all(selector).find((e) => called(e).includes(name));`

// value evaluates an expression.
func value[T any](b *tab, expression string, args ...any) T {
	b.t.Helper()
	v, err := evaluate[T](b, b.ctx, fmt.Sprintf("(() => {%s return (%s); })()", lookup, fill(expression, args)))
	if err != nil {
		b.t.Fatalf("%s: %v", fill(expression, args), err)
	}
	return v
}

// evaluate evaluates a script, once more where the page it was sent to has just been left
// for another.
func evaluate[T any](b *tab, ctx context.Context, source string, options ...chromedp.EvaluateOption) (v T, err error) {
	b.t.Helper()
	for {
		v, err = chromedp.Run(ctx, chromedp.Evaluate[T](source, options...))
		if err == nil || ctx.Err() != nil || !isLeft(err) {
			return v, err
		}
	}
}

// isLeft says whether a script came to nothing because its page was left.
func isLeft(err error) bool {
	for _, words := range []string{"Cannot find context", "context was destroyed", "navigated or closed", "Promise was collected", "Cannot find default execution context"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// fill writes arguments into an expression, as JSON.
func fill(expression string, args []any) string {
	quoted := make([]any, len(args))
	for i, arg := range args {
		data, _ := json.Marshal(arg)
		quoted[i] = string(data)
	}
	return fmt.Sprintf(expression, quoted...)
}

// until waits for an expression to hold, and returns its value.
func until[T any](b *tab, expression string, args ...any) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	condition := fill(expression, args)
	// What a condition looks at may not be there yet: then it does not hold yet.
	v, err := evaluate[T](b, ctx, fmt.Sprintf(`new Promise((done) => {%s
		const holds = () => { try { return (%s); } catch { return null; } };
		const look = () => { const v = holds(); v ? done(v) : setTimeout(look, 10); };
		look();
	})`, lookup, condition), chromedp.EvalAwaitPromise)
	if err != nil {
		b.t.Fatalf("this does not come to hold: %s: %v\nThe focus has:\n%s\nFields have:\n%s\nToasts said:\n%s\nThe page says:\n%s", condition, err,
			value[string](b, "document.activeElement.cloneNode().outerHTML"),
			value[string](b, "[...document.querySelectorAll('input, textarea, select')].map((f) => f.cloneNode().outerHTML + ' ' + JSON.stringify(f.value)).join('\\n')"),
			value[string](b, "globalThis.toastsSeen?.join('\\n') ?? ''"),
			value[string](b, "document.body.innerText"))
	}
	return v
}

// holds waits for a condition.
func (b *tab) holds(condition string, args ...any) {
	b.t.Helper()
	until[bool](b, "!!("+condition+")", args...)
}

// sees waits for an element that has a text.
func (b *tab) sees(selector, text string) {
	b.t.Helper()
	b.holds("all(%s).some((e) => e.innerText.includes(%s))", selector, text)
}

// lacks waits for no element to have a text.
func (b *tab) lacks(selector, text string) {
	b.t.Helper()
	b.holds("!all(%s).some((e) => e.innerText.includes(%s))", selector, text)
}

// reads waits for the elements to be just those that have these texts.
func (b *tab) reads(selector string, texts ...string) {
	b.t.Helper()
	b.holds("JSON.stringify(all(%s).map((e) => e.innerText.trim())) === JSON.stringify(%s)", selector, texts)
}

// click clicks on an element where it can be clicked on, once it stands still. Where it
// moved away all the same before the mouse was down, or before it was up again, it is
// looked for again, as a person would.
func (b *tab) click(selector, name string) {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		at := until[[]float64](b, `(() => {
			const e = find(%s, %s);
			if (!e || e.disabled) return null;
			e.scrollIntoView({ block: "center" });
			const { left, top, width, height } = e.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
			const stands = window.aim?.e === e && window.aim.x === x && window.aim.y === y;
			window.aim = { e, x, y };
			const hit = document.elementFromPoint(x, y);
			if (!stands || !hit || !(e.contains(hit) || hit.contains(e))) return null;
			addEventListener("click", (event) => (window.aim = !event.defaultPrevented && (e.contains(event.target) || (event.target.contains(e) && event.target.closest("label, summary, button, a"))) ? "hit" : "missed"), { capture: true, once: true });
			return [x, y];
		})()`, selector, name)
		b.do(chromedp.MouseClickXY(at[0], at[1]))
		// A click that loads another page takes what it left behind with it.
		if value[bool](b, "window.aim === undefined || window.aim === 'hit'") {
			return
		}
	}
	b.t.Fatalf("%s %q does not stand still", selector, name)
}

// presses clicks on an element once it is there, without a mouse: for what is at the edge
// of what is shown, or one of many.
func (b *tab) presses(selector, name string) {
	b.t.Helper()
	b.holds("(() => { const e = find(%s, %s); if (!e || e.disabled) return false; e.click(); return true; })()", selector, name)
}

// hurries has a page that cannot reach its server try at once. It may have tried by itself
// just before: then there is nothing to click on any more, and nobody would.
func (b *tab) hurries() {
	b.t.Helper()
	value[any](b, "void find('.strip button', 'Try now')?.click()")
}

// write puts a text into a field in place of what is there. Where the focus was taken
// away before the text came, as by a question that has just been asked, it is written
// again, as a person would.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		b.holds(`(() => {
			const field = find(%s);
			if (!field || field.disabled) return false;
			field.focus(), field.select();
			window.written = field;
			return document.activeElement === field;
		})()`, selector)
		b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, input.InsertText, input.InsertTextParams{Text: text})
			return err
		}))
		// Fields change white space and what is no character; they change nothing else.
		if value[bool](b, `(() => {
			const plain = (text) => text.replace(/[^a-z0-9]/gi, "");
			return !window.written?.isConnected || plain(window.written.value) === plain(%s);
		})()`, text) {
			return
		}
	}
	b.t.Fatalf("%s does not take %q", selector, text)
}

// press presses a key. What it types goes with the key, as a keyboard has it, so that
// a page that takes the key for something else gets no character.
func (b *tab) press(key string, held ...kb.Modifier) {
	b.t.Helper()
	k := kb.Keys[[]rune(key)[0]]
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		event := input.DispatchKeyEventParams{Type: kb.KeyDown, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, Text: k.Text}
		for _, modifier := range held {
			event.Modifiers |= int64(modifier)
		}
		if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event); err != nil {
			return err
		}
		event.Type, event.Text = kb.KeyUp, ""
		_, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event)
		return err
	}))
}

// What people look at, and what they write into.
const (
	answers  = ".turn > div > .prose"
	said     = ".said .plain"
	composer = "textarea[aria-label^='Message to']"
)

// say sends a message.
func (b *tab) say(text string) {
	b.t.Helper()
	b.holds("find('.composer button', 'Send') && !find('.composer button', 'after')") // nobody else is speaking
	b.write(composer, text)
	if value[bool](b, "matchMedia('(pointer: coarse)').matches") { // there Enter is a line
		b.presses(".composer button", "Send")
		return
	}
	b.press(kb.Enter)
}

// picture leaves a picture of what is shown, where pictures are wanted: each takes as
// long as several tests' worth of clicks. Of what has failed there is always one.
func (b *tab) picture(name string) {
	b.t.Helper()
	if os.Getenv("TROUPE_PICTURES") == "" && !strings.HasPrefix(name, "gallery/") && !strings.HasPrefix(name, "failed-") {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Errorf("picture %s: %v", name, err)
		return
	}
	dir := filepath.Join(corpus.ModuleRoot(b.t), "test-results")
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

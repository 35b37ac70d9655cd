package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestNoTextRunsAsAScriptOrReachesAnotherHost(t *testing.T) {
	t.Parallel()
	t.Run("ours", func(t *testing.T) { attack(t, payloads) })
	t.Run("corpus", func(t *testing.T) {
		attack(t, naughty(t))
	})
}

// batch is how many texts are said in one conversation.
const batch = 50

// attack puts each text wherever texts come from: agents' names and titles, messages,
// answers, arguments and results of tools, names and contents of files, and titles of
// conversations. Then it looks at all of them.
func attack(t *testing.T, texts []string) {
	t.Parallel()
	forbidden := newTrap(t)
	texts = forbidden.set(texts)
	m := newModel(t)
	m.echo(t)
	h := serve(t, hostileProject(t, m, texts))
	sessions := h.sayAll(t, texts)

	written := h.write(t, sessions[0], texts[:min(batch, len(texts))])
	documents := h.writeDocuments(t, texts[:min(batch, len(texts))])

	b := open(t, h.link)
	b.holds("all('.agent').length >= %s", len(texts))
	b.isInert()
	b.holds("all('.side .item').length >= %s", min(len(texts), 50))
	for i, session := range sessions {
		value[any](b, "void (location.hash = '#/s/' + %s)", session)
		n := min(batch, len(texts)-i*batch)
		b.holds("(find('.earlier')?.click(), all(%s).length === %s && all('.did').length >= %s && all(%s).length >= 1)", said, n, n, answers)
		b.opensAll()
		b.holds("find('.call')")
		b.opensAll()
		b.isInert()
		if i == 0 {
			b.looksAtFiles(written)
		}
	}
	for _, view := range []string{"/run", "/flow"} {
		value[any](b, "void (location.hash = '#/s/' + %s + %s)", sessions[0], view)
		b.holds("find('.lane, .node, .flow-list, .stage')")
		b.isInert()
	}
	value[any](b, "void (location.hash = '#/files')")
	b.holds("all('.list tbody tr[tabindex]').length >= %s", documents)
	b.isInert()
	for i := range min(documents, 5) {
		b.holds("(() => { const e = all('.list tbody tr[tabindex]')[%s]; e?.click(); return e; })()", i)
		b.holds("find('.glance .versions')")
		b.isInert()
	}
	for _, section := range []string{"models", "agents", "limits", "people", "skills", "mcp"} {
		value[any](b, "void (location.hash = '#/settings/' + %s)", section)
		b.holds("find('.set h2') && find('.set nav [aria-current]').hash === '#/settings/' + %s", section)
		b.rests()
		b.isInert()
	}
	b.press("k", kb.ModifierCtrl)
	b.write(".finder input", "script")
	b.holds("find('.finder [role=option]')")
	b.isInert()
	b.press(kb.Escape)
	value[any](b, "void (location.hash = '#/activity')")
	b.sees(".hits", "")
	b.opensAll()
	b.isInert()
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
	t.Logf("%d texts", len(texts))
}

// sayAll says each text in a conversation with the clerk, a batch in each, and in one
// of its own with the critic, whose title it becomes. It returns the clerk's.
func (h *house) sayAll(t *testing.T, texts []string) []string {
	var group sync.WaitGroup
	sessions := make([]string, (len(texts)+batch-1)/batch)
	for i, part := range slices.Collect(slices.Chunk(texts, batch)) {
		group.Go(func() {
			for _, text := range part {
				answer := h.post(t, "/api/chat", map[string]string{"agentId": "clerk", "message": text, "conversationId": sessions[i]})
				if found := conversationID.FindStringSubmatch(answer); found != nil {
					sessions[i] = found[1]
				}
				h.post(t, "/api/chat", map[string]string{"agentId": "critic", "message": text})
			}
		})
	}
	group.Wait()
	return sessions
}

// write puts files into a session's folder that no tool of ours would write: called
// as the texts are, and with these in them. It returns how many there are.
func (h *house) write(t *testing.T, session string, texts []string) int {
	t.Helper()
	dir := filepath.Join(h.dir, "data", "agent-outputs", session)
	for _, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, nameOf(text)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(files) - 1 // but for the manifest
}

var conversationID = regexp.MustCompile(`"conversationId":"([^"]+)"`)

// writeDocuments puts documents into the project that are called as the texts are, with
// these as their headings. It returns how many there are.
func (h *house) writeDocuments(t *testing.T, texts []string) (n int) {
	t.Helper()
	dir := filepath.Join(h.dir, "data", "documents", "planning")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		name := fmt.Sprintf("%d %s.md", i, strings.NewReplacer("/", "", "\x00", "").Replace(text))
		line := strings.ReplaceAll(text, "\n", " ")
		if os.WriteFile(filepath.Join(dir, name[:min(len(name), 90)]+".md"), []byte("# "+line+"\n\n"+text+"\n"), 0o644) == nil {
			n++
		}
	}
	return min(n, 1) // how many of the names a workspace opens is no matter of the page
}

// echo has the model write each message of the user's to a file, where it may, and
// then repeat it, until the test ends.
func (m *model) echo(t *testing.T) {
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	group.Go(func() {
		for {
			select {
			case <-t.Context().Done():
				return
			case a := <-m.asks:
				a.mayBeLeft = true
				if a.role == "user" && a.mayWrite {
					a.call("write_file", map[string]string{"file_path": "{session-folder}/" + nameOf(a.user), "content": a.user})
				} else {
					a.say(a.user)
					a.end()
				}
			}
		}
	})
}

// isInert fails the test if anything on the page could run or load something.
func (b *tab) isInert() {
	b.t.Helper()
	const found = `(() => {
		const ours = (e) => e.matches("svg.i, svg.logo, .stage svg, .katex svg") || e.matches("iframe[sandbox='']") || (e.matches("iframe[sandbox='allow-scripts'][src$='/frame/diagram.html']") && new URL(e.src).origin === location.origin) || (e.matches(".picture img") && new URL(e.src).origin === location.origin);
		const loaders = [...document.body.querySelectorAll("script, iframe, frame, object, embed, img, svg, video, audio, style, link, meta, base, template")].filter((e) => !ours(e));
		const handlers = [...document.querySelectorAll("*")].filter((e) => e.getAttributeNames().some((name) => /^on|^(src|srcdoc|formaction|ping|background)$/i.test(name)) && !(e.tagName === "SCRIPT" && e.parentNode === document.head) && !ours(e));
		const links = [...document.querySelectorAll("a[href], area[href]")].filter((e) => !["http:", "https:", "mailto:"].includes(e.protocol) || (e.origin !== location.origin && e.protocol !== "mailto:" && !/noopener noreferrer/.test(e.rel)));
		return [...loaders, ...handlers, ...links].map((e) => e.outerHTML.slice(0, 200));
	})()`
	if elements := value[[]string](b, found); len(elements) > 0 {
		b.t.Errorf("there are elements that may run or load something:\n%s", strings.Join(elements, "\n"))
	}
}

// opensAll opens whatever is folded.
func (b *tab) opensAll() {
	b.t.Helper()
	value[any](b, "document.querySelectorAll('details').forEach((e) => { e.open = true; })")
}

// looksAtFiles opens each of the files of a session, rendered and raw.
func (b *tab) looksAtFiles(n int) {
	b.t.Helper()
	b.click(".bar button", "Files of this conversation")
	b.holds("all('.panel .recent a').length >= %s", n)
	n = value[int](b, "all('.panel .recent a').length")
	for i := range n {
		b.holds("(() => { const e = all('.panel .recent a')[%s]; e?.click(); return e; })()", i)
		b.holds("find('.panel .prose')")
		b.isInert()
		b.presses(".panel button", "Source")
		b.holds("find('.panel .listing')")
		b.presses(".panel button", "All files")
		b.holds("all('.panel .recent a').length === %s", n)
	}
}

func TestNoTextOfADeliveryRunsAsAScript(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	texts := forbidden.set(payloads)
	var artifacts []any
	for _, text := range texts {
		artifacts = append(artifacts, map[string]string{"name": text, "path": "specs/" + nameOf(text), "content": text, "type": "file"})
	}
	answer, err := json.Marshal(map[string]any{
		"status": "partial", "phase": "legal", "outputs": map[string]string{"verdict": strings.Join(texts, "\n\n")}, "artifacts": artifacts, "errors": texts,
		"validation": map[string]any{"checks": texts, "passed": texts, "failed": texts, "warnings": texts}, "next_phase": map[string]any{"ready": false, "blockers": texts, "requirements": texts},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t)
	b := open(t, play(t, m).link)
	b.sees(".agent", "clerk")
	b.click(".side nav a", "Deliveries")
	b.write("#request", strings.Join(texts, "\n\n"))
	b.click("form button", "Deliver")
	m.answers(t, string(answer))
	b.sees("[aria-label=Gate]", "Legal is not ready")
	b.sees(".phase-result", "canary('script')")
	b.opensAll()
	b.isInert()
	b.picture("delivery-attacked")
	b.click(".tabs a", "Conversation")
	b.sees("[aria-label=Gate]", "")
	b.opensAll()
	b.isInert()
	value[any](b, "void (location.hash = '#/deliveries')") // and what is asked for with another one
	b.write("#request", texts[0])
	b.write("#delivery-project", "../<img src=x onerror=canary('project')>")
	b.click("form button", "Deliver")
	b.sees("form [role=alert]", "canary('project')")
	b.isInert()
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
}

// What the tests above look for is seen when it is there.
func TestATabNotesWhatAPageMustNotDo(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<script>canary('ran'); throw new Error('thrown')</script><img src=%s/x onload=x><a href=javascript:x>x</a><script>alert('opened')</script>", forbidden.url)
	}))
	t.Cleanup(hostile.Close)
	b := newTab(t)
	b.goTo(hostile.URL + "/")
	for _, want := range []string{"a script ran: ran", "an exception", "a dialog opened: opened", "a request left: " + forbidden.url} {
		eventually(t, func() error { // what the browser reports comes after the page
			if noted := strings.Join(b.notes(), "\n"); !strings.Contains(noted, want) {
				return fmt.Errorf("%q was not noted, but\n%s", want, noted)
			}
			return nil
		})
	}
	if forbidden.reached.Load() == 0 {
		t.Error("the trap does not work")
	}
}

// The server's policy is the second wall: markup that did get in could do nothing.
func TestThePolicyHoldsEvenForMarkupThatGotIn(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	b := newTab(t)
	b.goTo(rehearse(t).link)
	b.sees(".agent", "Mira")
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`new Promise((done) => {
		document.body.insertAdjacentHTML("beforeend", "<img id=inline src=/absent onerror=canary('inline')><img id=far src=%[1]s/i.png><iframe src=%[1]s/></iframe><script src=%[1]s/x.js></scr"+"ipt>");
		const script = document.createElement("script");
		script.src = "%[1]s/y.js";
		document.body.append(script);
		let left = 3;
		const blocked = () => --left || done(true);
		inline.addEventListener("error", blocked), far.addEventListener("error", blocked), script.addEventListener("error", blocked);
	})`, forbidden.url), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range b.notes() {
		if strings.HasPrefix(note, "a script ran") {
			t.Error(note)
		}
	}
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
}

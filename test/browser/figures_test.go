package browser

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// axe is the source of axe-core, which setup installs.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), "tools", "npm", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not installed: run make setup")
	}
	return string(data)
}

// inDarkness has a tab use dark colours.
func (b *tab) inDarkness() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// TestEveryViewHasNamesFitsAndPassesAxe looks at every view in light and dark colours,
// and on a narrow telephone.
func TestEveryViewHasNamesFitsAndPassesAxe(t *testing.T) {
	t.Parallel()
	source := axe(t)
	for name, prepare := range map[string]func(*tab){
		"light": func(*tab) {}, "dark": (*tab).inDarkness, "phone": func(b *tab) { b.do(chromedp.EmulateViewport(360, 740)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEveryView(t, prepare, func(b *tab, view string) {
				b.t.Helper()
				b.picture(name + "-" + view)
				switch name {
				case "phone":
					b.fits(view)
				case "light":
					b.hasNames(view)
				}
				if found := b.axeFinds(source); len(found) > 0 {
					b.t.Errorf("%s:\n%s", view, strings.Join(found, "\n"))
				}
			})
		})
	}
}

// longConversation has the page's requests for one conversation answered with a thousand
// messages, as the server sends them, and opens it.
const longConversation = `(async () => {
	const id = "3f0e7c9a-1111-4000-8000-000000000001", events = [];
	const add = (kind, body, run, step) => events.push(JSON.stringify({ seq: events.length + 1, kind, time: new Date(1.7e12 + events.length * 900).toISOString(), run, agent: "clerk", step, body }));
	const text = "## Answer\n\nSome **rich** text with ` + "\\`code\\`" + `, a [link](https://example.org) and\n\n- a list\n- of two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n";
	for (let i = 0; i < 500; i++) {
		add("run_started", { input: { task: "Message " + i } }, "r" + i, "0");
		add("user_said", { text: "Message " + i }, "r" + i, "1");
		add("model_replied", { model: "stub-1", message: { role: "assistant", text: text + i }, usage: { input_tokens: 1200, output_tokens: 80 }, finish: "stop", cost: 0.003, latency_ms: 900 }, "r" + i, "2");
		add("run_finished", { stop: "answered", output: { summary: text + i } }, "r" + i, "");
	}
	const real = window.fetch;
	window.fetch = (address, options) => {
		const url = new URL(address, location.href);
		if (!url.pathname.includes(id)) return real(address, options);
		if (url.searchParams.has("limit")) {
			const before = Number(url.searchParams.get("before")) || events.length + 1, limit = Number(url.searchParams.get("limit"));
			return Promise.resolve(new Response("[\n" + events.slice(Math.max(0, before - 1 - limit), before - 1).join(",\n") + "\n]\n"));
		}
		if (url.pathname.endsWith("/events")) return Promise.resolve(new Response(new ReadableStream({}), { headers: { "Content-Type": "text/event-stream" } }));
		if (url.pathname.endsWith("/queue")) return Promise.resolve(Response.json({ messages: [], held: false }));
		return Promise.resolve(Response.json({ id, agent: "clerk", status: "completed", events: events.length, title: "Long", updated: new Date().toISOString() }));
	};
	const begin = performance.now();
	location.hash = "#/s/" + id;
	return new Promise((done) => {
		const look = () => document.querySelectorAll(".turn .prose").length >= 10 ? requestAnimationFrame(() => done(performance.now() - begin)) : setTimeout(look, 2);
		look();
	});
})()`

// How long it takes to open a conversation of a thousand messages, reported and not
// judged: a busy machine takes longer. What the browser itself spent does not depend on
// how busy the machine is.
func TestALongConversationOpens(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.sees(".agent", "clerk")
	b.click(".agent header button", "clerk") // what a conversation needs is loaded
	b.sees(".beginning h2", "clerk")
	value[any](b, "void (location.hash = '#/files')")
	b.sees("h1", "Files")
	before := b.spentOn(t)
	took, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](longConversation, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	opened := b.spentOn(t)
	b.holds("find('.earlier') && parseInt(find('.earlier').innerText) > 900") // the whole of it is there
	after := b.spentOn(t)
	spent := func(from, to map[string]float64, name string) float64 { return (to[name] - from[name]) * 1000 }
	t.Logf("1,000 messages are open after %.0f ms, with %.0f ms of work, of which the browser spent %.0f ms on scripts and %.0f ms on style and layout; all of them are there after %.0f ms of work",
		took, spent(before, opened, "TaskDuration"), spent(before, opened, "ScriptDuration"), spent(before, opened, "LayoutDuration")+spent(before, opened, "RecalcStyleDuration"), spent(before, after, "TaskDuration"))
	b.picture("long")
}

// How many frames a second there are while 300 tokens a second stream, reported and
// not judged.
func TestStreamingKeepsItsFrames(t *testing.T) {
	if os.Getenv("TROUPE_FIGURES") == "" {
		t.Skip("takes a while; TROUPE_FIGURES=1 runs it")
	}
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, `void (globalThis.frames_ = [], (function tick(t) { frames_.push(t); requestAnimationFrame(tick); })(performance.now()))`)
	b.holds("frames_.length > 120")
	idle := value[float64](b, "frames_.length / ((frames_.at(-1) - frames_[0]) / 1000)")
	b.say("Write at length")
	a := m.asked(t)
	value[any](b, "void (frames_.length = 0)")
	before := b.spentOn(t)
	ticker := time.NewTicker(time.Second / 300)
	defer ticker.Stop()
	for i := range 1500 {
		<-ticker.C
		word := "word "
		if i%40 == 39 {
			word = "**bold**.\n\n"
		}
		a.say(word)
	}
	after := b.spentOn(t)
	type figures struct{ FPS, P95, Worst float64 }
	f := value[figures](b, `(() => {
		const gaps = frames_.slice(1).map((t, i) => t - frames_[i]).sort((x, y) => x - y);
		return { FPS: gaps.length / ((frames_.at(-1) - frames_[0]) / 1000), P95: gaps[Math.floor(gaps.length * 0.95)], Worst: gaps.at(-1) };
	})()`)
	a.end()
	t.Logf("%.0f frames a second while 300 tokens a second stream, %.0f while nothing does; 95 of 100 frames within %.1f ms, the longest %.0f ms; each token took %.2f ms of script and %.2f ms of layout and style", f.FPS, idle, f.P95, f.Worst,
		(after["ScriptDuration"]-before["ScriptDuration"])/1.5, (after["LayoutDuration"]+after["RecalcStyleDuration"]-before["LayoutDuration"]-before["RecalcStyleDuration"])/1.5)
}

// spentOn is what the browser has spent on the tab so far, in seconds, by kind.
func (b *tab) spentOn(t *testing.T) map[string]float64 {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	found, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	spent := map[string]float64{}
	for _, m := range found.Metrics {
		spent[m.Name] = m.Value
	}
	return spent
}

// How the run of a conversation with 10,000 calls scrolls, reported and not judged.
func TestTenThousandCallsScroll(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	type figures struct {
		Idle, Open, FPS, Worst, Fling float64
		Drawn, Kept, At, Ruled, Left  int
		Place                         string
	}
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](`(async () => {
		const [{ Session }, { Run }, { render }, { html }, { styled }] = await Promise.all([import(location.origin + "/fold.js"), import(location.origin + "/run.js"), import(location.origin + "/lib/preact.js"), import(location.origin + "/view.js"), import(location.origin + "/view.js")]);
		await styled(() => Promise.resolve({}));
		const session = new Session(), at = (i) => new Date(1.7e12 + i * 900).toISOString();
		let seq = 0;
		const take = (kind, body, step) => session.take({ seq: ++seq, kind, time: at(seq), run: "r", agent: "clerk", step, body });
		take("run_started", { input: { task: "much" } }, "0");
		for (let i = 0; i < 10000; i++) {
			take("tool_called", { tool: "read_file", call_id: "c" + i, arguments: { file_path: i + ".md" } }, "1/" + i);
			take("tool_returned", { tool: "read_file", call_id: "c" + i, content: "text", size: 4, duration_ms: 3 }, "1/" + i);
		}
		const place = Object.assign(document.createElement("div"), { className: "room solo" });
		place.style.height = "700px";
		document.querySelector("main").replaceChildren(place);
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		const rate = async (n, act) => {
			const times = [];
			for (let i = 0; i < n; i++) {
				act(i);
				times.push(await frame());
			}
			const gaps = times.slice(1).map((t, i) => t - times[i]);
			return { fps: gaps.length / ((times.at(-1) - times[0]) / 1000), worst: Math.max(...gaps) };
		};
		const { fps: idle } = await rate(60, () => {});
		const begin = performance.now();
		render(html`+"`<${Run} here=${{ id: 'none', session }} at='' agent=${{ name: 'clerk' }} />`"+`, place);
		await frame(), await frame();
		const open = performance.now() - begin;
		const box = place.querySelector(".lanes"), rows = () => [...place.querySelectorAll(".rows-drawn .lane")];
		Object.assign(globalThis, { measured: { box, place, rows, frame, rate, idle, open } });
	})()`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	before := b.spentOn(t)
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](`(async () => {
		measured.scroll = await measured.rate(180, () => (measured.box.scrollTop += 120)); // as a wheel does
	})()`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	after := b.spentOn(t)
	f, err := chromedp.Run(b.ctx, chromedp.Evaluate[figures](`(async () => {
		const { box, place, rows, frame, rate, idle, open, scroll } = measured;
		const there = rows();
		box.scrollTop += 512; // one piece
		await frame(), await frame();
		const kept = there.filter((row) => row.isConnected).length;
		let ruled = 0;
		const unread = () => place.querySelectorAll(".piece.ruled").length;
		const fling = await rate(60, () => ((box.scrollTop += 2400), (ruled = Math.max(ruled, unread()))));
		await frame(), await frame();
		// What is in view is what belongs there.
		const y = (e) => e.getBoundingClientRect().top, height = rows()[0].offsetHeight, inView = rows().find((row) => y(row) > y(box) + 40);
		const number = Math.round((y(inView) - y(place.querySelector(".rows-drawn"))) / height) - 1; // the run itself is a row
		return { Idle: idle, Open: open, FPS: scroll.fps, Worst: scroll.worst, Fling: fling.fps, Drawn: rows().length, Kept: kept, At: number, Place: inView.innerText, Ruled: ruled, Left: unread() };
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	if f.Drawn > 100 || f.Kept < 40 {
		t.Errorf("%d rows of 10,000 are drawn, %d stay where somebody scrolls a little", f.Drawn, f.Kept)
	}
	if f.At < 1000 || !strings.Contains(f.Place, strconv.Itoa(f.At)+".md") {
		t.Errorf("row %d shows %q", f.At, f.Place)
	}
	if f.Ruled == 0 || f.Left != 0 {
		t.Errorf("flung past, %d pieces are only ruled, and %d when it has ended", f.Ruled, f.Left)
	}
	spent := func(name string) float64 { return (after[name] - before[name]) * 1000 / 180 }
	t.Logf("10,000 calls are drawn after %.0f ms, and scroll at %.0f frames a second (%.0f where nothing happens), the longest %.0f ms; flung, 75 rows a frame, at %.0f; %d rows are in the document; a frame took %.2f ms of script and %.2f ms of layout and style, of %.2f ms in all", f.Open, f.FPS, f.Idle, f.Worst, f.Fling, f.Drawn,
		spent("ScriptDuration"), spent("LayoutDuration")+spent("RecalcStyleDuration"), spent("TaskDuration"))
}

// slow gives a tab the network that those who measure pages have for fast 3G, with a latency in
// milliseconds; a latency of 0 takes it away.
func (b *tab) slow(latency float64) {
	b.t.Helper()
	conditions := network.OverrideNetworkStateParams{Latency: latency, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 0.75e6 / 8}
	if latency == 0 {
		conditions.DownloadThroughput, conditions.UploadThroughput = -1, -1
	}
	if _, err := chromedp.Call(b.ctx, cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}, conditions); err != nil {
		b.t.Fatal(err)
	}
}

// The first load as the browser counts it, and how long it takes on the network of a
// telephone until somebody can write, reported and not judged. A second one asks for
// nothing that the browser has.
func TestTheFirstLoadIsCounted(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: notesWhenUsable}); err != nil {
		t.Fatal(err)
	}
	h := rehearse(t)
	b.slow(150)
	b.goTo(h.link)
	usable := until[float64](b, "globalThis.usableAt")
	b.sees(".agent", "Mira")
	b.holds("performance.getEntriesByType('resource').some((e) => e.name.endsWith('/room.js'))") // what is likely to be wanted next
	type load struct {
		Files, Asked []string
		Bytes        float64
	}
	const counted = `(() => { const all = performance.getEntriesByType("resource").filter((e) => !e.name.includes("/api/")), names = (list) => list.map((e) => e.name); return { Files: names(all), Asked: names(all.filter((e) => e.transferSize > 0)), Bytes: all.reduce((sum, e) => sum + e.encodedBodySize, 0) }; })()`
	l := value[load](b, counted)
	b.do(chromedp.Reload())
	again := until[float64](b, "globalThis.usableAt")
	b.sees(".agent", "Mira")
	second := value[load](b, counted)
	for _, name := range second.Asked {
		if slices.Contains(l.Files, name) {
			t.Errorf("%s is asked for again", name)
		}
	}
	b.slow(562.5)
	if _, err := chromedp.Call(b.ctx, network.ClearBrowserCache, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Reload())
	slowest := until[float64](b, "globalThis.usableAt")
	t.Logf("home: %d files, %.0f bytes as sent, what is fetched ahead while idle included; usable on fast 3G after %.0f ms, the second time after %.0f ms; with 562 ms to every answer after %.0f ms", len(l.Files), l.Bytes, usable, again, slowest)
}

// notesWhenUsable has a page note when somebody can write, in milliseconds.
const notesWhenUsable = `(() => {
	new MutationObserver((_, watch) => {
		if (!document.querySelector(".ask textarea")) return;
		watch.disconnect();
		requestAnimationFrame(() => (globalThis.usableAt = performance.now()));
	}).observe(document, { childList: true, subtree: true });
})()`

// A frame of diagrams is attacked: what it is sent can neither run in the page nor
// reach anything.
func TestADiagramIsDrawnInAFrameThatCanDoNothing(t *testing.T) {
	t.Parallel()
	forbidden := newTrap(t)
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("Draw it")
	m.answers(t, "A drawing:\n\n```mermaid\nflowchart LR\n  A[Scan the card] --> B{Free locker?}\n  B -->|yes| C[Put the book in]\n```\n\n$$P = \\frac{a^c}{c!} \\approx 0.04$$\n\nand `x`\n")
	b.holds("find('.fig iframe') && find('.fig iframe').clientHeight > 40")
	b.holds("find('.math .katex')")
	b.picture("diagram-and-formula")
	b.say("Attack")
	m.answers(t, strings.NewReplacer("TRAP", forbidden.url).Replace("```mermaid\n%%{init: {\"securityLevel\": \"loose\", \"theme\": \"base\", \"themeCSS\": \"@import 'TRAP/x.css'\"}}%%\nflowchart LR\n  A[\"<img src=x onerror=parent.canary('label')>\"] --> B[\"<script>parent.canary('script')</script>\"]\n  click A \"javascript:parent.canary('click')\"\n  click B call parent.canary()\n```\n\n$$\\href{javascript:canary('href')}{x} \\includegraphics{TRAP/i.png} \\htmlData{onclick=canary}{y}$$\n"))
	b.holds("all('.fig').length === 2")
	b.holds("all('.math, .formula').length >= 2")
	b.isInert()
	// The frame itself is hostile: it says what it likes.
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](`(() => {
		const frame = document.querySelector(".fig iframe");
		let reached = "";
		try { reached = String(frame.contentWindow.document.body); } catch { reached = "no"; }
		if (reached !== "no") throw new Error("the frame is of our origin: " + reached);
		for (const data of [{ height: 1e9 }, { height: "<script>" }, { failed: "<img src=x onerror=canary('failed')>" }, "text", null, 7, { ready: "yes" }]) window.dispatchEvent(new MessageEvent("message", { source: frame.contentWindow, data }));
		window.dispatchEvent(new MessageEvent("message", { source: window, data: { failed: "from elsewhere" } }));
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	b.lacks(".fig", "from elsewhere")
	b.isInert()
	if n := forbidden.reached.Load(); n > 0 {
		t.Errorf("another host was reached %d times", n)
	}
	b.picture("frame-attacked")
}

// What the frame may load is static; nothing else answers to an origin that is nobody's.
func TestOnlyStaticFilesAnswerToAFrame(t *testing.T) {
	t.Parallel()
	h := rehearse(t)
	origin, token, _ := strings.Cut(h.link, "/#token=")
	for path, want := range map[string]int{"/frame/diagram.js": 200, "/lib/mermaid/mermaid.mjs": 200, "/app.js": 403, "/api/agents": 403, "/": 403} {
		request, err := http.NewRequestWithContext(context.Background(), "GET", origin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", "null")
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want || (want == 200) != (response.Header.Get("Access-Control-Allow-Origin") == "*") {
			t.Errorf("%s: %d, %v", path, response.StatusCode, response.Header)
		}
	}
}

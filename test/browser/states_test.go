package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// inEveryState brings a tab into each of the states that are no view of their own, and
// calls see in it: signed out, empty, loading, asked, in trouble, tried again, out of reach,
// restarted, and what opens above the page.
func inEveryState(t *testing.T, prepare func(*tab), see func(b *tab, state string)) {
	t.Helper()
	m, bad := newModel(t), faults(t)
	m.directed(t,
		script{"Write the brief", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/brief.md", "content": "# Lockers\n"}}, {tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/hours.csv", "content": "a,b\n"}},
			{text: "It is written. Which way should it recommend?\n\n1. One bank, emptied at ten: the cheapest that works\n2. Two banks: never full"}}},
		script{"Count slowly", []reply{{text: "One, two", held: true}}},
	)
	dir := project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.NewReplacer("URL,", m.URL+"/v1,", "}}}}}\n", "}}}}, bad: {base_url: "+bad.URL+"/v1, models: {bad-1: {}}}}\n", "model_tries: 1", "model_tries: 3",
		"agents:\n", "agents:\n  debtor: {instructions: You owe., description: Has no key., skills: false, tools: [], model: bad/bad-1}\n").Replace(configuration)})
	h, stop := serveUntil(t, dir)
	r := newRelay(t, h.link)
	origin, _, _ := strings.Cut(r.link, "#")

	b := newTab(t)
	prepare(b)
	at := func(hash, seen, state string) {
		t.Helper()
		value[any](b, "void (location.hash = %s)", hash)
		b.holds("find(%s)", seen)
		b.rests()
		see(b, state)
	}
	b.goTo(origin)
	b.sees("h1", "Welcome to Troupe")
	b.write("#code", "not-a-code-0123456789")
	b.press(kb.Enter)
	b.sees(".trouble", "This code is not known here")
	see(b, "sign-in")
	b.goTo(r.link)
	b.sees(".agent", "clerk")
	b.do(chromedp.Reload())
	b.sees(".agent", "clerk")
	b.rests()
	see(b, "home-empty")
	at("#/files", ".library .dim", "files-empty")
	at("#/chats", ".page h1", "chats")
	at("#/more", ".more-places", "more")
	at("#/s/3f0e7c9a-0000-4000-8000-000000000000", ".trouble", "gone")

	brief := h.asks(t, "clerk", "", "Write the brief")
	at("#/", ".waits", "home-waiting")
	at("#/s/"+brief, ".asks .choice", "question")
	b.click(".bar button", "More")
	b.click(".pop button", "Files of other conversations")
	b.holds("find('dialog[open]')")
	see(b, "related")
	b.reads("dialog button", "Close") // there is nothing to choose
	b.presses("dialog button", "Close")
	at("#/s/"+h.begins(t, "debtor", "key"), ".trouble button", "trouble")
	at("#/s/"+h.begins(t, "debtor", "slowly"), ".retry button", "retry")
	at("#/settings/skills", ".set h2", "skills")
	at("#/settings/about", ".set h2", "about")
	value[any](b, "void (location.hash = '#/settings/agents')")
	b.click(".rows button", "What its model is told")
	b.holds("find('.told pre')")
	see(b, "told")
	value[any](b, "void (location.hash = '#/settings/mcp')")
	b.click(".set button", "Add a server")
	see(b, "add-server")
	// What takes its time to be loaded.
	value[any](b, "void (globalThis.inTime = fetch, globalThis.fetch = (address, ...more) => (String(address).includes('api/people') ? new Promise(() => {}) : inTime(address, ...more)), location.hash = '#/settings/people')")
	b.holds("find('.bones')")
	see(b, "loading")
	value[any](b, "void (globalThis.fetch = inTime, location.hash = '#/settings/mcp')")
	b.holds("find('dialog[open]') || void document.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))")
	see(b, "help")
	value[any](b, "void document.querySelector('dialog[open]').close()")

	// The server dies in the middle of an answer, and comes back.
	counting := h.begins(t, "clerk", "Count slowly")
	value[any](b, "void (location.hash = '#/s/' + %s)", counting)
	b.sees(".turn .prose", "One, two")
	stop(os.Kill)
	b.sees(".strip", "Troupe cannot be reached")
	see(b, "offline")
	second, _ := serveUntil(t, dir)
	r.leadTo(t, second.link)
	b.hurries()
	b.sees("dialog", "You are signed out")
	see(b, "signed-out")
	b.write("dialog input", second.link)
	b.press(kb.Enter)
	b.lacks("dialog", "You are signed out")
	b.sees(".trouble", "Troupe was restarted in the middle of this")
	b.rests()
	see(b, "restarted")
}

// looks are how the states are looked at: in both themes, on a desk and on a phone.
var looks = map[string]func(*tab){
	"light": (*tab).inLight,
	"dark":  (*tab).inDarkness,
	"phone": func(b *tab) {
		b.inLight()
		b.do(chromedp.EmulateViewport(390, 844))
	},
	"phone-dark": func(b *tab) {
		b.inDarkness()
		b.do(chromedp.EmulateViewport(390, 844))
	},
}

func TestAxeFindsNothingInAnyState(t *testing.T) {
	t.Parallel()
	source := axe(t)
	for name, prepare := range looks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEveryState(t, prepare, func(b *tab, state string) {
				b.t.Helper()
				look := b.axeFinds
				if state == "loading" {
					look = b.axeFindsNow // it does not come to rest
				}
				if found := look(source); len(found) > 0 {
					t.Errorf("%s:\n%s", state, strings.Join(found, "\n"))
				}
			})
		})
	}
}

// TestTheGalleryOfStates takes the pictures of the states that are no view of their own, for
// the gallery. Nothing in them is wider than the screen.
func TestTheGalleryOfStates(t *testing.T) {
	if os.Getenv("TROUPE_GALLERY") == "" {
		t.Skip("takes minutes; TROUPE_GALLERY=1 takes the pictures, into test-results/gallery")
	}
	for name, prepare := range looks {
		t.Run(name, func(t *testing.T) {
			inEveryState(t, prepare, func(b *tab, state string) {
				b.t.Helper()
				b.picture("gallery/08-" + state + "-" + name)
				if value[bool](b, "document.documentElement.scrollWidth > innerWidth") {
					t.Errorf("%s: it is wider than the screen", state)
				}
			})
		})
	}
}

package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The errors that no model makes: a run that takes too long, a server that has too much
// to do, tools that have gone away, and an agent that cannot start.

func TestALimitOfTimeIsNamed(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Think for long", []reply{{text: "I am thinking", held: true}, {text: "still", held: true}}})
	h := serve(t, project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "model_tries: 1", "model_tries: 1, time: 1s").Replace(configuration)}))
	b := begin(t, h.link, "clerk")
	b.say("Think for long")
	b.sees(".trouble b", "The limit of")
	b.sees(".trouble b", "is reached")
	b.holds("all('.trouble').length === 1")
	b.holds("find('.composer button', 'Send')")
	b.picture("limit-time")
}

// refusedOnce has the first message that a page sends be refused in a way, as JavaScript that
// makes the answer of the request's options.
const refusedOnce = `void (() => {
	const real = window.fetch;
	let refused = false;
	window.fetch = (address, options) => {
		if (refused || options?.method !== "POST" || !String(address).endsWith("/messages")) return real(address, options);
		refused = true;
		window.refused = true;
		return (%s)(address, options, real);
	};
})()`

// What is said while somebody else's message is answered waits, even where the page has
// not heard of that; and a server that has too much to do is asked again by the page.
func TestABusyServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("First")
	a := m.asked(t)
	a.say("One")
	b.reads(answers, "One")
	// The page says it as though nothing was under way.
	value[any](b, strings.Replace(refusedOnce, "%s", `(address, options, real) => real(address, { ...options, body: JSON.stringify({ ...JSON.parse(options.body), when: "" }) })`, 1))
	b.write(composer, "Second")
	b.press(kb.Enter)
	b.sees(".queues", "Second")
	b.holds("window.refused")
	a.say(".")
	a.end()
	m.answers(t, "Two.")
	b.reads(answers, "One.", "Two.")

	// The server has too much to do.
	value[any](b, strings.Replace(refusedOnce, "%s", `() => Promise.resolve(new Response('{"title":"Service Unavailable","status":503,"detail":"there is too much to do right now","code":"busy"}', { status: 503, headers: { "Retry-After": "1", "Content-Type": "application/problem+json" } }))`, 1))
	b.say("Third")
	b.toasted("Too much at once. It goes on by itself")
	m.answers(t, "Three.")
	b.reads(answers, "One.", "Two.", "Three.")
	b.reads(said, "First", "Second", "Third")
}

func TestToolsThatAreGoneAreNamed(t *testing.T) {
	t.Parallel()
	tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "look", Description: "Looks into the calendar."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Nothing today."}}}, nil, nil
	})
	remote := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	gone := func() {
		remote.CloseClientConnections()
		remote.Close()
	}
	t.Cleanup(gone)
	m := newModel(t)
	h := office(t, m, "mcp: {calendar: {url: \""+remote.URL+"\"}}\nagents: {ada: {tools: [bundle, \"calendar__*\"]}}\n")
	b := begin(t, h.link, "Ada")
	b.say("What is today?")
	m.calls(t, "calendar__look", map[string]any{})
	if a := m.asked(t); !strings.Contains(a.last, "Nothing today.") {
		t.Errorf("the tool said %q", a.last)
	} else {
		a.say("Nothing.")
		a.end()
	}
	b.reads(answers, "Nothing.")
	gone()
	b.say("And tomorrow?")
	m.calls(t, "calendar__look", map[string]any{})
	m.answers(t, "I cannot see it now.")
	b.sees(answers, "I cannot see it now.")
	b.sees(".trouble.soft b", "The tools of calendar are not there now")
	b.sees(".trouble.soft p", "Ada went on without them.")
	b.picture("trouble-tools")
	b.click(".trouble.soft button", "Settings")
	b.sees(".rows", "calendar")

	// It can be switched off, and is then nobody's.
	b.click(".rows [role=switch]", "Use calendar")
	b.sees(".rows", "nobody has its tools")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "off: true") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "Ada")
	b.sees(".beginning h2", "Ada")
	b.say("Which tools do you have?")
	a := m.asked(t)
	if strings.Contains(a.all, "calendar__look") {
		t.Error("the agent has tools of a server that is switched off")
	}
	a.say("None of these.")
	a.end()
	b.sees(answers, "None of these.")
}

// An agent that cannot start says why on its card, and an operator sees where.
func TestAnAgentThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	file := filepath.Join(h.dir, "bmad/custom/bundles/office/config.yaml")
	b := begin(t, h.link, "Ada")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Reload())
	b.sees(".trouble b", "Ada cannot start")
	b.sees(".trouble p", "config.yaml is missing.")
	b.opensAll()
	b.sees(".trouble pre", "config.yaml")
	b.picture("trouble-agent")
	b.click(".trouble button", "See where")
	b.sees(".set h2", "Agents")
	b.do(chromedp.Reload())
	b.sees(".bad-row", "cannot start")
	value[any](b, "void (location.hash = '#/')")
	b.sees(".agent .bad", "config.yaml is missing. See where")
	b.lacks(".agent", "Critical action")
	b.lacks(".agent", "{")
	b.holds("find('.agent header button', 'Ada').disabled")
}

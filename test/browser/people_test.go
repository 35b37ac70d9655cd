package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// choose puts files into a field as a person does who chooses them.
func (b *tab) choose(selector string, files ...string) {
	b.t.Helper()
	b.holds("document.querySelector(%s)", selector)
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		found, err := cdp.Call(ctx, target, runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprintf("document.querySelector(%q)", selector)})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, target, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, ObjectID: found.Result.ObjectID})
		return err
	}))
}

func TestThreeFilesThatAreChosenAreThreeAttached(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"one.md", "two.csv", "three.txt"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte("content of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.choose(".composer input[type=file]", files...)
	b.holds("all('.attached li').length === 3")
	b.write(composer, "Look at these")
	b.press(kb.Enter)
	a := m.asked(t)
	for _, name := range []string{"one.md", "two.csv", "three.txt"} {
		if !strings.Contains(a.all, "content of "+name) {
			t.Errorf("the model was not given %s", name)
		}
	}
	a.say("Three files.")
	a.end()
	b.reads(answers, "Three files.")
	b.holds("all('.said .attachment').length === 3")
}

// What is dropped on the first screen is attached there, and on the files added to them;
// nowhere does the browser go where the file is.
func TestFilesAreDroppedOnThePage(t *testing.T) {
	t.Parallel()
	b := open(t, play(t, newModel(t)).link)
	b.sees(".agent", "clerk")
	drop := func(on string) {
		t.Helper()
		if !value[bool](b, `(() => {
			const held = new DataTransfer();
			for (const name of ["a.md", "b.csv"]) held.items.add(new File(["text"], name));
			const drop = new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true });
			find(%s).dispatchEvent(drop);
			return drop.defaultPrevented;
		})()`, on) {
			t.Errorf("the browser goes where what is dropped on %s is", on)
		}
	}
	drop(".agent")
	b.sees(".ask .attached", "a.md")
	b.sees(".ask .attached", "b.csv")
	value[any](b, `void (() => {
		const held = new DataTransfer();
		held.items.add(new File([new Uint8Array(9 << 20).fill(65)], "big.txt"));
		find(".agent").dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
	})()`)
	b.toasted("big.txt is too large: 9.0 MB of at most 8.0 MB. It was not attached.")
	drop(".side")
	value[any](b, "void (location.hash = '#/files')")
	b.holds("find('.library p')")
	drop(".library p")
	b.sees(".library td", "b.csv")
}

func TestATabThatIsOpenOverARestartLosesNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := project(t, map[string]string{"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1), "legal.json": legalSchema})
	first, stop := serveUntil(t, dir)
	r := newRelay(t, first.link) // its address stays the same, whatever others do meanwhile
	b := begin(t, r.link, "clerk")
	b.say("Count to three")
	m.answers(t, "One, two, three.")
	b.reads(answers, "One, two, three.")
	b.write(composer, "Typed before the restart")
	stop(os.Interrupt)
	b.sees(".strip", "Troupe cannot be reached")
	b.press(kb.Enter) // it cannot be sent, and stays where it is
	b.toasted("Troupe cannot be reached. What you typed is kept.")
	b.holds("find(%s).value === 'Typed before the restart'", composer)
	second, _ := serveUntil(t, dir)
	r.leadTo(t, second.link)
	b.hurries()
	b.sees("dialog", "You are signed out") // the token is another one
	b.picture("signed-out")
	b.write("dialog input", second.link) // the whole link
	b.press(kb.Enter)
	b.lacks("dialog", "")
	b.reads(answers, "One, two, three.")
	b.holds("find(%s).value === 'Typed before the restart'", composer)
	b.say("Typed before the restart")
	m.answers(t, "Here again.")
	b.reads(answers, "One, two, three.", "Here again.")
}

// What is on its way to the server when a page is left is in the box when it is opened again.
func TestAPageThatIsLeftWhileItSendsLosesNothing(t *testing.T) {
	t.Parallel()
	b := begin(t, play(t, newModel(t)).link, "clerk")
	value[any](b, `void ((ask) => { globalThis.fetch = (path, options) => String(path).endsWith("/messages") ? ((globalThis.isSent = true), new Promise(() => {})) : ask(path, options); })(globalThis.fetch)`)
	b.say("A long and careful message")
	b.holds("globalThis.isSent && find(%s).value === ''", composer)
	b.do(chromedp.Reload())
	b.holds("find(%s).value === 'A long and careful message'", composer)
}

// Who signs in in one tab is signed in in all of them.
func TestSigningInHoldsForEveryTab(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	dir := project(t, map[string]string{"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1), "legal.json": legalSchema})
	first, stop := serveUntil(t, dir)
	r := newRelay(t, first.link)
	b := begin(t, r.link, "clerk")
	ctx, cancel := chromedp.NewContext(b.ctx) // another tab of the same browser
	t.Cleanup(cancel)
	other := &tab{t: t, ctx: ctx}
	origin, _, _ := strings.Cut(r.link, "#")
	other.do(chromedp.Navigate(origin))
	other.sees(".agent", "clerk")
	stop(os.Interrupt)
	for _, tab := range []*tab{b, other} {
		tab.sees(".strip", "Troupe cannot be reached")
	}
	second, _ := serveUntil(t, dir)
	r.leadTo(t, second.link)
	for _, tab := range []*tab{b, other} {
		tab.hurries()
		tab.sees("dialog", "You are signed out")
	}
	b.write("dialog input", second.link)
	b.press(kb.Enter)
	b.lacks("dialog", "")
	other.lacks("dialog", "")
	other.holds("!find('.strip')")
}

// What no model can read is not sent to one.
func TestWhatNoModelReadsIsNotAttached(t *testing.T) {
	t.Parallel()
	b := begin(t, play(t, newModel(t)).link, "clerk")
	files := written(t, "notes.md")
	noise := filepath.Join(t.TempDir(), "noise.bin")
	if err := os.WriteFile(noise, []byte("MZ\x00\x01\x02noise"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.choose(".composer input[type=file]", append(files, noise)...)
	b.toasted("noise.bin is neither text nor a picture nor a PDF: models cannot read it. It was not attached.")
	b.reads(attached+" button", "") // one, whose cross has no words
	b.sees(attached, "notes.md")
}

func TestALinkThatIsPastedIntoATabSignsIn(t *testing.T) {
	t.Parallel()
	link := rehearse(t).link
	origin, _, _ := strings.Cut(link, "#")
	b := open(t, origin)
	b.sees("h1", "Welcome to Troupe")
	b.write("#code", "not-a-code-0123456789")
	b.click("form button", "Come in")
	b.sees(".trouble", "This code is not known here")
	b.picture("sign-in-refused")
	value[any](b, "void (location.href = %s)", link) // only the fragment changes: nothing is loaded
	b.sees(".agent", "Mira")
	if address := value[string](b, "location.href"); strings.Contains(address, "token") {
		t.Errorf("the token is still in the address: %s", address)
	}
}

func TestWhatIsSaidWhileAnAgentWorksWaitsItsTurn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("First")
	a := m.asked(t)
	a.say("One")
	b.reads(answers, "One")
	for _, text := range []string{"Second", "Third"} {
		b.write(composer, text)
		b.press(kb.Enter)
		b.sees(".queues", text)
	}
	b.picture("queue")
	b.do(chromedp.Reload()) // it lives on the server
	b.sees(".queues", "Second")
	b.click(".queues li:nth-child(2) button", "Remove")
	b.lacks(".queues", "Third")
	a.say(".")
	a.end()
	next := m.asked(t)
	if next.user != "Second" {
		t.Errorf("the model is asked %q", next.user)
	}
	b.lacks(".queues", "Second")
	b.write(composer, "Fourth")
	b.press(kb.Enter)
	b.sees(".queues", "Next: “Fourth”")
	b.presses(".composer button", "Stop")
	next.isLeft()
	b.reads(".queues .queue:first-child span", "Held: the answer before was stopped.") // a stop holds the queue, and nothing else does
	b.sees(".queues", "“Fourth”")
	b.click(".queues button", "Send now")
	m.answers(t, "Four.")
	b.sees(answers, "Four.")
	b.reads(said, "First", "Second", "Fourth")
}

func TestVersionsAreComparedEditedAndBroughtBack(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	for i, content := range []string{"# Brief\n\nMany readers pay a fee.\n\n- one\n- two", "# Brief\n\nNine of fourteen readers pay a fee.\n\n- one\n- three"} {
		b.say(fmt.Sprintf("Version %d", i+1))
		m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/brief.md", "content": content})
		m.answers(t, "Saved.")
		b.holds("all(%s).length === %s", answers, i+1)
	}
	b.holds("find('.composer button', 'Send')")
	b.holds("(all('.doc button').at(-1).click(), true)") // that of the second version
	b.sees(".panel .prose", "Nine of fourteen")
	b.click(".panel .seg button", "Changes")
	b.sees(".panel del", "Many")
	b.sees(".panel ins", "Nine of fourteen")
	b.sees(".panel del", "two")
	b.picture("changes")
	b.click(".panel .seg button", "Read")
	b.click(".panel button", "Edit")
	b.write(".editor textarea", "# Brief\n\nWritten by hand.")
	b.click(".editor button", "Save a version")
	b.sees(".panel .prose", "Written by hand.")
	b.sees(".panel .pick", "Version 3")
	b.chooses(".panel select[aria-label=Version]", "1")
	b.sees(".panel .prose", "Many readers")
	b.click(".panel button", "Bring back")
	b.sees(".panel .pick", "Version 4")
	b.sees(".panel .prose", "Many readers")
	files, _ := filepath.Glob(filepath.Join(h.dir, "data/agent-outputs/*/brief.md"))
	if len(files) != 1 {
		t.Fatalf("there are %v", files)
	}
	if data, _ := os.ReadFile(files[0]); !strings.Contains(string(data), "Many readers") {
		t.Errorf("the file holds %q", data)
	}
	b.click(".side nav a", "Files")
	b.sees(".list", "Brief")
	b.write(".bar input", "Many readers") // in its text
	b.sees(".list", "Many readers pay")
	b.write(".bar input", "nowhere to be found")
	b.sees(".library", "Nothing fits.")
}

// A proxy that mounts the server under a path, as people have them in front.
func TestThePageWorksUnderAPathBehindAProxy(t *testing.T) {
	t.Parallel()
	link := rehearse(t).link
	to, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/tools/troupe/", http.StripPrefix("/tools/troupe", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", to.Host
		r.Out.Host = r.In.Host
	}}))
	front := httptest.NewServer(mux)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	b := open(t, front.URL+"/tools/troupe/#"+to.Fragment)
	b.click(".agent .does button", "decision")
	b.sees(answers, "What are you trying to decide?")
	b.say("Which database to use")
	b.sees(answers, "Which options do you see?")
	b.click(".side nav a", "Files")
	b.sees("h1", "Files")
	b.do(chromedp.Reload())
	b.sees("h1", "Files")
}

// Of attachments that a model does not take it is said which they are and how large, and
// the message is sent without them by one button.
func TestAttachmentsThatAreTooLargeAreNamedAndDropped(t *testing.T) {
	t.Parallel()
	s := faults(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": "model: stub/stub-1\nproviders: {stub: {base_url: " + s.URL + "/v1}}\nlimits: {model_tries: 1}\nagents: {clerk: {instructions: You are the clerk., tools: []}}\n"}))
	b := begin(t, h.link, "clerk")
	dir := t.TempDir()
	var files []string
	for name, content := range map[string]string{"big.md": "content of big.md" + strings.Repeat(".", 3000), "small.md": "small"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.choose(".composer input[type=file]", files...)
	b.holds("all('.attached li').length === 2")
	b.write(composer, "withheld")
	b.press(kb.Enter)
	b.sees(".trouble", "The attachments are too large for the model")
	b.sees(".trouble p", "big.md, 2.9 KB; small.md, 5 B.")
	b.click(".trouble button", "Send it without the 2 attachments")
	b.sees(answers, "As far as it goes")
	b.lacks(".said", "big.md")
}

// faults is a model server that fails in the way that the last message asks for.
func faults(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(&faulty{may: make(chan struct{})})
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// faulty is that model server. It counts the tries of those that fail at first, and
// answers after them once it may.
type faulty struct {
	tries atomic.Int64
	may   chan struct{}
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tries := &f.tries
	var request struct {
		Messages []struct{ Content any }
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil || len(request.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest) // somebody asks for its models
		return
	}
	last := fmt.Sprint(request.Messages[len(request.Messages)-1].Content)
	for _, message := range request.Messages {
		if message.Content == "long" {
			last = "long" // however often it is asked to go on
		}
	}
	if strings.Contains(last, "content of big.md") {
		last = "large"
	}
	answer := func(status int, code, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":%q,"code":%q}}`, message, code, code)
	}
	switch last {
	case "key":
		answer(401, "invalid_api_key", "Incorrect API key provided")
	case "money":
		answer(402, "insufficient_quota", "You exceeded your current quota")
	case "model":
		answer(404, "model_not_found", "The model does not exist")
	case "large":
		answer(413, "request_too_large", "Request too large")
	case "filter":
		answer(400, "content_filter", "The response was filtered due to the prompt triggering content management policy")
	case "unheard of":
		answer(400, "E1234", "Ask Jane.")
	case "odd":
		answer(400, "invalid_request_error", "Unsupported value: 'temperature' does not support 0")
	case "down":
		answer(503, "unavailable", "overloaded")
	case "context":
		answer(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens")
	case "long", "withheld":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"As far as it goes\"},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", map[string]string{"long": "length", "withheld": "content_filter"}[last])
	case "slowly":
		if tries.Add(1) == 1 {
			w.Header().Set("Retry-After", "110") // of at most two minutes
			answer(429, "rate_limit_exceeded", "Slow down")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"At last.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	case "rate":
		if tries.Add(1) < 3 {
			w.Header().Set("Retry-After", "1")
			answer(429, "rate_limit_exceeded", "Slow down")
			return
		}
		select {
		case <-f.may:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Here I am.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half an\"}}]}\n\n")
	}
}

func TestWhatGoesWrongIsSaidInPeoplesWords(t *testing.T) {
	t.Parallel()
	s := faults(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", s.URL+"/v1", "models: {", "models: {stub-2: {}, ", "model_tries: 1", "model_tries: 3").Replace(configuration), "legal.json": legalSchema}))
	b := open(t, h.link)
	for _, fault := range []struct{ say, title, act string }{
		{"key", "did not accept the key", "Replace the key"}, {"money", "has no credit left", "Use another model"}, {"model", "has no model of this name", "Choose another"},
		{"large", "too large for the model", "Edit the message"}, {"filter", "declined to answer", "Rephrase"}, {"odd", "", "Try again"}, {"odd", "", "Use another model"}, {"unheard of", "", "Use another model"},
		{"withheld", "declined to answer", "Rephrase"}, {"context", "too long for the model", "Use another model"}, {"long", "reached the model’s limit", "Go on"},
		{"down", "has a problem", "Try again"}, {"broken off", "The answer broke off", "Go on from here"},
	} {
		value[any](b, "void (location.hash = '#/')")
		b.click(".agent header button", "clerk")
		b.say(fault.say)
		b.sees(".trouble b", fault.title)
		b.sees(".trouble button", fault.act)
		b.lacks(".trouble > p", "model:")
		b.holds("all('.trouble').length === 1")
		b.picture("trouble-" + fault.say)
	}
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	b.say("rate")
	b.sees(".retry", "stub asks us to slow down")
	b.holds("all('.retry').length === 1")
	b.picture("retry")
	close(s.Config.Handler.(*faulty).may) // the line stays until something comes of it
	b.reads(answers, "Here I am.")
	b.lacks(".retry", "")
	b.lacks(".trouble", "")
	value[any](b, "void (location.hash += '/run')") // attempts that failed are in the row of their call
	b.holds("all('.lane[data-kind=model]').length === 1 && find('.lane[data-kind=model]').querySelectorAll('i.er').length > 0")
	b.picture("retry-run")

	// Whoever does not want to wait does not have to.
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	s.Config.Handler.(*faulty).tries.Store(0)
	b.say("slowly")
	b.sees(".retry", "Going on by itself in")
	b.click(".retry button", "Try now")
	b.reads(answers, "At last.")
	b.lacks(".trouble", "")

	// A conversation that is not there any more.
	value[any](b, "void (location.hash = '#/s/3f0e7c9a-0000-4000-8000-000000000000')")
	b.sees(".trouble", "not here any more")
	b.picture("trouble-gone")
}

// What ends a run by a limit says which one, and what there is stays.
func TestLimitsAreNamedAndRepeatsAreStopped(t *testing.T) {
	t.Parallel()
	look := func(n int) (all []reply) {
		for i := range n {
			all = append(all, reply{tool: "read_file", arguments: map[string]any{"file_path": fmt.Sprintf("{session-folder}/%d.md", i)}})
		}
		return append(all, reply{text: "This is what I have."})
	}
	same := reply{tool: "read_file", arguments: map[string]any{"file_path": "{session-folder}/same.md"}}
	for _, c := range []struct{ limits, say, title, offer string }{
		{"turns: 3", "Look everywhere", "The limit of 3 turns is reached", "Go on, with another 3 turns"}, {"tokens: 2000", "Look everywhere", "The limit of 2,000 tokens is reached", "Go on, with another 2,000 tokens"},
		{"cost: 0.004", "Look everywhere", "The limit of $0.004 is reached", "Go on, with another $0.004"}, {"turns: 40", "Look at the same", "did the same thing over and over", ""},
	} {
		m := newModel(t)
		m.directed(t, script{"Look everywhere", look(3)}, script{"Look at the same", []reply{same, same, same, same, same, same, same, same, {text: "It is not there."}}})
		h := serve(t, project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "model_tries: 1", "model_tries: 1, "+c.limits).Replace(configuration)}))
		b := begin(t, h.link, "clerk")
		b.say(c.say)
		b.sees(".trouble b", c.title)
		// Where the model has no closing words, the card says it, once.
		b.lacks(answers, "I had to stop")
		if c.limits == "turns: 3" {
			b.sees(answers, "This is what I have.")
		}
		b.picture("limit-" + strings.SplitN(c.limits, ":", 2)[0])
		if c.offer == "" {
			continue
		}
		b.sees(".trouble button", c.offer)
		b.click(".trouble button", "Leave it")
		b.lacks(".trouble", "")
		b.sees(".acts", c.title)
	}
}

package server

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/html"

	"github.com/troupe-dev/troupe/internal/corpus"
)

func TestFilesAreListedAndSentToBeKept(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	var list fileList
	w.want(http.StatusOK, &list, "GET", "/api/sessions/"+session+"/files", nil)
	if len(list.Files) != 0 {
		t.Errorf("before anything was said: %v", list)
	}
	w.talk(session, "hello")
	w.write(session, "docs/plän.html", "<script>alert(1)</script>")
	w.want(http.StatusOK, &list, "GET", "/api/sessions/"+session+"/files", nil)
	var names []string
	for _, f := range list.Files {
		names = append(names, f.Path)
	}
	if got := strings.Join(names, " "); got != "docs/plän.html manifest.json" {
		t.Errorf("files are %s", got)
	}
	path := "/api/sessions/" + session + "/files/docs/pl%C3%A4n.html"
	response := w.send(t.Context(), "GET", path, nil)
	response.Body.Close()
	header := response.Header
	if response.StatusCode != http.StatusOK || header.Get("Content-Disposition") != "attachment; filename*=utf-8''pl%C3%A4n.html" ||
		header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("status %d, %v", response.StatusCode, header)
	}
	raw := w.send(t.Context(), "GET", path+"?raw", nil)
	raw.Body.Close()
	if media := raw.Header.Get("Content-Type"); media != "text/plain; charset=utf-8" {
		t.Errorf("raw, it is %s", media)
	}
	w.want(http.StatusUnsupportedMediaType, nil, "GET", path+"?html", nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/sessions/"+session+"/files/none.md", nil)
}

func TestNoNameLeadsOutOfTheSessionsFolder(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session, other := w.session(), w.session()
	w.talk(session, "hello")
	w.talk(other, "hello")
	const canary = "CANARY-7f3a"
	w.write(other, "canary.txt", canary)
	outside := filepath.Join(w.dir, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(outside, "canary.txt"), filepath.Join(w.dir, "canary.txt"), filepath.Join(w.dir, ".env")} {
		if err := os.WriteFile(file, []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := w.store.Path(session) // which has it made
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link-out": outside, "link-canary": filepath.Join(outside, "canary.txt"), "link-up": ".."} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "canary.txt"), filepath.Join(folder, "hard.txt")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := corpus.AttackNames(t, 5000, w.dir, outside)
	names = append([]string{"hard.txt", "pipe", "link-out/canary.txt", "link-canary", "link-up/canary.txt", other + "/canary.txt", "../" + other + "/canary.txt"}, names...)
	for i, name := range names {
		content, err := w.server.readFile(t.Context(), session, name)
		if strings.Contains(content, canary) || err != nil && strings.Contains(err.Error(), w.dir) {
			t.Fatalf("%q: %q %v", name, content, err)
		}
		if i > 500 {
			continue // the way through an address takes longer
		}
		for _, path := range []string{url.PathEscape(name), (&url.URL{Path: name}).EscapedPath()} {
			status, body := w.do("GET", "/api/sessions/"+session+"/files/"+path, nil)
			if strings.Contains(body, canary) || strings.Contains(body, w.dir) || status >= 500 {
				t.Fatalf("%q: %d %s", name, status, body)
			}
		}
	}
}

func TestMarkdownIsRenderedWithoutWhatCouldReachForSomething(t *testing.T) {
	w := open(t, clerk(t, echo()))
	session := w.session()
	w.talk(session, "hello")
	w.write(session, "a.md", "# Plan\n\nIt is <script>alert(1)</script> ![*pixel*](https://evil.example/x.png) [site](https://example.org) [js](javascript:alert(1)) [rel](/api/agents)\n\n| a |\n| - |\n| b |\n")
	status, got := w.do("GET", "/api/sessions/"+session+"/files/a.md?html", nil)
	want := "<h1>Plan</h1>\n<p>It is <!-- raw HTML omitted -->alert(1)<!-- raw HTML omitted --> <em>pixel</em> " +
		`<a href="https://example.org" rel="noopener noreferrer nofollow" target="_blank">site</a> js rel</p>` +
		"\n<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n"
	if status != http.StatusOK || got != want {
		t.Errorf("%d\n%s\nnot\n%s", status, got, want)
	}
	for name, text := range map[string]string{"long.md": strings.Repeat("line\n", maxMarkdown), "wide.md": "a\n" + strings.Repeat("[a](", maxMarkdownLine)} {
		w.write(session, name, text)
		w.want(http.StatusRequestEntityTooLarge, nil, "GET", "/api/sessions/"+session+"/files/"+name+"?html", nil)
	}
}

func FuzzRenderedMarkdownIsHarmless(f *testing.F) {
	for _, seed := range []string{
		"[a](javascript&#58;alert(1))", "<javascript:alert(1)>", "[![a](b)](data:text/html,x)", "![a][b]\n\n[b]: https://x/ 'onload=1'", "<img src=x onerror=1>",
		"[a](https://x \"y\" onclick=1)", "www.example.org a@b.example", "- [x] <b>", "# h {onclick=1}", "[a](  JaVaScRiPt:1)", "<https://x/\"onclick=1>", "[^1]: ![](x)",
	} {
		f.Add(seed)
	}
	allowed := map[string]string{"a": "href rel target title", "input": "checked disabled type", "th": "align style", "td": "align style", "ol": "start", "code": "class"}
	elements := " html head body p h1 h2 h3 h4 h5 h6 em strong del code pre ul ol li blockquote hr br table thead tbody tr th td a input "
	f.Fuzz(func(t *testing.T, text string) {
		fragment, err := renderMarkdown("a.md", text)
		if err != nil {
			t.Skip("the text is not one that is rendered")
		}
		root, err := html.Parse(strings.NewReader(fragment))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if !strings.Contains(elements, " "+n.Data+" ") {
				t.Errorf("%q has a <%s>: %s", text, n.Data, fragment)
			}
			for _, a := range n.Attr {
				if !strings.Contains(" "+allowed[n.Data]+" ", " "+a.Key+" ") || a.Key == "style" && !strings.HasPrefix(a.Val, "text-align:") {
					t.Errorf("%q: <%s> has %s=%q", text, n.Data, a.Key, a.Val)
				}
				if a.Key == "href" && !isHarmless([]byte(a.Val)) {
					t.Errorf("%q leads to %q", text, a.Val)
				}
			}
		}
	})
}

func TestThePageIsSentAndNothingBesideIt(t *testing.T) {
	w := open(t, clerk(t, echo()))
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8"} {
		response := w.send(t.Context(), "GET", path, nil, as("none"))
		response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != want {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
	}
	for _, path := range []string{"/none", "/..%2fworld_test.go", "/%2e%2e/x", "/app.js/x"} {
		if status, _ := w.do("GET", path, nil, as("none")); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

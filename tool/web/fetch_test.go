package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object map[string]any

// use calls a tool and returns what a model would be told: the result, or class
// and message of the failure.
func use(t *testing.T, tool troupe.Tool, arguments object, into any) (string, string) {
	t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tool.Call(t.Context(), &troupe.Invocation{Arguments: data})
	if failure, ok := errors.AsType[*troupe.ToolError](err); ok {
		return failure.Class, failure.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) > 1<<20 {
		t.Errorf("the result has %d bytes, of which the engine would cut some", len(got.Content))
	}
	if into != nil {
		if err := json.Unmarshal([]byte(got.Content), into); err != nil {
			t.Fatal(err)
		}
	}
	return "", got.Content
}

// serve starts a server, and makes a client that may reach it and nothing else
// that is not public.
func serve(t *testing.T, handler http.HandlerFunc) (address string, client *http.Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := egress.NewClient(egress.Config{Allow: []string{server.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return server.URL, client
}

// A transport is an http.RoundTripper made of a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func pages(w http.ResponseWriter, r *http.Request) {
	answer := func(contentType, body string) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
	switch r.URL.Path {
	case "/page":
		answer("text/html; charset=iso-8859-1", "<title>Gr\xfcn</title><main><p>See <a href=there>there</a>.</p></main>")
	case "/moved":
		http.Redirect(w, r, "/page", http.StatusFound)
	case "/inwards":
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	case "/json":
		answer("application/ld+json", `{"a": "<b>"}`)
	case "/text":
		answer("text/plain", strings.Repeat("日本語", 100_000))
	case "/huge":
		answer("text/plain; charset=utf-8", strings.Repeat("日本語", maxBody/9+1))
	case "/control":
		answer("text/plain", strings.Repeat("\x01", 300_000))
	case "/image":
		answer("image/png", "\x89PNG")
	case "/lie":
		answer("text/plain", "\x00\x01\x02")
	case "/unsaid":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "\x89PNG\r\n\x1a\n")
	case "/broken":
		answer("text/plain; charset=utf-8", "gr\xfcn")
	case "/deep":
		answer("text/html", strings.Repeat("<div>", 600))
	case "/cut":
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
	default:
		http.NotFound(w, r)
	}
}

func TestFetchReturnsContent(t *testing.T) {
	t.Attr("FR", "FR-008 FR-011")
	address, client := serve(t, pages)
	page := fetchResult{
		URL: address + "/page", Title: "Grün", ContentType: "text/html; charset=iso-8859-1",
		Content: "See [there](" + address + "/there).", Size: len("See [there](" + address + "/there)."),
	}
	const binary = "this is not text; its content is not shown"
	text := strings.Repeat("日本語", 100_000)
	for name, c := range map[string]struct {
		in   object
		want fetchResult
	}{
		"page":             {object{"url": "/page"}, page},
		"after a redirect": {object{"url": "/moved"}, page},
		"json":             {object{"url": "/json"}, fetchResult{URL: address + "/json", ContentType: "application/ld+json", Content: `{"a": "<b>"}`, Size: 12}},
		"first piece":      {object{"url": "/text"}, fetchResult{URL: address + "/text", ContentType: "text/plain", Content: text[:32766], Size: len(text), Truncated: true, NextOffset: 32766}},
		"piece within": {object{"url": "/text", "offset": 4, "limit": 8}, fetchResult{URL: address + "/text", ContentType: "text/plain",
			Content: "語日", Size: len(text), Truncated: true, NextOffset: 12}},
		"last piece": {object{"url": "/text", "offset": len(text) - 3}, fetchResult{URL: address + "/text", ContentType: "text/plain", Content: "語", Size: len(text)}},
		"beyond": {object{"url": "/text", "offset": len(text) + 1}, fetchResult{URL: address + "/text", ContentType: "text/plain", Size: len(text),
			Note: "the content ends before this offset"}},
		"odd numbers": {object{"url": "/json", "offset": -5, "limit": -5}, fetchResult{URL: address + "/json", ContentType: "application/ld+json", Content: `{"a": "<b>"}`, Size: 12}},
		"image":       {object{"url": "/image"}, fetchResult{URL: address + "/image", ContentType: "image/png", Size: 4, Note: binary}},
		"a lie":       {object{"url": "/lie"}, fetchResult{URL: address + "/lie", ContentType: "text/plain", Size: 3, Note: binary}},
		"no type":     {object{"url": "/unsaid"}, fetchResult{URL: address + "/unsaid", ContentType: "image/png", Size: 8, Note: binary}},
		"not UTF-8": {object{"url": "/broken"}, fetchResult{URL: address + "/broken", ContentType: "text/plain; charset=utf-8", Content: "gr\ufffdn", Size: 6,
			Note: "some bytes were not UTF-8 and are shown as \ufffd"}},
	} {
		c.in["url"] = address + c.in["url"].(string)
		c.want.Notice = notice
		var got fetchResult
		if class, text := use(t, NewFetch(client), c.in, &got); got != c.want {
			t.Errorf("%s: %s %.300s\nwant %.300v", name, class, text, c.want)
		}
	}
}

func TestLargeContentIsBounded(t *testing.T) {
	address, client := serve(t, pages)
	var got fetchResult
	use(t, NewFetch(client), object{"url": address + "/huge", "limit": 1 << 30}, &got)
	if len(got.Content) > maxLimit || len(got.Content) < maxLimit-4 || got.Size > maxBody || got.Size < maxBody-4 ||
		got.Note != "only the beginning of this was read, because it is too large" || strings.ContainsRune(got.Content, '\ufffd') {
		t.Errorf("%d bytes of %d: %s", len(got.Content), got.Size, got.Note)
	}
	use(t, NewFetch(client), object{"url": address + "/control", "limit": 1 << 30}, &got) // six times as long in JSON
	if len(got.Content) != maxLimit {
		t.Errorf("%d bytes", len(got.Content))
	}
	small, err := egress.NewClient(egress.Config{Allow: []string{"127.0.0.1"}, MaxBytes: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer small.CloseIdleConnections()
	got = fetchResult{}
	use(t, NewFetch(small), object{"url": address + "/text"}, &got)
	if got.Content != "日本語" || got.Note == "" {
		t.Errorf("with a smaller client: %q (%s)", got.Content, got.Note)
	}
}

func TestFetchFailsInWordsForTheModel(t *testing.T) {
	t.Attr("FR", "FR-010 FR-011")
	address, client := serve(t, pages)
	host := strings.TrimPrefix(address, "http://")
	for url, want := range map[string]string{
		address + "/missing":   "failed: " + host + " answered 404 Not Found",
		address + "/deep":      "failed: the page cannot be read: html: open stack of elements exceeds 512 nodes",
		address + "/cut":       "failed: reach " + host + ": unexpected EOF",
		address + "/inwards":   "unauthorized: not allowed to reach http://169.254.169.254/latest/: a link-local address",
		"http://10.0.0.1/":     "unauthorized: not allowed to reach http://10.0.0.1/: a private address",
		"http://localhost/":    "unauthorized: not allowed to reach http://localhost/: a name of the local network",
		"http://u:pw@host.tld": "unauthorized: not allowed to reach http://host.tld: a URL with credentials",
		"example.org":          "invalid_arguments: url is not an address that begins with http:// or https://",
		"file:///etc/passwd":   "invalid_arguments: url is not an address that begins with http:// or https://",
		"http://[x":            "invalid_arguments: url is not an address that begins with http:// or https://",
		"http://host.tld/" + strings.Repeat("x", maxURL): "invalid_arguments: url is not an address that begins with http:// or https://",
	} {
		class, text := use(t, NewFetch(client), object{"url": url}, nil)
		if got := fmt.Sprintf("%s: %s", class, text); got != want {
			t.Errorf("%.60s: %.300s\nwant %s", url, got, want)
		}
	}
}

func TestWithoutAClientOnlyThePublicWebIsReached(t *testing.T) {
	address, _ := serve(t, pages)
	search, err := NewSearch(SearchConfig{Engine: SearXNG, BaseURL: address})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []troupe.Tool{NewFetch(nil), search} {
		if class, text := use(t, tool, object{"url": address + "/page", "query": "x"}, nil); class != "unauthorized" {
			t.Errorf("%s: %s %s", tool.Spec().Name, class, text)
		}
	}
}

func TestASlowServerCostsNoMoreThanTheCallsTime(t *testing.T) {
	t.Attr("FR", "FR-010")
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})}
		search, err := NewSearch(SearchConfig{Engine: Brave, Key: "k", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []troupe.Tool{NewFetch(client), search, NewWikipedia(client)} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := tool.Call(ctx, &troupe.Invocation{Arguments: []byte(`{"url":"http://example.org/","query":"x"}`)})
			cancel()
			failure, ok := errors.AsType[*troupe.ToolError](err)
			if took := time.Since(began); !ok || failure.Class != "timeout" || took != 10*time.Second {
				t.Errorf("%s: %v after %s", tool.Spec().Name, err, took)
			}
		}
	})
}

func TestToolsOnlyRead(t *testing.T) {
	search, err := NewSearch(SearchConfig{Engine: Brave, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []troupe.Tool{NewFetch(nil), search, NewWikipedia(nil)} {
		if spec := tool.Spec(); !spec.RepeatSafe || !spec.ReadOnly || spec.Description == "" {
			t.Errorf("%+v", spec)
		}
	}
}

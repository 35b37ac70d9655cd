package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestThePageIsSentCompressedAndOnce(t *testing.T) {
	text := "<!doctype html><title>Troupe</title>" + string(make([]byte, 4096))
	set, err := loadPage(fstest.MapFS{"index.html": {Data: []byte(text)}, "lib/a.js": {Data: []byte("1")}})
	if err != nil || len(set.files) != 2 || set.files["lib/a.js"].media != "text/javascript; charset=utf-8" {
		t.Fatal(set, err)
	}
	s := &Server{page: set}
	get := func(header ...string) *http.Response {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		if err := s.sendPage(&call{w: &response{ResponseWriter: w}, r: r}); err != nil {
			t.Fatal(err)
		}
		return w.Result()
	}
	packed := get("Accept-Encoding", "br, gzip;q=0.8")
	r, err := gzip.NewReader(packed.Body)
	if err != nil || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal(packed.Header, err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, coding := range []string{"", "br", "gzip;q=0"} {
		plain := get("Accept-Encoding", coding)
		if got, _ := io.ReadAll(plain.Body); string(got) != text || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%q: %d bytes, %v", coding, len(got), plain.Header)
		}
	}
	again := get("Accept-Encoding", "gzip", "If-None-Match", packed.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("what the browser has is sent again: %d", again.StatusCode)
	}
}

// What index.html names has an address that stands for its content: it is kept for good,
// and is another one once any file is. A page of an older edition still gets its files.
func TestFilesOfThePageAreKeptForGoodUnderTheirEdition(t *testing.T) {
	index := `<script src="early.js"></script><link href="a.css"><a href="https://example.org/">x</a><a href="api/openapi.json">y</a>`
	files := fstest.MapFS{"index.html": {Data: []byte(index)}, "early.js": {Data: []byte("1")}, "a.css": {Data: []byte("a{}")}, "frame/diagram.html": {Data: []byte("<p>")}, "lib/mermaid/m.mjs": {Data: []byte("2")}}
	w := open(t, clerk(t, echo()), func(c *Config) { c.Page = files })
	edition := w.server.page.edition
	_, got := w.do("GET", "/", nil)
	want := strings.NewReplacer(`"early.js"`, `"v/`+edition+`/early.js"`, `"a.css"`, `"v/`+edition+`/a.css"`).Replace(index)
	if got != want {
		t.Errorf("index.html is\n%s\nwant\n%s", got, want)
	}
	for path, kept := range map[string]string{
		"/": "no-cache", "/early.js": "no-cache", "/v/" + edition + "/early.js": "public, max-age=31536000, immutable", "/v/" + edition + "/": "no-cache", "/v/0123/early.js": "no-cache",
	} {
		answer := w.send(t.Context(), "GET", path, nil)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Cache-Control") != kept {
			t.Errorf("%s: %d, %s", path, answer.StatusCode, answer.Header.Get("Cache-Control"))
		}
	}
	for path, want := range map[string]int{
		"/v/" + edition + "/lib/mermaid/m.mjs": 200, "/v/" + edition + "/frame/diagram.html": 200, "/v/" + edition + "/early.js": 403, "/v/" + edition + "/lib/mermaid/../../early.js": 403, "/v/x/api/me": 403,
	} {
		if status, _ := w.do("GET", path, nil, with("Origin", "null")); status != want {
			t.Errorf("%s for the frame: %d, want %d", path, status, want)
		}
	}
	files["a.css"] = &fstest.MapFile{Data: []byte("b{}")}
	other, err := loadPage(files)
	if err != nil || other.edition == edition {
		t.Errorf("another style is the same edition, %v", err)
	}
}

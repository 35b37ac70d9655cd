package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
)

func TestThePageIsSentCompressedAndOnce(t *testing.T) {
	text := "<!doctype html><title>Troupe</title>" + string(make([]byte, 4096))
	files, err := loadPage(fstest.MapFS{"index.html": {Data: []byte(text)}, "lib/a.js": {Data: []byte("1")}})
	if err != nil || len(files) != 2 || files["lib/a.js"].media != "text/javascript; charset=utf-8" {
		t.Fatal(files, err)
	}
	s := &Server{page: files}
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

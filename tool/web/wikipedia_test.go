package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// wikis is a client for which every host is the handler's.
func wikis(handler http.HandlerFunc) *http.Client {
	return &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		handler(recorder, req)
		resp := recorder.Result()
		resp.Request = req
		return resp, nil
	})}
}

func TestWikipediaReturnsTheBestArticle(t *testing.T) {
	t.Attr("FR", "FR-008 FR-011")
	var asked *http.Request
	client := wikis(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		if r.URL.Query().Get("gsrsearch") == "nothing" {
			io.WriteString(w, `{"batchcomplete":true}`)
			return
		}
		io.WriteString(w, `{"batchcomplete":true,"continue":{"gsroffset":5,"continue":"gsroffset||"},"query":{"pages":[
			{"pageid":2,"ns":0,"title":"Schafkopf","index":2,"extract":"Ein Spiel.","contentmodel":"wikitext","pagelanguage":"de","fullurl":"https://de.wikipedia.org/wiki/Schafkopf","editurl":"https://de.wikipedia.org/w/index.php?title=Schafkopf&action=edit"},
			{"pageid":1,"ns":0,"title":"Schafe","index":1,"extract":"Die Schafe sind Wiederkäuer.\n","fullurl":"https://de.wikipedia.org/wiki/Schafe"}]}}`)
	})
	var got wikipediaResult
	class, text := use(t, NewWikipedia(client), object{"query": "Schaf", "language": "DE"}, &got)
	want := wikipediaResult{
		Title: "Schafe", URL: "https://de.wikipedia.org/wiki/Schafe", Notice: notice, Text: "Die Schafe sind Wiederkäuer.",
		Others: []article{{"Schafkopf", "https://de.wikipedia.org/wiki/Schafkopf"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s\nwant %+v", class, text, want)
	}
	query := asked.URL.Query()
	if asked.URL.Scheme != "https" || asked.URL.Host != "de.wikipedia.org" || asked.URL.Path != "/w/api.php" || query.Get("gsrsearch") != "Schaf" || query.Get("formatversion") != "2" {
		t.Errorf("asked %s", asked.URL)
	}
	if _, text := use(t, NewWikipedia(client), object{"query": "nothing"}, nil); text != `{"notice":"`+notice+`","note":"nothing was found"}` || asked.URL.Host != "en.wikipedia.org" {
		t.Errorf("%s from %s", text, asked.URL.Host)
	}
}

func TestWikipediaFailsInWordsForTheModel(t *testing.T) {
	t.Attr("FR", "FR-008 FR-010")
	answer, asked := "", 0
	client := wikis(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if answer == "" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		io.WriteString(w, answer)
	})
	for _, c := range []struct {
		answer string
		class  string
		text   string
	}{
		{"", "failed", "en.wikipedia.org takes no more requests at the moment (429 Too Many Requests); try again later"},
		{"<html>", "failed", "the answer of en.wikipedia.org is not the JSON that was expected"},
		{`{"error":{"code":"ratelimited","info":"You've exceeded your rate limit. Please <b>wait</b>.","docref":"See ..."},"servedby":"mw1"}`, "failed",
			"en.wikipedia.org answered ratelimited: You've exceeded your rate limit. Please wait."},
	} {
		answer = c.answer
		if class, text := use(t, NewWikipedia(client), object{"query": "x"}, nil); class != c.class || text != c.text {
			t.Errorf("%s %s, want %s", class, text, c.text)
		}
	}
	asked = 0
	for _, in := range []object{{"query": ""}, {"query": "x", "language": "evil.example/#"}, {"query": "x", "language": "e"}, {"query": strings.Repeat("x", maxQuery+1)}} {
		if class, text := use(t, NewWikipedia(client), in, nil); class != "invalid_arguments" || asked > 0 {
			t.Errorf("%.80v: %s %s, asked %d times", in, class, text, asked)
		}
	}
}

func TestALongIntroductionIsCut(t *testing.T) {
	var w wiki
	w.Query.Pages = []wikiPage{{Title: "Long", Extract: strings.Repeat("ü", maxExtract)}}
	if got := w.result().Text; len(got) > maxExtract+3 || !strings.HasSuffix(got, "ü…") {
		t.Errorf("%d bytes", len(got))
	}
}

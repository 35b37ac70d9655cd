package web

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/egress"
)

const key = "tvly-SECRET"

// engines answers as the three engines do.
func engines(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/searx/search" && query.Get("format") == "json" && query.Get("q") == "rain & sun":
		io.WriteString(w, `{"query":"rain & sun","number_of_results":0,"results":[
			{"url":"https://example.org/rain","title":"Rain","content":"It rains.","engine":"duckduckgo","score":2.0,"category":"general","parsed_url":["https","example.org","/rain","","",""]},
			{"url":"javascript:alert(1)","title":"Bad"},
			{"url":"https://example.org/sun","title":"Sun"}],"answers":[],"corrections":[],"infoboxes":[],"suggestions":["rainbow"],"unresponsive_engines":[["google","timeout"]]}`)
	case r.URL.Path == "/res/v1/web/search" && r.Header.Get("X-Subscription-Token") == key && query.Get("q") == "rain & sun" && query.Get("count") == "2":
		io.WriteString(w, `{"type":"search","query":{"original":"rain & sun"},"mixed":{"type":"mixed","main":[]},"web":{"type":"search","results":[
			{"title":"Rain &amp; sun","url":"https://example.org/rain","description":"It <strong>rains</strong>\n today.","age":"2 days ago","profile":{"name":"Example"}},
			{"title":"Sun","url":"https://example.org/sun","description":""},
			{"title":"More than asked for","url":"https://example.org/more","description":""}]}}`)
	case r.URL.Path == "/search" && r.Method == http.MethodPost && r.Header.Get("Authorization") == "Bearer "+key:
		var body struct {
			Query string `json:"query"`
			Max   int    `json:"max_results"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Query != "rain & sun" || body.Max != 2 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"query":"rain & sun","follow_up_questions":null,"answer":null,"images":[],"results":[
			{"title":"Rain","url":"https://example.org/rain","content":"It rains.","score":0.98,"raw_content":null},
			{"title":"Sun","url":"https://example.org/sun","content":"","score":0.9,"raw_content":null}],"response_time":1.2}`)
	default:
		http.NotFound(w, r)
	}
}

func TestEveryEngineIsUnderstood(t *testing.T) {
	t.Attr("FR", "FR-007 FR-011")
	address, client := serve(t, engines)
	for _, c := range []struct {
		config SearchConfig
		title  string
		text   string
	}{
		{SearchConfig{Engine: SearXNG, BaseURL: address + "/searx/"}, "Rain", "It rains."},
		{SearchConfig{Engine: Brave, BaseURL: address, Key: key}, "Rain & sun", "It rains today."},
		{SearchConfig{Engine: Tavily, BaseURL: address, Key: key}, "Rain", "It rains."},
	} {
		c.config.Client = client
		tool, err := NewSearch(c.config)
		if err != nil {
			t.Fatal(err)
		}
		var got searchResult
		class, text := use(t, tool, object{"query": " rain & sun ", "count": 2}, &got)
		want := searchResult{Notice: notice, Results: []found{{c.title, "https://example.org/rain", c.text}, {"Sun", "https://example.org/sun", ""}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s %s\nwant %+v", c.config.Engine, class, text, want)
		}
	}
}

func TestFailuresOfEnginesAreToldWithoutTheKey(t *testing.T) {
	t.Attr("FR", "FR-007 FR-010")
	for _, c := range []struct {
		status       int
		header, body string
		want         string
	}{
		{401, "", `{"detail":{"error":"Unauthorized: missing or invalid API key ` + key + `"}}`, "unauthorized: HOST does not admit us (401 Unauthorized): its key or its settings are wrong"},
		{403, "", "Forbidden", "unauthorized: HOST does not admit us (403 Forbidden): its key or its settings are wrong"},
		{422, "", `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"` + key + `","status":422},"type":"ErrorResponse"}`, "unauthorized: HOST does not admit us (422 Unprocessable Entity): its key or its settings are wrong"},
		{422, "", `{"error":{"code":"VALIDATION"}}`, "failed: HOST answered 422 Unprocessable Entity"},
		{429, "7", `{"error":{"code":"RATE_LIMITED"}}`, "failed: HOST takes no more requests at the moment (429 Too Many Requests); try again after 7 (seconds or a date)"},
		{429, "", "", "failed: HOST takes no more requests at the moment (429 Too Many Requests); try again later"},
		{432, "", `{"detail":{"error":"This request exceeds your plan's set usage limit"}}`, "failed: what was paid for at HOST is used up (432)"},
		{503, "", strings.Repeat(key, 1<<20), "failed: HOST answered 503 Service Unavailable"},
		{200, "", "<html>" + key, "failed: the answer of HOST is not the JSON that was expected"},
		{200, "", `{"results":"` + key + `"}`, "failed: the answer of HOST is not the JSON that was expected"},
		{200, "", `{"results":[` + strings.Repeat(" ", maxBody), "failed: the answer of HOST is too large"},
		{200, "", "", "failed: the answer of HOST is not the JSON that was expected"},
		{200, "", "{}", `: {"notice":"` + notice + `","results":[],"note":"nothing was found"}`},
	} {
		address, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", c.header)
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		for _, engine := range []Engine{Brave, Tavily} {
			tool, err := NewSearch(SearchConfig{Engine: engine, BaseURL: address, Key: key, Client: client})
			if err != nil {
				t.Fatal(err)
			}
			class, text := use(t, tool, object{"query": "x"}, nil)
			got := strings.ReplaceAll(fmt.Sprintf("%s: %s", class, text), strings.TrimPrefix(address, "http://"), "HOST")
			if got != c.want || strings.Contains(got, key) {
				t.Errorf("%s, %d %.80s: %s\nwant %s", engine, c.status, c.body, got, c.want)
			}
		}
	}
}

func TestTheKeyGoesNowhereElse(t *testing.T) {
	sent := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent <- fmt.Sprint(r.Header, r.URL)
	}))
	defer other.Close()
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	client, err := egress.NewClient(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for _, engine := range []Engine{Brave, Tavily} {
		config := SearchConfig{Engine: engine, BaseURL: address, Key: key, Client: client}
		tool, err := NewSearch(config)
		if err != nil {
			t.Fatal(err)
		}
		use(t, tool, object{"query": "x"}, nil)
		if got := <-sent; strings.Contains(got, key) {
			t.Errorf("%s: another host got %s", engine, got)
		}
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "key", config.Key)
		encoded, _ := json.Marshal(config.Key)
		if all := fmt.Sprintf("%v %+v %#v %s %q %s %s", config, config, config, config.Key, config.Key, encoded, &logged); strings.Contains(all, key) {
			t.Errorf("the key prints: %s", all)
		}
	}
}

func TestSearchesThatCannotBeAskedAreRefused(t *testing.T) {
	for _, c := range []SearchConfig{
		{}, {Engine: "altavista", Key: key}, {Engine: Brave}, {Engine: Tavily}, {Engine: SearXNG}, {Engine: SearXNG, BaseURL: "http://searx.lan", Key: key},
		{Engine: SearXNG, BaseURL: "searx.lan"}, {Engine: SearXNG, BaseURL: "ftp://searx.lan"}, {Engine: SearXNG, BaseURL: "http://u:" + key + "@searx.lan"},
	} {
		if _, err := NewSearch(c); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	tool, err := NewSearch(SearchConfig{Engine: Brave, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "  ", strings.Repeat("x", maxQuery+1)} {
		if class, text := use(t, tool, object{"query": query}, nil); class != "invalid_arguments" {
			t.Errorf("%.10q: %s %s", query, class, text)
		}
	}
}

func TestManyAndLongResultsAreCut(t *testing.T) {
	var hits []hit
	for range 50 {
		hits = append(hits, hit{Title: strings.Repeat("t", 5000), URL: "https://example.org/", Content: strings.Repeat("ü", 5000)})
	}
	got := answer{Results: hits}.result(maxCount)
	if len(got.Results) != maxCount || len(got.Results[0].Title) > maxTitle+3 || len(got.Results[0].Snippet) > maxSnippet+3 || !strings.HasSuffix(got.Results[0].Snippet, "ü…") {
		t.Errorf("%d results, the first %+v", len(got.Results), got.Results[0])
	}
}

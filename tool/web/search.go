package web

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed search.md
var searchDescription string

// An Engine is a service that searches the web.
type Engine string

// The engines there are. SearXNG is one that the operator runs; its settings must
// allow the format json.
const (
	SearXNG Engine = "searxng"
	Brave   Engine = "brave"
	Tavily  Engine = "tavily"
)

// A SearchConfig says which engine to ask.
type SearchConfig struct {
	// Engine is required.
	Engine Engine
	// BaseURL is where the engine is, such as "http://127.0.0.1:8888". SearXNG needs
	// it; for the others it is the public service by default.
	BaseURL string
	// Key is what Brave and Tavily know the caller by.
	Key Secret
	// Client makes the requests; nil means one for the public web, which does not
	// reach an engine in the same network.
	Client *http.Client
}

// NewSearch returns the tool web_search.
func NewSearch(c SearchConfig) (troupe.Tool, error) {
	publicly := map[Engine]string{SearXNG: "", Brave: "https://api.search.brave.com", Tavily: "https://api.tavily.com"}
	public, known := publicly[c.Engine]
	if !known {
		return nil, fmt.Errorf("web search: there is no engine %q", c.Engine)
	}
	if (c.Key == "") != (c.Engine == SearXNG) {
		return nil, errors.New("web search: a key is for brave and tavily, which need one")
	}
	base, err := url.Parse(cmp.Or(c.BaseURL, public))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil {
		return nil, errors.New("web search: the base URL is not that of a web service")
	}
	c.Client = guarded(c.Client)
	return troupe.NewTool("web_search", strings.TrimSpace(searchDescription), func(ctx context.Context, in searchRequest) (searchResult, error) {
		return c.search(ctx, base, in)
	}, troupe.ReadOnly()), nil
}

type searchRequest struct {
	Query string `json:"query" jsonschema:"what to search for"`
	Count int    `json:"count,omitempty" jsonschema:"how many results to return; 5 by default, 20 at most"`
}

type searchResult struct {
	Notice  string  `json:"notice"`
	Results []found `json:"results"`
	Note    string  `json:"note,omitempty"`
}

type found struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

const (
	defaultCount = 5
	maxCount     = 20
	maxQuery     = 1 << 10
	maxSnippet   = 1 << 10
)

func (c SearchConfig) search(ctx context.Context, base *url.URL, in searchRequest) (searchResult, error) {
	in.Query = strings.TrimSpace(in.Query)
	if in.Query == "" || len(in.Query) > maxQuery {
		return searchResult{}, failed("invalid_arguments", nil, "query has 1 to %d bytes", maxQuery)
	}
	if in.Count <= 0 {
		in.Count = defaultCount
	}
	in.Count = min(in.Count, maxCount)
	req, err := c.request(ctx, base, in)
	if err != nil {
		return searchResult{}, failed("failed", err, "the search cannot be asked for")
	}
	var answer answer
	if err := ask(c.Client, req, &answer); err != nil {
		return searchResult{}, err
	}
	return answer.result(in.Count), nil
}

// request makes the request that the engine understands.
func (c SearchConfig) request(ctx context.Context, base *url.URL, in searchRequest) (*http.Request, error) {
	switch c.Engine {
	case Tavily:
		body, err := json.Marshal(map[string]any{"query": in.Query, "max_results": in.Count})
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("search").String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + string(c.Key)}, "Content-Type": {"application/json"}}
		return req, nil
	case Brave:
		u := base.JoinPath("res/v1/web/search")
		u.RawQuery = url.Values{"q": {in.Query}, "count": {strconv.Itoa(in.Count)}, "text_decorations": {"false"}}.Encode()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Subscription-Token", string(c.Key))
		return req, nil
	}
	u := base.JoinPath("search")
	u.RawQuery = url.Values{"q": {in.Query}, "format": {"json"}}.Encode()
	return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
}

// An answer is that of any engine: no two of them use the same field for
// different things.
type answer struct {
	Results []hit // SearXNG and Tavily
	Web     struct {
		Results []hit // Brave
	}
}

type hit struct {
	Title       string
	URL         string
	Content     string // SearXNG and Tavily
	Description string // Brave
}

// result returns the first hits that lead to pages.
func (a answer) result(count int) searchResult {
	out := searchResult{Notice: notice, Results: []found{}}
	for _, h := range append(a.Results, a.Web.Results...) {
		u, err := url.Parse(h.URL)
		if err != nil || len(h.URL) > maxURL || u.Scheme != "http" && u.Scheme != "https" || len(out.Results) == count {
			continue
		}
		out.Results = append(out.Results, found{
			Title: plain(h.Title, maxTitle), URL: h.URL, Snippet: plain(cmp.Or(h.Content, h.Description), maxSnippet),
		})
	}
	if len(out.Results) == 0 {
		out.Note = "nothing was found"
	}
	return out
}

package web

import (
	"cmp"
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed wikipedia.md
var wikipediaDescription string

// NewWikipedia returns the tool wikipedia, which asks Wikipedia through the
// client; nil means one for the public web.
func NewWikipedia(client *http.Client) troupe.Tool {
	client = guarded(client)
	return troupe.NewTool("wikipedia", strings.TrimSpace(wikipediaDescription), func(ctx context.Context, in wikipediaRequest) (wikipediaResult, error) {
		return lookUp(ctx, client, in)
	}, troupe.ReadOnly())
}

type wikipediaRequest struct {
	Query    string `json:"query" jsonschema:"the subject to look up"`
	Language string `json:"language,omitempty" jsonschema:"code of the Wikipedia to ask, such as de; en by default"`
}

type wikipediaResult struct {
	Title  string    `json:"title,omitempty"`
	URL    string    `json:"url,omitempty"`
	Notice string    `json:"notice"`
	Text   string    `json:"text,omitempty"`
	Others []article `json:"others,omitempty"`
	Note   string    `json:"note,omitempty"`
}

type article struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// maxExtract bounds the text of an article's introduction.
const maxExtract = 16 << 10

var languageForm = regexp.MustCompile(`^[a-z]{2,12}(-[a-z]{2,12}){0,2}$`)

// A wiki is the answer of MediaWiki to a search that brings introductions along.
type wiki struct {
	Error struct{ Code, Info string }
	Query struct {
		Pages []wikiPage
	}
}

type wikiPage struct {
	Index                   int // the place in the search's order
	Title, FullURL, Extract string
}

func lookUp(ctx context.Context, client *http.Client, in wikipediaRequest) (wikipediaResult, error) {
	in.Query, in.Language = strings.TrimSpace(in.Query), cmp.Or(strings.ToLower(in.Language), "en")
	if in.Query == "" || len(in.Query) > maxQuery {
		return wikipediaResult{}, failed("invalid_arguments", nil, "query has 1 to %d bytes", maxQuery)
	}
	if !languageForm.MatchString(in.Language) {
		return wikipediaResult{}, failed("invalid_arguments", nil, "language is not the code of a Wikipedia, such as en")
	}
	u := url.URL{Scheme: "https", Host: in.Language + ".wikipedia.org", Path: "/w/api.php", RawQuery: url.Values{
		"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "redirects": {"1"},
		"generator": {"search"}, "gsrsearch": {in.Query}, "gsrlimit": {"5"},
		"prop": {"extracts|info"}, "exintro": {"1"}, "explaintext": {"1"}, "exlimit": {"max"}, "inprop": {"url"},
	}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return wikipediaResult{}, failed("invalid_arguments", err, "the query cannot be asked for")
	}
	var answer wiki
	if err := ask(client, req, &answer); err != nil {
		return wikipediaResult{}, err
	}
	if answer.Error.Code != "" {
		return wikipediaResult{}, failed("failed", nil, "%s answered %s: %s", u.Host, clip(answer.Error.Code, 100), plain(answer.Error.Info, maxSnippet))
	}
	slices.SortFunc(answer.Query.Pages, func(a, b wikiPage) int { return cmp.Compare(a.Index, b.Index) })
	return answer.result(), nil
}

// result returns the article that fits best, and the names of the others.
func (w wiki) result() wikipediaResult {
	out := wikipediaResult{Notice: notice}
	for i, page := range w.Query.Pages {
		title, address := clip(page.Title, maxTitle), clip(page.FullURL, maxURL)
		if i > 0 {
			out.Others = append(out.Others, article{title, address})
			continue
		}
		out.Title, out.URL, out.Text = title, address, clip(strings.TrimSpace(page.Extract), maxExtract)
	}
	if len(w.Query.Pages) == 0 {
		out.Note = "nothing was found"
	}
	return out
}

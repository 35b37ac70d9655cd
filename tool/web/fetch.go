package web

import (
	"context"
	_ "embed"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

//go:embed fetch.md
var fetchDescription string

// NewFetch returns the tool web_fetch, which reads pages through the client; nil
// means one for the public web.
func NewFetch(client *http.Client) troupe.Tool {
	client = guarded(client)
	return troupe.NewTool("web_fetch", strings.TrimSpace(fetchDescription), func(ctx context.Context, in fetchRequest) (fetchResult, error) {
		return fetch(ctx, client, in)
	}, troupe.ReadOnly())
}

type fetchRequest struct {
	URL    string `json:"url" jsonschema:"address of the page, beginning with http:// or https://"`
	Offset int    `json:"offset,omitempty" jsonschema:"byte of the content to start at; 0 by default"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many bytes of the content to return at most; 32768 by default, 131072 at most"`
}

type fetchResult struct {
	URL         string `json:"url" jsonschema:"where the content was found, after redirects"`
	Title       string `json:"title,omitempty"`
	ContentType string `json:"content_type"`
	Notice      string `json:"notice"`
	Content     string `json:"content"`
	Size        int    `json:"size" jsonschema:"of the whole content, in bytes"`
	// Truncated says that the content goes on at NextOffset.
	Truncated  bool   `json:"truncated,omitempty"`
	NextOffset int    `json:"next_offset,omitempty"`
	Note       string `json:"note,omitempty"`
}

const (
	maxURL       = 4 << 10
	maxTitle     = 500
	defaultLimit = 32 << 10
	maxLimit     = 128 << 10 // the engine passes on 1 MiB, and a byte may take six in JSON
)

func fetch(ctx context.Context, client *http.Client, in fetchRequest) (fetchResult, error) {
	u, err := url.Parse(in.URL)
	if err != nil || len(in.URL) > maxURL || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fetchResult{}, failed("invalid_arguments", err, "url is not an address that begins with http:// or https://")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
	if err != nil {
		return fetchResult{}, failed("invalid_arguments", err, "url is not an address")
	}
	req.Header.Set("Accept", "text/markdown, text/html, application/xhtml+xml, text/plain, application/json;q=0.9, */*;q=0.5")
	resp, err := client.Do(req)
	if err != nil {
		return fetchResult{}, unreached(u.Host, err)
	}
	defer resp.Body.Close()
	at := resp.Request.URL
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fetchResult{}, failed("failed", nil, "%s answered %d %s", at.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	out := fetchResult{URL: clip(at.String(), maxURL), ContentType: clip(resp.Header.Get("Content-Type"), 200), Notice: notice}
	if out.ContentType != "" && !isText(out.ContentType) {
		out.Size = int(max(resp.ContentLength, 0))
		out.Note = "this is not text; its content is not shown"
		return out, nil
	}
	data, cut, err := readBody(resp.Body)
	if err != nil {
		return fetchResult{}, unreached(at.Host, err)
	}
	if out.ContentType == "" {
		out.ContentType = http.DetectContentType(data)
	}
	return out.show(ctx, data, cut, at, in)
}

// show puts the content into the result, as much of it as was asked for.
func (out fetchResult) show(ctx context.Context, data []byte, cut bool, at *url.URL, in fetchRequest) (fetchResult, error) {
	var notes []string
	if cut {
		notes = append(notes, "only the beginning of this was read, because it is too large")
	}
	text, repaired := decode(data, cut, out.ContentType)
	if repaired {
		notes = append(notes, "some bytes were not UTF-8 and are shown as \ufffd")
	}
	if !isText(out.ContentType) || strings.ContainsRune(text, 0) {
		out.Size, out.Note = len(data), "this is not text; its content is not shown"
		return out, nil
	}
	if isHTML(out.ContentType) {
		title, content, err := readPage(ctx, text, at)
		if err != nil {
			return fetchResult{}, failed("failed", err, "the page cannot be read: %v", err)
		}
		out.Title, text = clip(title, maxTitle), content
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	start, end := piece(text, in.Offset, min(limit, maxLimit))
	if start == len(text) && start > 0 {
		notes = append(notes, "the content ends before this offset")
	}
	out.Content, out.Size = text[start:end], len(text)
	if end < len(text) {
		out.Truncated, out.NextOffset = true, end
	}
	out.Note = strings.Join(notes, "; ")
	return out, nil
}

// piece returns where a piece of text begins and ends, between characters. It has
// at least one, if there is one left.
func piece(text string, offset, limit int) (start, end int) {
	start = min(max(offset, 0), len(text))
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	end = min(start+max(limit, utf8.UTFMax), len(text))
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return start, end
}

func isHTML(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return media == "text/html" || media == "application/xhtml+xml"
}

// isText says that a content type is one of text that can be read as it is.
func isText(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") ||
		slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
			"application/javascript", "application/x-ndjson", "application/sql"}, media)
}

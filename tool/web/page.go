package web

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// readPage returns a page's title and its content as markdown. Most of its time
// goes into parsing, which the context ends.
func readPage(ctx context.Context, text string, at *url.URL) (title, content string, err error) {
	doc, err := html.Parse(timedReader{ctx, strings.NewReader(text)})
	if err != nil {
		return "", "", err
	}
	for _, name := range []atom.Atom{atom.Title, atom.H1} {
		if n := find(doc, func(n *html.Node) bool { return n.DataAtom == name && n.Namespace == "" }); n != nil && title == "" {
			title = words(n)
		}
	}
	if n := find(doc, func(n *html.Node) bool { return n.DataAtom == atom.Base }); n != nil {
		if base, err := at.Parse(attr(n, "href")); err == nil {
			at = base
		}
	}
	return title, markdown(readable(doc), at), nil
}

// A timedReader reads until its context is done.
type timedReader struct {
	ctx  context.Context
	text *strings.Reader
}

func (r timedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.text.Read(p)
}

// decode returns what is text in some character set as UTF-8, and says whether
// some bytes were not. The set is the one that the content type, a byte order
// mark or the page names; else it is UTF-8 where the whole text is that, though
// its beginning may not show it.
func decode(data []byte, cut bool, contentType string) (text string, repaired bool) {
	for i := 1; cut && i < utf8.UTFMax; i++ {
		if r, size := utf8.DecodeLastRune(data); r == utf8.RuneError && size == 1 {
			data = data[:len(data)-1]
		}
	}
	encoding, name, certain := charset.DetermineEncoding(data, contentType)
	// Windows-1252 is what is left where nothing is known.
	if unknown := !certain && name == "windows-1252"; name != "utf-8" && !(unknown && utf8.Valid(data)) {
		if decoded, err := encoding.NewDecoder().Bytes(data); err == nil {
			data = decoded
		}
	}
	text = strings.ToValidUTF8(string(data), "\ufffd")
	return strings.TrimPrefix(text, "\ufeff"), !utf8.Valid(data)
}

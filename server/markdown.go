package server

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The most bytes of a file that is rendered, and of a line in it: with each line of
// its own, what is made to be hard to parse takes a second at most.
const (
	maxMarkdown     = 256 << 10
	maxMarkdownLine = 8 << 10
)

// renderMarkdown returns a markdown file as a fragment of HTML that loads nothing
// and runs nothing: it has no HTML of the file's own, no images, and links to web
// and mail addresses only.
func renderMarkdown(name, content string) (string, error) {
	if ext := strings.ToLower(path.Ext(name)); ext != ".md" && ext != ".markdown" {
		return "", refuse(http.StatusUnsupportedMediaType, "only markdown is rendered")
	}
	isTooLong := func(line string) bool { return len(line) > maxMarkdownLine }
	if len(content) > maxMarkdown || slices.ContainsFunc(strings.FieldsFunc(content, isLineEnd), isTooLong) {
		return "", refuse(http.StatusRequestEntityTooLarge, "only files of up to %d bytes, and %d on each line, are rendered", maxMarkdown, maxMarkdownLine)
	}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(harmless{}, 1000))),
	)
	var b bytes.Buffer
	err := markdown.Convert([]byte(content), &b)
	return b.String(), err
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// harmless takes out of a document what would reach for something else.
type harmless struct{}

// Transform implements [parser.ASTTransformer].
func (harmless) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var refused []ast.Node
	judge := func(n ast.Node, allowed bool) {
		if !allowed {
			refused = append(refused, n)
			return
		}
		n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
		n.SetAttributeString("target", []byte("_blank"))
	}
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			judge(n, false)
		case *ast.Link:
			judge(n, isHarmless(n.Destination))
		case *ast.AutoLink:
			judge(n, n.AutoLinkType == ast.AutoLinkEmail || isHarmless(n.URL(reader.Source())))
		}
		return ast.WalkContinue, nil
	})
	for _, n := range refused {
		if link, ok := n.(*ast.AutoLink); ok {
			n.AppendChild(n, ast.NewString(link.Label(reader.Source())))
		}
		unwrap(n)
	}
}

// isHarmless says whether a link may lead there. It goes by how the address begins,
// as written: what is escaped there is not an address of these kinds.
func isHarmless(destination []byte) bool {
	address := strings.ToLower(string(destination))
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "mailto:")
}

// unwrap puts what a node holds in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, n, child)
		child = next
	}
	parent.RemoveChild(parent, n)
}

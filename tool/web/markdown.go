package web

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown writes an element as markdown, with absolute links, in time that grows
// with its size alone: pages are written by strangers.
func markdown(n *html.Node, base *url.URL) string {
	p := printer{base: base}
	p.node(n)
	return string(p.out)
}

// A printer writes markdown. Line breaks and spaces are owed, and written when
// text follows.
type printer struct {
	base    *url.URL
	out     []byte
	prefix  string // what lines begin with, in quotes and lists
	between string // what the empty lines that are owed begin with
	breaks  int    // how many line breaks are owed
	space   bool   // a space is owed
	begun   bool   // the line has its prefix
	opened  bool   // a mark was just written that text must follow at once
}

// maxPrefix bounds how far nested quotes and lists are moved in.
const maxPrefix = 16

// end ends the line, or the paragraph with two breaks.
func (p *printer) end(breaks int) {
	if p.opened || len(p.out) == 0 {
		return
	}
	if p.breaks == 0 || len(p.prefix) < len(p.between) {
		p.between = p.prefix
	}
	p.breaks = max(p.breaks, breaks)
}

// write writes text that is not to be changed, after what is owed.
func (p *printer) write(text string) {
	for ; p.breaks > 0; p.breaks-- {
		p.out = append(p.out, '\n')
		if p.breaks > 1 {
			p.out = append(p.out, strings.TrimRight(p.between, " ")...)
		}
		p.begun = false
	}
	if !p.begun {
		p.out = append(p.out, p.prefix...)
	} else if p.space && !p.opened {
		p.out = append(p.out, ' ')
	}
	p.begun, p.space, p.opened = true, false, false
	p.out = append(p.out, text...)
}

// text writes words with single spaces.
func (p *printer) text(text string) {
	for text != "" {
		word := strings.TrimLeft(text, " \t\r\n\f")
		p.space = p.space || len(word) < len(text)
		n := strings.IndexAny(word, " \t\r\n\f")
		if n < 0 {
			n = len(word)
		}
		if n > 0 {
			p.write(word[:n])
		}
		text = word[n:]
	}
}

func (p *printer) children(n *html.Node) {
	for child := range n.ChildNodes() {
		p.node(child)
	}
}

// block writes an element as a paragraph or more.
func (p *printer) block(n *html.Node, breaks int) {
	p.end(breaks)
	p.children(n)
	p.end(breaks)
}

// indented writes what is in a quote or a list item.
func (p *printer) indented(n *html.Node, prefix string) {
	outer := p.prefix
	if len(p.prefix) < maxPrefix {
		p.prefix += prefix
	}
	p.children(n)
	p.prefix = outer
}

// marked writes a mark and what follows it, and reports whether anything did. If
// not, the mark is taken back.
func (p *printer) marked(mark string, follow func()) bool {
	before := *p
	p.write(mark)
	p.opened = true
	length := len(p.out)
	follow()
	if len(p.out) == length {
		*p = before
		return false
	}
	return true
}

// phrase writes children between marks.
func (p *printer) phrase(n *html.Node, mark string) {
	if p.marked(mark, func() { p.children(n) }) {
		p.out = append(p.out, mark...)
	}
}

func (p *printer) node(n *html.Node) {
	if n.Type == html.TextNode {
		p.text(n.Data)
		return
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Head:
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.end(2)
		p.marked(strings.Repeat("#", int(n.Data[1]-'0'))+" ", func() { p.children(n) })
		p.end(2)
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Figure,
		atom.Dl, atom.Address, atom.Details, atom.Fieldset, atom.Form, atom.Center:
		p.block(n, 2)
	case atom.Dt, atom.Dd, atom.Tr, atom.Summary, atom.Figcaption, atom.Caption:
		p.block(n, 1)
	case atom.Br:
		p.end(min(p.breaks+1, 2))
	case atom.Hr:
		p.end(2)
		p.write("---")
		p.end(2)
	case atom.Blockquote:
		p.end(2)
		p.indented(n, "> ")
		p.end(2)
	case atom.Ul, atom.Ol:
		p.list(n)
	case atom.Pre:
		p.code(n)
	case atom.Table:
		p.table(n)
	case atom.Strong, atom.B:
		p.phrase(n, "**")
	case atom.Em, atom.I:
		p.phrase(n, "*")
	case atom.Code, atom.Kbd, atom.Samp:
		if text := words(n); text != "" {
			p.write("`" + text + "`")
		}
	case atom.A:
		p.link(n)
	case atom.Img:
		if alt, src := strings.Join(strings.Fields(attr(n, "alt")), " "), p.absolute(attr(n, "src")); alt != "" && src != "" {
			p.write("![" + alt + "](" + src + ")")
		}
	default:
		p.children(n)
	}
}

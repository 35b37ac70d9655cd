package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func (p *printer) list(n *html.Node) {
	breaks := 2
	if p.prefix != "" {
		breaks = 1
	}
	p.end(breaks)
	number := 0
	for item := range n.ChildNodes() {
		if item.DataAtom != atom.Li {
			p.node(item)
			continue
		}
		p.end(1)
		bullet := "- "
		if number++; n.DataAtom == atom.Ol {
			bullet = strconv.Itoa(number) + ". "
		}
		p.marked(bullet, func() { p.indented(item, strings.Repeat(" ", len(bullet))) })
		p.end(1)
	}
	p.end(breaks)
}

var backticks = regexp.MustCompile("`{3,}")

// code writes a block of code, line by line as it is.
func (p *printer) code(n *html.Node) {
	var text strings.Builder
	language := ""
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			text.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			text.WriteByte('\n')
		case d.DataAtom == atom.Code:
			language = attr(d, "class")
		}
	}
	_, language, _ = strings.Cut(language+" "+attr(n, "class"), "language-")
	language, _, _ = strings.Cut(strings.ReplaceAll(language, "\n", " "), " ")
	longest := 2
	for _, run := range backticks.FindAllString(text.String(), -1) {
		longest = max(longest, len(run))
	}
	fence := strings.Repeat("`", longest+1)
	p.end(2)
	p.write(fence + language)
	for line := range strings.Lines(strings.Trim(text.String(), "\n")) {
		p.end(1)
		p.write(strings.TrimRight(line, "\r\n"))
	}
	p.end(1)
	p.write(fence)
	p.end(2)
}

// table writes a table of data. One that only lays out a page is written cell by
// cell.
func (p *printer) table(n *html.Node) {
	layout := find(n, func(d *html.Node) bool {
		return slices.Contains([]atom.Atom{atom.Table, atom.H1, atom.H2, atom.H3, atom.Pre, atom.Ul, atom.Ol, atom.Blockquote, atom.Div}, d.DataAtom)
	})
	if layout != nil {
		p.block(n, 2)
		return
	}
	p.end(2)
	ruled := false
	for row := range n.Descendants() {
		if row.DataAtom != atom.Tr {
			continue
		}
		cells := 0
		p.end(1)
		p.write("|")
		for cell := range row.ChildNodes() {
			if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
				inner := markdown(cell, p.base)
				p.out = append(p.out, " "+cellEscapes.Replace(inner)+" |"...)
				cells++
			}
		}
		if !ruled {
			ruled = true
			p.end(1)
			p.write("|" + strings.Repeat(" --- |", cells))
		}
	}
	p.end(2)
}

func (p *printer) link(n *html.Node) {
	text, to := words(n), p.absolute(attr(n, "href"))
	switch {
	case to == "" || strings.HasPrefix(attr(n, "href"), "#"):
		p.text(text)
	case text != "":
		p.write("[" + text + "](" + to + ")")
	}
}

var (
	linkEscapes = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20")
	cellEscapes = strings.NewReplacer("|", `\|`, "\n", " ")
)

// absolute returns where a reference leads, "" if not to a page or a mailbox.
func (p *printer) absolute(reference string) string {
	u, err := p.base.Parse(strings.TrimSpace(reference))
	if err != nil || reference == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	return linkEscapes.Replace(u.String())
}

// words returns the text of an element, with single spaces.
func words(n *html.Node) string {
	var b strings.Builder
	gather(n, &b)
	return strings.Join(strings.Fields(b.String()), " ")
}

func gather(n *html.Node, b *strings.Builder) {
	for child := range n.ChildNodes() {
		switch child.DataAtom {
		case atom.Img:
			b.WriteString(attr(child, "alt"))
		case 0, atom.A, atom.B, atom.Code, atom.Em, atom.Font, atom.I, atom.Kbd, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup:
			if child.Type == html.TextNode {
				b.WriteString(child.Data)
			}
			gather(child, b)
		default:
			b.WriteByte(' ')
			gather(child, b)
			b.WriteByte(' ')
		}
	}
}

package markup

import (
	"fmt"
	"slices"
	"strings"
)

// maxProblems bounds the report on a source that is broken throughout.
const maxProblems = 1000

// A parser turns tags into nodes and matches end tags with start tags.
type parser struct {
	scanner
	doc    *Document
	known  func(string) bool
	pos    int // where scanning goes on
	text   int // where the text that is not yet a node starts
	seen   sightings
	open   []opened
	named  map[string]*openNames
	fences []fenceLine // those not yet reached
	wrap   *fenceLine  // the transparent fence that is open
	err    *LimitError
}

// An opened element may still be closed: an end tag of its name lies ahead.
type opened struct {
	node  *Node
	key   string
	solid int // the nearest opened element at or below this one that is not a mention; -1 if none
	reach int // the last offset at which this one or one below it, mentions aside, can be closed
}

// openNames are the places in parser.open of the elements of one name.
type openNames struct{ solid, mentions []int }

func newParser(src string, opts Options) *parser {
	doc := &Document{src: src, lines: lineStarts(src)}
	doc.Root = &Node{doc: doc, Line: 1, EndLine: len(doc.lines), close: len(src), End: len(src)}
	p := &parser{
		scanner: scanner{src: src},
		doc:     doc,
		known:   opts.Known,
		seen:    sightTags(src),
		named:   map[string]*openNames{},
		fences:  fenceLines(src),
	}
	if p.known == nil {
		p.known = func(string) bool { return true }
	}
	return p
}

func (p *parser) run() {
	for p.err == nil {
		i := strings.IndexAny(p.src[p.pos:], "<`~")
		if i < 0 {
			break
		}
		p.pos += i
		if p.src[p.pos] == '<' {
			p.angle()
		} else {
			p.ticks()
		}
	}
	p.flush(len(p.src))
	p.abandon(0)
	p.doc.Root.last = len(p.doc.nodes)
}

// angle deals with the < at pos.
func (p *parser) angle() {
	rest := p.src[p.pos:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		p.delimited(Aside, "<!--", "-->")
	case strings.HasPrefix(rest, cdataStart):
		p.delimited(CData, cdataStart, cdataEnd)
	case strings.HasPrefix(rest, "<!") && len(rest) > 2 && isLetter(rest[2]):
		p.report(p.pos, RefusedDeclaration, "declarations such as DOCTYPE and ENTITY are skipped")
		p.delimited(Aside, "<!", ">")
	case strings.HasPrefix(rest, "<?") && len(rest) > 2 && isLetter(rest[2]):
		p.delimited(Aside, "<?", "?>")
	case strings.HasPrefix(rest, "</"):
		p.endTag()
	default:
		p.startTag()
	}
}

// delimited makes one node of what lies between two delimiters, or text of the first if the second is missing.
func (p *parser) delimited(kind Kind, from, to string) {
	end := p.seek(p.pos+len(from), to)
	if end < 0 {
		p.report(p.pos, Unterminated, fmt.Sprintf("%s without %s is text", from, to))
		p.pos += len(from)
		return
	}
	p.add(kind, p.pos, end+len(to))
}

func (p *parser) startTag() {
	start := p.pos
	t, ok := p.scanStart(start, p.known)
	p.pos = t.end
	if t.unterminated {
		p.report(start, Unterminated, fmt.Sprintf("a quoted value in <%s> does not end; the tag is text", t.name))
	}
	if !ok {
		return
	}
	if len(t.attrs) > MaxAttrs {
		p.limit(start, fmt.Sprintf("%d attributes in <%s>", MaxAttrs, t.name))
		return
	}
	solid := p.leads(start) || len(t.attrs) > 0
	n := p.add(Element, start, t.end)
	n.Name, n.Attrs, n.SelfClosing = t.name, t.attrs, t.selfClosing || isVoid(t.name)
	p.checkAttrs(n)
	if n.SelfClosing {
		return
	}
	key := strings.ToLower(n.Name)
	next, last := p.seen.endsAfter(key, n.End)
	switch {
	case last < 0:
		p.unclosed(n)
	case solid || p.doc.LineAt(next) == n.EndLine:
		p.pushSolid(n, key, last)
	default:
		p.pushMention(n, key)
	}
}

// leads tells whether nothing but blanks precedes the tag at pos, on its line or since the tag before it.
func (p *parser) leads(pos int) bool {
	before := strings.TrimRight(p.src[p.text:pos], " \t")
	return before == "" || before[len(before)-1] == '\n'
}

func (p *parser) checkAttrs(n *Node) {
	for i, a := range n.Attrs {
		switch {
		case a.bare:
			p.report(n.Start, BareAttribute, fmt.Sprintf("attribute %s of <%s> has no value", a.Name, n.Name))
		case a.unquoted:
			p.report(n.Start, UnquotedAttribute, fmt.Sprintf("attribute %s of <%s> has no quotes", a.Name, n.Name))
		}
		same := func(b Attr) bool { return strings.EqualFold(a.Name, b.Name) }
		if slices.ContainsFunc(n.Attrs[:i], same) {
			p.report(n.Start, DuplicateAttribute, fmt.Sprintf("attribute %s of <%s> is given twice; the first counts", a.Name, n.Name))
		}
	}
}

// pushSolid opens an element that can be closed up to the offset last.
func (p *parser) pushSolid(n *Node, key string, last int) {
	names := p.openNamed(key)
	names.solid = append(names.solid, len(p.open))
	o := opened{node: n, key: key, solid: len(p.open), reach: last}
	if below := len(p.open) - 1; below >= 0 {
		o.reach = max(o.reach, p.open[below].reach)
	}
	p.open = append(p.open, o)
}

// pushMention opens an element that an end tag closes only if it finds no better one.
func (p *parser) pushMention(n *Node, key string) {
	names := p.openNamed(key)
	names.mentions = append(names.mentions, len(p.open))
	o := opened{node: n, key: key, solid: -1}
	if below := len(p.open) - 1; below >= 0 {
		o.solid, o.reach = p.open[below].solid, p.open[below].reach
	}
	p.open = append(p.open, o)
}

func (p *parser) openNamed(key string) *openNames {
	names := p.named[key]
	if names == nil {
		names = &openNames{}
		p.named[key] = names
	}
	return names
}

func (p *parser) endTag() {
	start := p.pos
	name, end := p.scanEnd(start)
	if name == "" || !p.known(name) {
		p.pos = max(end, start+2)
		return
	}
	at := p.named[strings.ToLower(name)].nearest()
	if at < 0 {
		p.report(start, StrayEndTag, fmt.Sprintf("</%s> closes nothing", name))
		p.add(Aside, start, end)
		return
	}
	p.flush(start)
	p.abandon(at + 1)
	n := p.open[at].node
	p.pop()
	n.close, n.End, n.EndLine = start, end, p.doc.LineAt(end-1)
	n.last = len(p.doc.nodes)
	p.text, p.pos = end, end
}

// nearest returns the place of the element that an end tag closes, or -1.
func (o *openNames) nearest() int {
	switch {
	case o == nil:
		return -1
	case len(o.solid) > 0:
		return o.solid[len(o.solid)-1]
	case len(o.mentions) > 0:
		return o.mentions[len(o.mentions)-1]
	}
	return -1
}

// abandon gives up the opened elements from place up: they are never closed.
func (p *parser) abandon(place int) {
	for len(p.open) > place {
		p.unclosed(p.open[len(p.open)-1].node)
		p.pop()
	}
}

func (p *parser) pop() {
	top := len(p.open) - 1
	names := p.named[p.open[top].key]
	if k := len(names.solid) - 1; k >= 0 && names.solid[k] == top {
		names.solid = names.solid[:k]
	} else {
		names.mentions = names.mentions[:len(names.mentions)-1]
	}
	p.open = p.open[:top]
}

func (p *parser) unclosed(n *Node) {
	n.Unclosed = true
	p.report(n.Start, UnclosedElement, fmt.Sprintf("<%s> is never closed and taken as empty", n.Name))
}

// add makes a node of the source from start to end, after the text before it.
func (p *parser) add(kind Kind, start, end int) *Node {
	p.flush(start)
	p.text, p.pos = end, end
	return p.append(kind, start, end)
}

func (p *parser) flush(end int) {
	if p.text < end {
		p.append(Text, p.text, end)
	}
	p.text = end
}

func (p *parser) append(kind Kind, start, end int) *Node {
	n := &Node{Kind: kind, Start: start, End: end, open: end, close: end, doc: p.doc}
	n.Line, n.EndLine = p.doc.LineAt(start), p.doc.LineAt(end-1)
	n.index = len(p.doc.nodes)
	n.last = n.index + 1
	p.doc.nodes = append(p.doc.nodes, n)
	if len(p.doc.nodes) > MaxNodes {
		p.limit(start, fmt.Sprintf("%d elements and texts", MaxNodes))
	}
	return n
}

func (p *parser) limit(at int, what string) {
	if p.err == nil {
		p.err = &LimitError{p.doc.LineAt(at), what}
	}
}

func (p *parser) report(at int, code Code, message string) {
	if len(p.doc.Problems) < maxProblems {
		p.doc.Problems = append(p.doc.Problems, Problem{p.doc.LineAt(at), code, message})
	}
}

package markup

import (
	"iter"
	"slices"
	"strings"
)

// A Kind says what a node is.
type Kind int

// The kinds of nodes. The children of an element cover what lies between its tags without gaps.
const (
	Element Kind = iota
	Text         // prose, code and everything that is not a tag
	CData        // a CDATA section, with its delimiters
	Aside        // source without content: comments, declarations, stray end tags, front matter, the fence around a root
)

// A Node is an element or a piece of what stands between elements. It belongs to its document and must not be changed.
// What Find returned may be asked for its attributes, elements and text even if it is nil: it has none.
type Node struct {
	Kind     Kind
	Name     string // as written; empty unless an element
	Attrs    []Attr // in order, duplicates included
	Parent   *Node  // nil for the root of the document
	Children []*Node

	Line, EndLine int  // lines of the first and the last byte, from 1
	Start, End    int  // offsets in the source, tags included
	SelfClosing   bool // <name/>, or a tag such as <br> that never has content
	Unclosed      bool // the end tag is missing: the element is empty, and its content is among its siblings

	doc         *Document
	open, close int // offsets of what lies between the tags
	index, last int // the descendants are doc.nodes[index+1:last]
	place       int // in Parent.Children
}

// An Attr is one attribute of a start tag.
type Attr struct {
	Name  string // as written
	Raw   string // the value as written, without quotes
	Value string // the value with entities unescaped

	bare, unquoted bool
}

// A Code names a sort of problem. Codes are stable; messages are for people.
type Code string

// The problems that Parse reports.
const (
	UnclosedElement    Code = "unclosed-element"
	StrayEndTag        Code = "stray-end-tag"
	DuplicateAttribute Code = "duplicate-attribute"
	UnquotedAttribute  Code = "unquoted-attribute"
	BareAttribute      Code = "bare-attribute"
	Unterminated       Code = "unterminated" // a quoted value, comment or section that does not end
	RefusedDeclaration Code = "refused-declaration"
	UnclosedFence      Code = "unclosed-fence"
)

// A Problem is something that looks like a mistake. How the source was read in spite of it is in the message.
type Problem struct {
	Line    int
	Code    Code
	Message string
}

// Attr returns the value of the first attribute of that name, in any case, and whether there is one.
func (n *Node) Attr(name string) (value string, ok bool) {
	if n == nil {
		return "", false
	}
	for _, a := range n.Attrs {
		if strings.EqualFold(a.Name, name) {
			return a.Value, true
		}
	}
	return "", false
}

// Is tells whether n is an element of that name, in any case.
func (n *Node) Is(name string) bool {
	return n != nil && n.Kind == Element && strings.EqualFold(n.Name, name)
}

// All returns the elements at the end of a path of names: children, then their children, and so on.
func (n *Node) All(path ...string) []*Node {
	if n == nil {
		return nil
	}
	level := []*Node{n}
	for _, name := range path {
		var next []*Node
		for _, parent := range level {
			for _, c := range parent.Children {
				if c.Is(name) {
					next = append(next, c)
				}
			}
		}
		level = next
	}
	return level
}

// Find returns the first of All(path...), or nil.
func (n *Node) Find(path ...string) *Node {
	if all := n.All(path...); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Named returns the elements of any of the names below n, at any depth, in document order.
func (n *Node) Named(names ...string) []*Node {
	var found []*Node
	for d := range n.Descendants() {
		if slices.ContainsFunc(names, d.Is) {
			found = append(found, d)
		}
	}
	return found
}

// Descendants walks everything below n in document order.
func (n *Node) Descendants() iter.Seq[*Node] { return slices.Values(n.below()) }

// Following returns the siblings after n: where a <check> holds only its condition, they are what it applies to.
func (n *Node) Following() []*Node {
	if n.Parent == nil {
		return nil
	}
	return n.Parent.Children[n.place+1:]
}

// Text returns the text of n and of everything below it, without tags and asides, unescaped and trimmed. A tag that is
// never closed is kept as written: it is a placeholder or a mention, part of the sentence it stands in.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	parts := n.below()
	if n.Kind != Element {
		parts = []*Node{n}
	}
	var b strings.Builder
	for _, part := range parts {
		part.writeText(&b)
	}
	return strings.TrimSpace(b.String())
}

func (n *Node) writeText(b *strings.Builder) {
	switch {
	case n.Kind == Text:
		b.WriteString(unescape(n.Raw()))
	case n.Kind == CData:
		b.WriteString(n.Raw()[len(cdataStart) : n.End-n.Start-len(cdataEnd)])
	case n.Unclosed:
		b.WriteString(n.Raw())
	case n.Is("br"):
		b.WriteByte('\n')
	}
}

// Inner returns the source between the tags of an element, exactly as written.
func (n *Node) Inner() string {
	if n == nil {
		return ""
	}
	return n.doc.src[n.open:n.close]
}

// InnerLine returns the line on which Inner starts.
func (n *Node) InnerLine() int {
	return n.doc.LineAt(n.open)
}

// Raw returns the source of n with its tags, exactly as written.
func (n *Node) Raw() string {
	return n.doc.src[n.Start:n.End]
}

func (n *Node) below() []*Node {
	switch {
	case n == nil:
		return nil
	case n.Parent == nil:
		return n.doc.nodes
	}
	return n.doc.nodes[n.index+1 : n.last]
}

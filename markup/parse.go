// Package markup scans the tags that BMAD files mix into markdown, leniently and in linear time, with line numbers.
//
// The files are not XML. Prose holds bare & and <, placeholders look like tags, tags are mentioned and never closed,
// roots are missing, doubled or wrapped in a code fence. Parse therefore never refuses a file for what it says, only
// for its size; whatever looks wrong is kept as text and listed in [Document.Problems].
//
// How a file is read:
//
//   - A tag is <name>, </name> or <name attr="value">. Names are compared without regard to case. A tag whose only
//     attributes are bare words ("<the project name>") and a name that [Options.Known] denies are prose.
//   - An element that is never closed is empty: what follows it belongs to its parent, so that a mention of <action>
//     in a sentence, or a forgotten end tag, does not swallow the rest of a step.
//   - An end tag closes the nearest open element of its name. A mention (a tag in the middle of a line, without
//     attributes, whose end is not on that line) is passed over while a better match is open.
//   - A code fence inside an element is an example: its tags are text. A fence outside every element is transparent if
//     its language is xml, or none and its content starts with a tag: that is how agents, tasks and workflows are
//     often wrapped. Any other fence outside is an example too. A fence that is never closed, or that would hide the
//     end of the element it stands in, is text and hides nothing.
//   - Tags between backticks on one line are text. Comments, CDATA sections and front matter hide their tags.
//   - A DOCTYPE or ENTITY declaration is skipped and reported; nothing it declares exists. Of what follows a bare &,
//     only the references of HTML that end in a semicolon are unescaped.
package markup

import (
	"bytes"
	"fmt"
	"slices"
)

// What Parse accepts. Real files stay far below each limit.
const (
	MaxBytes = 1 << 20 // length of a source
	MaxDepth = 64      // elements inside one another
	MaxAttrs = 64      // attributes of one tag
	MaxNodes = 1 << 16 // elements, texts and asides of a document
)

// A LimitError says which limit a source exceeds, and on which line. It is the only error of [Parse].
type LimitError struct {
	Line  int
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("scan markup: line %d: more than %s", e.Line, e.Limit)
}

// Options change what counts as a tag.
type Options struct {
	// Known says whether a name, given as written, is a tag. Other names are prose. By default every name is a tag.
	Known func(name string) bool
}

// A Document is a scanned source. It does not change after Parse and may be read by many goroutines.
type Document struct {
	// Root spans the whole source; its name is empty and its children are the top-level elements and texts.
	Root *Node
	// Problems are in line order; on a source with more than a thousand, the rest is left out.
	Problems []Problem

	src   string
	nodes []*Node // in document order, without Root
	lines []int   // where each line starts
}

// Parse scans src. The error, if any, is a [*LimitError].
func Parse(src []byte, opts Options) (*Document, error) {
	if len(src) > MaxBytes {
		line := 1 + bytes.Count(src[:MaxBytes], []byte{'\n'})
		return nil, &LimitError{line, fmt.Sprintf("%d bytes", MaxBytes)}
	}
	p := newParser(string(src), opts)
	if _, body, _ := FrontMatter(src); len(body) < len(src) {
		p.add(Aside, 0, len(src)-len(body))
	}
	p.run()
	if p.err != nil {
		return nil, p.err
	}
	doc := p.doc
	if err := doc.link(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(doc.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return doc, nil
}

// LineAt returns the line, counted from 1, that holds the byte at offset.
func (d *Document) LineAt(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

// link makes the tree of the flat list of nodes, each of which knows where its descendants end.
func (d *Document) link() error {
	path := []*Node{d.Root}
	for i, n := range d.nodes {
		for i >= path[len(path)-1].last {
			path = path[:len(path)-1]
		}
		if n.Kind == Element && len(path) > MaxDepth {
			return &LimitError{n.Line, fmt.Sprintf("%d elements inside one another", MaxDepth)}
		}
		n.Parent = path[len(path)-1]
		n.place = len(n.Parent.Children)
		n.Parent.Children = append(n.Parent.Children, n)
		if n.last > i+1 {
			path = append(path, n)
		}
	}
	return nil
}

func lineStarts(src string) []int {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' && i+1 < len(src) {
			starts = append(starts, i+1)
		}
	}
	return starts
}

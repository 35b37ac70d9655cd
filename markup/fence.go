package markup

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// maxTicks is the longest run of backticks that can open a code span. The bound keeps the search for its end linear.
const maxTicks = 8

// A Fence is a fenced code block of a markdown source.
type Fence struct {
	Language string // the first word after the opening marks, as written
	Content  []byte // the lines between the marks, a part of the source
	Line     int    // the line of the opening marks; the content starts on the next one
	Closed   bool   // false if the source ends first
}

// Fences returns the code blocks of src in order, none inside another. A block ends at the first line that holds
// nothing but as many marks or more; how far lines are indented does not matter.
func Fences(src []byte) []Fence {
	var fences []Fence
	line, counted, end := 1, 0, 0
	for _, l := range fenceLines(string(src)) {
		if l.mark < end {
			continue
		}
		line += bytes.Count(src[counted:l.mark], []byte{'\n'})
		counted = l.mark
		f := Fence{Language: l.language, Line: line, Closed: l.closeMark >= 0}
		contentEnd := len(src)
		end = len(src)
		if f.Closed {
			contentEnd = bytes.LastIndexByte(src[:l.closeMark], '\n') + 1
			end = l.closeEnd
		}
		f.Content = src[l.end:contentEnd:contentEnd]
		fences = append(fences, f)
	}
	return fences
}

// FrontMatter splits src at the line that ends its front matter. The matter, which starts on line 2, is returned
// without its --- lines; line is the one on which body starts. A source without front matter is all body, from line 1.
func FrontMatter(src []byte) (yaml, body []byte, line int) {
	first, rest, ok := bytes.Cut(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte{'\n'})
	if !ok || !isRule(first) {
		return nil, src, 1
	}
	matter := rest
	for line = 2; len(rest) > 0; line++ {
		at := len(matter) - len(rest)
		first, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if isRule(first) {
			return matter[:at:at], rest, line + 1
		}
	}
	return nil, src, 1
}

func isRule(line []byte) bool {
	return string(bytes.TrimRight(line, " \t\r")) == "---"
}

// A fenceLine starts with three or more backticks or tildes, after blanks. It may open a block or close one.
type fenceLine struct {
	mark, end           int // offsets of the marks and of the next line
	char                byte
	run                 int    // number of marks
	language            string // the first word after them; a line that has none can close a block
	closeMark, closeEnd int    // the same of the line that would close a block opened here; -1 if there is none
}

func fenceLines(src string) []fenceLine {
	var lines []fenceLine
	for at := 0; at < len(src); {
		end := len(src)
		if i := strings.IndexByte(src[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if l, ok := fenceLineOf(src[at:end]); ok {
			l.mark += at
			l.end = end
			lines = append(lines, l)
		}
		at = end
	}
	matchFences(lines)
	return lines
}

func fenceLineOf(line string) (l fenceLine, ok bool) {
	text := strings.TrimLeft(line, " \t")
	if text == "" || text[0] != '`' && text[0] != '~' {
		return l, false
	}
	l.mark = len(line) - len(text)
	l.char = text[0]
	l.run = runLength(text, 0)
	info := text[l.run:]
	if l.run < 3 || l.char == '`' && strings.Contains(info, "`") {
		return l, false
	}
	if words := strings.Fields(info); len(words) > 0 {
		l.language = words[0]
	}
	return l, true
}

// matchFences finds for every line the nearest later one that could close it. Going backwards, it keeps the possible
// closers of each kind, the farthest and longest first: a line hides those ahead that are no longer than itself.
func matchFences(lines []fenceLine) {
	closers := map[byte][]*fenceLine{}
	for i := range slices.Backward(lines) {
		l := &lines[i]
		l.closeMark, l.closeEnd = -1, -1
		ahead := closers[l.char]
		longEnough := sort.Search(len(ahead), func(k int) bool { return ahead[k].run < l.run })
		if longEnough > 0 {
			closer := ahead[longEnough-1]
			l.closeMark, l.closeEnd = closer.mark, closer.end
		}
		if l.language != "" {
			continue
		}
		for len(ahead) > 0 && ahead[len(ahead)-1].run <= l.run {
			ahead = ahead[:len(ahead)-1]
		}
		closers[l.char] = append(ahead, l)
	}
}

func runLength(s string, at int) int {
	end := at
	for end < len(s) && s[end] == s[at] {
		end++
	}
	return end - at
}

// ticks deals with the backtick or tilde at pos.
func (p *parser) ticks() {
	for len(p.fences) > 0 && p.fences[0].mark < p.pos {
		p.fences = p.fences[1:]
	}
	if len(p.fences) > 0 && p.fences[0].mark == p.pos {
		p.fence(&p.fences[0])
		return
	}
	run := runLength(p.src, p.pos)
	if p.src[p.pos] == '`' && run <= maxTicks {
		p.pos = p.spanEnd(p.pos+run, run)
		return
	}
	p.pos += run
}

// spanEnd returns where the code span ends that a run of backticks before pos opens, or pos if it opens none.
func (s *scanner) spanEnd(pos, run int) int {
	for i := pos; i < len(s.src) && s.src[i] != '\n'; i++ {
		if s.src[i] != '`' {
			continue
		}
		n := runLength(s.src, i)
		if n == run {
			return i + n
		}
		i += n - 1
	}
	return pos
}

// fence decides what the fence line at pos means: an edge of the transparent fence, an example, or plain text.
func (p *parser) fence(l *fenceLine) {
	inside := len(p.open) > 0 && p.open[len(p.open)-1].reach > p.pos
	switch {
	case !inside && p.wrap != nil && p.wrap.isClosedBy(l):
		p.wrap = nil
		p.add(Aside, l.mark, l.end)
	case !inside && p.wrap == nil && p.mayWrap(l):
		p.wrap = l
		p.add(Aside, l.mark, l.end)
	case l.closeMark < 0:
		p.report(l.mark, UnclosedFence, "the code fence is never closed and taken as text")
		p.pos = l.end
	case inside && p.hidesEnd(l):
		p.report(l.mark, UnclosedFence, "the code fence would hide the end of its element and is taken as text")
		p.pos = l.end
	default:
		p.pos = l.closeEnd
	}
}

// hidesEnd tells whether the innermost element would be closed within a block opened by l.
func (p *parser) hidesEnd(l *fenceLine) bool {
	container := p.open[p.open[len(p.open)-1].solid]
	return p.seen.endsBetween(container.key, l.end, l.closeMark)
}

func (l *fenceLine) isClosedBy(other *fenceLine) bool {
	return other.language == "" && other.char == l.char && other.run >= l.run
}

// mayWrap tells whether a fence outside every element stands around a root rather than around an example.
func (p *parser) mayWrap(l *fenceLine) bool {
	return strings.EqualFold(l.language, "xml") || l.language == "" && p.tagStarts(p.skipBlanks(l.end))
}

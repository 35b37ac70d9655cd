package knowledge

import (
	"strings"
	"unicode/utf8"
)

// maxPassage is the longest a passage gets, in bytes: a page or so.
const maxPassage = 2000

// A part is a passage of a document.
type part struct{ heading, text string }

// split cuts a document into parts, which together are all of it: before a heading,
// and where a part would get too long, between paragraphs if that can be. Headings
// are those of markdown, outside of code. A document has at least one part.
func split(content string) []part {
	s := splitter{content: content}
	for line := range strings.Lines(content) {
		s.take(line)
	}
	s.cut(len(content))
	if len(s.parts) == 0 {
		s.parts = []part{{}}
	}
	return s.parts
}

// A splitter reads a document line by line.
type splitter struct {
	content  string
	parts    []part
	headings []heading // the path to where it is
	fence    string    // what ends the code that it is in
	start    int       // of the part
	at       int       // of the next line
	between  int       // the end of the last paragraph, if that is after start
	hasBody  bool      // whether the part is more than headings
}

type heading struct {
	level int
	title string
}

func (s *splitter) take(line string) {
	level, title := headingOf(line)
	switch {
	case s.fence == "" && level > 0:
		if s.hasBody {
			s.cut(s.at)
		}
		for n := len(s.headings); n > 0 && s.headings[n-1].level >= level; n-- {
			s.headings = s.headings[:n-1]
		}
		s.headings = append(s.headings, heading{level, title})
	case strings.TrimSpace(line) != "":
		s.hasBody = true
		s.codes(line)
	}
	s.at += len(line)
	for s.at-s.start > maxPassage {
		s.cut(s.limit(s.at - len(line)))
		s.hasBody = true // what follows the cut goes on with it
	}
	if s.fence == "" && strings.TrimSpace(line) == "" {
		s.between = s.at
	}
}

// limit returns where to cut a part that got too long with a line.
func (s *splitter) limit(line int) int {
	if s.between > s.start {
		return s.between
	}
	if line > s.start {
		return line
	}
	longest := s.content[s.start : s.start+maxPassage]
	if space := strings.LastIndexByte(longest, ' '); space > maxPassage/2 {
		return s.start + space + 1
	}
	end := len(longest)
	for !utf8.RuneStart(s.content[s.start+end]) {
		end--
	}
	return s.start + end
}

// cut ends the part, and begins the next one.
func (s *splitter) cut(end int) {
	if text := strings.TrimSpace(s.content[s.start:end]); text != "" {
		titles := make([]string, len(s.headings))
		for i, h := range s.headings {
			titles[i] = h.title
		}
		s.parts = append(s.parts, part{strings.Join(titles, " > "), text})
	}
	s.start, s.hasBody = end, false
}

// codes notes where code begins and ends.
func (s *splitter) codes(line string) {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	if rest == line {
		rest = strings.TrimLeft(line, "~")
	}
	mark := line[:len(line)-len(rest)]
	switch {
	case s.fence == "" && len(mark) >= 3 && !strings.Contains(rest, "`"):
		s.fence = mark
	case s.fence != "" && rest == "" && strings.HasPrefix(mark, s.fence):
		s.fence = ""
	}
}

// headingOf returns the level and the title of a heading, or level 0.
func headingOf(line string) (int, string) {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	title := strings.TrimSpace(rest)
	if level == 0 || level > 6 || !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") || title == "" {
		return 0, ""
	}
	title = strings.TrimSpace(strings.TrimRight(title, "#"))
	return level, strings.ToValidUTF8(title[:min(len(title), maxName)], "")
}

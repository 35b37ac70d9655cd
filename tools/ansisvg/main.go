// Ansisvg draws what a terminal shows, as tmux capture-pane -e prints it, as an SVG:
//
//	tmux capture-pane -ep | ansisvg COLUMNS > picture.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// The cells of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.4, 19.0
	margin                = 14.0
)

var colours = []string{
	"#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9",
	"#6e7681", "#ffa198", "#9be9a8", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
}

// A style is how a piece of text looks.
type style struct {
	colour                       string
	bold, dim, italic, underline bool
}

// attributes are those of an SVG element.
func (s style) attributes() string {
	var b strings.Builder
	if s.colour != "" {
		fmt.Fprintf(&b, ` fill="%s"`, s.colour)
	}
	if s.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.dim {
		b.WriteString(` opacity="0.6"`)
	}
	if s.italic {
		b.WriteString(` font-style="italic"`)
	}
	if s.underline {
		b.WriteString(` text-decoration="underline"`)
	}
	return b.String()
}

// apply changes the style as an escape sequence says.
func (s *style) apply(sequence string) {
	codes := strings.Split(sequence, ";")
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i]) // none is 0
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underline = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underline = false
		case n == 39:
			s.colour = ""
		case n >= 30 && n <= 37:
			s.colour = colours[n-30]
		case n >= 90 && n <= 97:
			s.colour = colours[n-82]
		case n == 38 && i+2 < len(codes) && codes[i+1] == "5":
			if c, err := strconv.Atoi(codes[i+2]); err == nil && c < len(colours) {
				s.colour = colours[c]
			}
			i += 2
		}
	}
}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// draw draws a line of the terminal.
func draw(out *strings.Builder, line string, row int, s *style) {
	column := 0
	piece := func(text string) {
		width := 0
		for _, r := range text {
			width += widthOf(r)
		}
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(out, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>%s</text>`+"\n",
				margin+float64(column)*cellWidth, margin+float64(row)*cellHeight+14, float64(width)*cellWidth, s.attributes(), strings.ReplaceAll(html.EscapeString(text), " ", "\u00a0")) // which no browser drops
		}
		column += width
	}
	at := 0
	for _, m := range escape.FindAllStringSubmatchIndex(line, -1) {
		piece(line[at:m[0]])
		s.apply(line[m[2]:m[3]])
		at = m[1]
	}
	piece(line[at:])
}

// widthOf is how many cells a character takes.
func widthOf(r rune) int {
	switch {
	case r == 0xfe0f || r == 0x200d:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

func main() {
	columns := 80
	if len(os.Args) > 1 {
		columns, _ = strconv.Atoi(os.Args[1])
	}
	var lines []string
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		lines = append(lines, strings.TrimRight(scan.Text(), " "))
	}
	for len(lines) > 0 && escape.ReplaceAllString(lines[len(lines)-1], "") == "" {
		lines = lines[:len(lines)-1]
	}
	var body strings.Builder
	var s style
	for row, line := range lines {
		draw(&body, line, row, &s)
	}
	width, height := 2*margin+float64(columns)*cellWidth, 2*margin+float64(len(lines))*cellHeight
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#c9d1d9">
%s</g>
</svg>
`, width, height, width, height, body.String())
}

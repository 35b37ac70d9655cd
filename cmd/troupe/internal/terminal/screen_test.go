package terminal

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A screen is as much of a terminal as the program makes use of: it keeps what
// would be seen, and what has scrolled out at the top.
type screen struct {
	mu            sync.Mutex
	width, height int
	lines         [][]rune
	past          []string
	x, y          int
	rest          []byte // the beginning of a sequence whose end is yet to come
}

func newScreen(width, height int) *screen {
	s := &screen{width: width, height: height}
	for range height {
		s.lines = append(s.lines, s.blank())
	}
	return s
}

func (s *screen) blank() []rune { return []rune(strings.Repeat(" ", s.width)) }

// Write implements [io.Writer].
func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := append(s.rest, data...)
	for len(in) > 0 {
		n := s.take(in)
		if n == 0 {
			break
		}
		in = in[n:]
	}
	s.rest = append([]byte(nil), in...)
	return len(data), nil
}

// take carries out what in begins with and returns its length, 0 if it is incomplete.
func (s *screen) take(in []byte) int {
	switch c := in[0]; {
	case c == '\x1b':
		return s.escape(in)
	case c == '\r':
		s.x = 0
	case c == '\n': // the terminal returns the carriage, too
		s.x = 0
		s.feed()
	case c == '\b':
		s.x = max(0, s.x-1)
	case c < ' ':
	default:
		if !utf8.FullRune(in) {
			return 0
		}
		r, size := utf8.DecodeRune(in)
		s.put(r)
		return size
	}
	return 1
}

func (s *screen) put(r rune) {
	if s.x >= s.width {
		s.x = 0
		s.feed()
	}
	s.lines[s.y][s.x] = r
	s.x += max(1, ansi.StringWidth(string(r)))
}

func (s *screen) feed() {
	if s.y++; s.y == s.height {
		s.y--
		s.past = append(s.past, strings.TrimRight(string(s.lines[0]), " "))
		s.lines = append(s.lines[1:], s.blank())
	}
}

// escape carries out a control sequence, as far as it moves or erases.
func (s *screen) escape(in []byte) int {
	if len(in) < 2 {
		return 0
	}
	if in[1] == ']' || in[1] == 'P' { // until BEL or ESC \
		for i := 2; i < len(in); i++ {
			if in[i] == '\a' || in[i] == '\\' && in[i-1] == '\x1b' {
				return i + 1
			}
		}
		return 0
	}
	if in[1] == 'M' { // one line up
		s.y = max(0, s.y-1)
	}
	if in[1] != '[' {
		return 2
	}
	for i := 2; i < len(in); i++ {
		if in[i] >= '@' && in[i] <= '~' {
			s.control(string(in[2:i]), in[i])
			return i + 1
		}
	}
	return 0
}

func (s *screen) control(parameters string, final byte) {
	n, given := 0, false
	for _, c := range parameters {
		if c < '0' || c > '9' {
			break
		}
		n, given = n*10+int(c-'0'), true
	}
	many := max(1, n)
	switch final {
	case 'A':
		s.y = max(0, s.y-many)
	case 'B':
		s.y = min(s.height-1, s.y+many)
	case 'C':
		s.x = min(s.width-1, s.x+many)
	case 'D':
		s.x = max(0, s.x-many)
	case 'G':
		s.x = min(s.width-1, many-1)
	case 'J':
		s.erase(s.y, s.x, s.width)
		for y := s.y + 1; y < s.height; y++ {
			s.lines[y] = s.blank()
		}
	case 'K':
		from, to := s.x, s.width
		if given && n == 1 {
			from, to = 0, s.x+1
		}
		s.erase(s.y, from, to)
	case 'X':
		s.erase(s.y, s.x, s.x+many)
	case 'L':
		for range min(many, s.height-s.y) {
			s.lines = append(s.lines[:s.height-1], nil)
			copy(s.lines[s.y+1:], s.lines[s.y:])
			s.lines[s.y] = s.blank()
		}
	case 'b':
		for range many {
			s.put(s.lines[s.y][s.x-1])
		}
	}
}

func (s *screen) erase(y, from, to int) {
	for x := from; x < min(to, s.width); x++ {
		s.lines[y][x] = ' '
	}
}

// all is everything that was ever shown and not erased, without blanks at the end.
func (s *screen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string(nil), s.past...)
	for _, line := range s.lines {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

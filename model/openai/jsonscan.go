package openai

// A jsonScan follows JSON text that comes in pieces, as far as it takes to know
// whether more may follow. It does not check numbers and words.
type jsonScan struct {
	open    []byte // the brackets that are open
	state   scanState
	closed  bool // the outermost bracket was closed
	dead    bool // no text that goes on like this is JSON
	escaped bool
	isKey   bool // the string that is being read is a key
}

type scanState byte

const (
	wantValue scanState = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	wantCommaOrEnd
	inString
	inWord
)

// complete reports whether the text is an object or an array from beginning to end.
func (s *jsonScan) complete() bool { return s.closed && !s.dead }

func (s *jsonScan) scan(text string) {
	for i := 0; i < len(text) && !s.dead; i++ {
		s.take(text[i])
	}
}

func (s *jsonScan) take(c byte) {
	if s.state == inString {
		s.takeOfString(c)
		return
	}
	isWord := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
	if s.state == inWord {
		if isWord {
			return
		}
		s.state = wantCommaOrEnd
	}
	switch {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
	case s.state == wantColon:
		s.expect(c == ':', wantValue)
	case s.state == wantCommaOrEnd:
		s.afterValue(c)
	case c == '"':
		s.isKey = s.state == wantKey || s.state == wantKeyOrEnd
		s.state = inString
	case c == '}' && s.state == wantKeyOrEnd || c == ']' && s.state == wantValueOrEnd:
		s.close()
	case s.state == wantKey || s.state == wantKeyOrEnd:
		s.dead = true
	case c == '{':
		s.open = append(s.open, c)
		s.state = wantKeyOrEnd
	case c == '[':
		s.open = append(s.open, c)
		s.state = wantValueOrEnd
	default:
		s.expect(isWord, inWord)
	}
}

func (s *jsonScan) takeOfString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"' && s.isKey:
		s.state = wantColon
	case c == '"':
		s.state = wantCommaOrEnd
	}
}

func (s *jsonScan) afterValue(c byte) {
	if len(s.open) == 0 {
		s.dead = true
		return
	}
	switch inObject := s.open[len(s.open)-1] == '{'; {
	case c == ',' && inObject:
		s.state = wantKey
	case c == ',':
		s.state = wantValue
	case c == '}' && inObject || c == ']' && !inObject:
		s.close()
	default:
		s.dead = true
	}
}

func (s *jsonScan) close() {
	s.open = s.open[:len(s.open)-1]
	s.state = wantCommaOrEnd
	s.closed = len(s.open) == 0
}

func (s *jsonScan) expect(ok bool, then scanState) {
	s.dead = !ok
	s.state = then
}

// clone returns a scan that goes on by itself.
func (s *jsonScan) clone() jsonScan {
	other := *s
	other.open = append([]byte(nil), s.open...)
	return other
}

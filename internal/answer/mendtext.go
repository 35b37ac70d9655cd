package answer

import (
	"bytes"
	"regexp"
	"strings"
)

var (
	// properArray is an array that begins a line, with a value that does not look like prose.
	properArray = regexp.MustCompile("(?m)^[ \t]*(?:```\\w*[ \t]*)?(\\[)\\s*(?:[\\]},{\\[\"'“‘\\d-]|//|/\\*|#|$|\\.\\.\\.\\s*,|(?i:true|false|null|none)\\b)")
	// wordArray and wholeTuple are arrays that are only meant as such where they are all
	// there is: words in brackets, one of which may have lost its first quote, and what is
	// a tuple in Python.
	wordArray  = regexp.MustCompile(`^\[\s*[\pL_][\w.:/@+-]*"?(?:\s*,\s*(?:[\w.:/@+-]+|"[^"\n]*"))+\s*\]$`)
	wholeTuple = regexp.MustCompile(`^\((?s:.*)\)$`)
	fenceStart = regexp.MustCompile("^```\\w*\\s*")
	// escapedObject is how an object begins whose quotes are all escaped, and plainQuote
	// is a quote that is not.
	escapedObject = regexp.MustCompile(`^\{\s*(?:\\n\s*)*\\"`)
	plainQuote    = regexp.MustCompile(`(?:^|[^\\])"`)
)

// goesOnMended is goesOn for a value that was not sound: nothing like JSON may follow it.
var goesOnMended = regexp.MustCompile(`^\s*(?:,[\s,]*[^\s,]|[\]}":])`)

// maxFailures is after how many values that cannot be mended the search ends. It
// bounds how often a text is read.
const maxFailures = 8

// maxWords is the size of the longest list of words without quotes that is looked for.
const maxWords = 4096

// unescape undoes what happens to JSON that is put in a string.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

// mend mends the syntax of the values in the text, and looks in them for the one that
// fits. Different ones that fit are a failure.
func (r *reader) mend(text []byte) (found finding, failure *Error) {
	text = bytes.TrimRight(text, "` \t\r\n")
	if start := nextProper(text, 0); start >= 0 && escapedObject.Match(text[start:]) && !plainQuote.Match(text) {
		r.work += 2 * len(text)
		return r.findEither([]byte(unescape.Replace(string(text))))
	}
	if start := nextProper(text, 0); start >= 0 && doubledQuotes.Match(text[start:]) && areAllDoubled(text[start:]) {
		r.work += 2 * len(text)
		text = undouble(text)
	}
	if found, ok := r.mendWhole(bytes.TrimSpace(text)); ok {
		return found, nil
	}
	partners := r.partnersOf(text)
	for offset, failures := 0, 0; failures < maxFailures; {
		start := nextProper(text, offset)
		if start < 0 {
			break
		}
		m, ok := r.mendAt(text, start)
		end := start + m.pos
		if !ok {
			failures++
			r.noteRefusal(text[start:], m)
			if offset = r.resume(text, start, partners); offset < 0 {
				break
			}
			continue
		}
		other, failure := r.findEither(m.out)
		if failure != nil {
			return finding{}, failure
		}
		if other.value != nil && found.value != nil && !isSame(found.value, other.value) {
			return finding{}, ambiguous()
		}
		if other.value != nil {
			if failure := r.disownedAt(text, start, min(end, len(text)), m.out, m.out[other.start:other.end]); failure != nil {
				return finding{}, failure
			}
			found = other
		}
		offset = end
	}
	return found, nil
}

// mendWhole mends a text that is an array from its first character to its last, and would
// not be taken for one in a longer text.
func (r *reader) mendWhole(text []byte) (found finding, ok bool) {
	r.work += len(text)
	text = text[len(fenceStart.Find(text)):]
	isTuple := wholeTuple.Match(text) && tuple.Match(text)
	if !isTuple && (len(text) > maxWords || !wordArray.Match(text)) {
		return finding{}, false
	}
	m, ok := r.tryMend(text, 0, false)
	if !ok || m.pos < len(text) {
		return finding{}, false
	}
	found, failure := r.findEither(m.out)
	return found, failure == nil && found.value != nil
}

// doubledQuotes is how an object begins whose quotes are all doubled, as tables have it.
var doubledQuotes = regexp.MustCompile(`^[\[\s]*\{\s*""[^"]+""\s*:`)

func areAllDoubled(text []byte) bool {
	for _, quote := range []string{`"`, `'`} {
		if bytes.Count(text, []byte(quote)) != 2*bytes.Count(text, []byte(quote+quote)) {
			return false
		}
	}
	return true
}

func undouble(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(`""`), []byte(`"`)), []byte(`''`), []byte(`'`))
}

// mendAt mends the value that begins at start. A bracket that does not fit may be the
// wrong one, or another be missing before it: only one of the two may make sense.
func (r *reader) mendAt(text []byte, start int) (*mender, bool) {
	m, ok := r.tryMend(text, start, false)
	if !m.hasMisfit {
		return m, ok
	}
	wrong, isOther := r.tryMend(text, start, true)
	switch {
	case isOther && !ok:
		return wrong, true
	case isOther && !isSame(m.out, wrong.out):
		m.refuse(m.pos, maybeBracket)
		return m, false
	}
	return m, ok
}

func (r *reader) tryMend(text []byte, start int, closesWrong bool) (*mender, bool) {
	m := &mender{in: text[start:], closesWrong: closesWrong}
	ok := m.all()
	r.work += m.work
	end := start + m.pos
	if ok && (goesOnMended.Match(text[end:]) || !standsAlone(text, start, end) || m.isEither && r.takesBoth()) {
		m.refuse(m.pos, maybeBracket)
		return m, false
	}
	return m, ok
}

// takesBoth reports whether an empty object would fit as well as an empty array.
func (r *reader) takesBoth() bool {
	return r.check.Check([]byte("{}")) == nil && r.check.Check([]byte("[]")) == nil
}

// nextProper returns where the next value to be mended begins, -1 if there is none.
func nextProper(text []byte, offset int) int {
	start := -1
	for i := offset; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '{')
		if next < 0 {
			break
		}
		if i += next; isProper(text, i) {
			start = i
			text = text[:min(len(text), i+2)]
			break
		}
	}
	if place := properArray.FindSubmatchIndex(text[offset:]); place != nil && (start < 0 || offset+place[2] < start) {
		start = offset + place[2]
	}
	return start
}

// findEither looks in sound JSON for an object that fits, else for an array, each
// exactly, else nearly.
func (r *reader) findEither(text []byte) (found finding, failure *Error) {
	for _, opener := range []byte("{[") {
		for _, fits := range r.ways() {
			if found, failure = r.find(text, opener, fits); failure != nil || found.value != nil {
				return found, failure
			}
		}
	}
	return found, nil
}

// noteRefusal keeps why the first value that is not sound cannot be mended.
func (r *reader) noteRefusal(text []byte, m *mender) {
	if r.unsound == nil {
		r.unsound = text
	}
	if m.doubt == leavesOut && !r.leaves && !m.isCut {
		r.leaves, r.part = true, m.out
	}
	if m.doubt != "" {
		r.doubted(m.doubt)
	} else if !r.isCut {
		r.isCut, r.part = true, m.out
	}
}

func (r *reader) doubted(why string) {
	if r.doubt == "" {
		r.doubt = why
	}
}

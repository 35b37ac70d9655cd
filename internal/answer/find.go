package answer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// maxWrappings is how deep in other values an answer is looked for.
const maxWrappings = 8

// A finding is a value that fits and the part of the text that holds it.
type finding struct {
	value    []byte // nil if nothing fits
	warnings []Problem
	from, to int // of the outermost value around it
	// start and end are its own, as it is written.
	start, end int
}

var (
	// goesOn is what follows a value that belongs to something broken, or that closes
	// too early.
	goesOn = regexp.MustCompile(`^\s*(?:,\s*["{\[]|[\]}":])`)
	// adjoins is what may follow a value without a space: punctuation of prose, markup,
	// another value.
	adjoins = regexp.MustCompile("^(?:[\\s.;,!?)<*_`{\\[\ufeff]|$)")
	// structure is what prose does not have, but the rest of a broken value does.
	structure = regexp.MustCompile(`"\s*[,:\]}]|[\]}]\s*[,"\]}]|,\s*"`)
	// precedes is what a value does not begin after.
	precedes = regexp.MustCompile(`(?:"\s*:\s*|[}\]]\s*,\s*|[\pL\pN"'\\/])$`)
)

// standsAlone reports whether a value is no part of something that is broken: whether
// what is before and after it in its line could be prose.
func standsAlone(text []byte, from, to int) bool {
	after := text[to:min(len(text), to+maxBeside)]
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return !goesOn.Match(after) && adjoins.Match(after) && !structure.Match(line) && !precedes.Match(text[max(0, from-ahead):from])
}

// spareEnd is what models write after a value and means nothing: brackets that were
// closed already, an empty value that would not fit.
var spareEnd = regexp.MustCompile(`^(?:[\s\]}]*|\s*,\s*(\[\s*\]|\{\s*\}))$`)

// hasSpareEnd reports whether there is nothing but a spare end after a sound value, and
// before it nothing that it could belong to.
func (r *reader) hasSpareEnd(text []byte, from, to int) bool {
	next := bytes.IndexAny(text[to:], "{[")
	if next < 0 {
		next = len(text) - to
	}
	r.work += next
	rest := bytes.TrimRight(text[to:], "` \t\r\n")
	if len(rest) > next+maxProse {
		return false
	}
	parts := spareEnd.FindSubmatch(rest)
	if parts == nil || parts[1] != nil && r.check.Check(parts[1]) == nil {
		return false
	}
	r.work += to
	return !bytes.ContainsAny(text[:from], "{}[]\"") && !mayHaveSpare(text[from:to])
}

// closesAndGoesOn is where a bracket that is one too many could be.
var closesAndGoesOn = regexp.MustCompile(`[}\]]\s*,`)

// mayHaveSpare reports whether sound JSON may have a bracket too many that closes, so
// that another one after it is none: there is a place for it, or one in a string that
// opens.
func mayHaveSpare(value []byte) bool {
	if closesAndGoesOn.Match(value) {
		return true
	}
	inString := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && (c == '{' || c == '['):
			return true
		}
	}
	return false
}

// maxBeside is how much beside a value is looked at.
const maxBeside = 1024

// anything takes whatever is sound JSON.
var anything = func() *argcheck.Schema {
	schema, err := argcheck.Compile([]byte("true"))
	if err != nil {
		panic(err)
	}
	return schema
}()

// find looks at every value in the text that begins with the opener. In one that is
// sound and does not fit, the search goes on inside. What is within one that begins
// like a value and is not sound belongs to it and is not taken out of it.
func (r *reader) find(text []byte, opener byte, fits fit) (found finding, failure *Error) {
	var around []int // where the sound values around i end
	outermost := 0   // where the first of them begins
	var rival []byte // what fits, but is part of something that is broken
	var partners []int32
	failures := 0
	for i := 0; ; {
		next := bytes.IndexAny(text[i:], "{[")
		if next < 0 {
			return found, nil
		}
		i += next
		for len(around) > 0 && around[len(around)-1] <= i {
			around = around[:len(around)-1]
		}
		end, isSound := rawjson.End(text, i)
		r.work += max(end-i, 1)
		if isSound && len(around) == 0 {
			r.work += end - i
			isSound = anything.Check(text[i:end]) == nil
		}
		if !isSound {
			if !isProper(text, i) {
				i++
				continue
			}
			if r.unsound == nil {
				r.unsound = text[i:]
			}
			if partners == nil {
				partners = r.partnersOf(text)
			}
			failures++
			if i = r.resume(text, i, partners); i < 0 || failures == maxFailures {
				return found, nil
			}
			continue
		}
		if len(around) == 0 {
			outermost = i
			r.work += maxBeside
			if !standsAlone(text, i, end) && !r.hasSpareEnd(text, i, end) {
				value := r.partOfBroken(text, i, end, opener, fits)
				if value != nil && found.value != nil && !isSame(found.value, value) {
					return finding{}, ambiguous()
				}
				if rival == nil {
					rival = value
				}
				i = end
				continue
			}
		}
		if text[i] == opener && r.mayBegin(text, i, end) {
			value, warnings, ok := fits(text[i:end])
			if ok && (found.value != nil && !isSame(found.value, value) || rival != nil && !isSame(rival, value)) {
				return finding{}, ambiguous()
			}
			if ok {
				if found.value == nil {
					found = finding{value: value, warnings: warnings, from: outermost, to: end, start: i, end: end}
				}
				if len(around) > 0 {
					found.to = around[0]
				}
				i = end
				continue
			}
			if end-i > len(r.nearest) {
				r.nearest = text[i:end]
			}
		}
		around = append(around, end)
		if i++; len(around) > maxWrappings || r.isBare {
			i = end
		}
	}
}

// mayBegin reports whether a sound value is looked at. A bare one is not where it could
// be part of a sentence, as [1] could.
func (r *reader) mayBegin(text []byte, from, to int) bool {
	if r.isBare {
		return isProper(text, from) || from == 0 && to == len(text)
	}
	return from == 0 || isProper(text, from) || r.unsound == nil
}

// partOfBroken notes a value that does not stand alone and returns it if it fits, because
// then it may be the answer as well as another one.
func (r *reader) partOfBroken(text []byte, from, to int, opener byte, fits fit) []byte {
	if r.unsound == nil {
		r.unsound = text[from:]
	}
	r.doubted(maybeBracket)
	if text[from] != opener {
		return nil
	}
	value, _, ok := fits(text[from:to])
	if !ok {
		return nil
	}
	return value
}

// inProse matches brackets that are part of a sentence or of a template: {name}, {{name}}.
var inProse = regexp.MustCompile("^(?:\\{[^{}\\[\\]\"'“”‘’`:,\\n]*\\}|\\{\\{[^{}\\[\\]\"'`:,\\n]*\\}\\}|\\{\\s*```)")

// isProper reports whether what begins at i is meant as JSON: every brace but those in
// prose, and an array that begins with an object, array or string.
func isProper(text []byte, i int) bool {
	if text[i] == '{' {
		return !inProse.Match(text[i:min(len(text), i+maxProse)])
	}
	next := rawjson.SkipSpace(text, i+1)
	return next < len(text) && strings.IndexByte(`{["`, text[next]) >= 0
}

// maxProse is the size of the longest part of a sentence that is in brackets.
const maxProse = 100

// resume returns where to go on after a value at i that makes no sense: after the
// bracket that closes it, if it has only one line, and that bracket is neither within a
// string nor in the middle of something. Otherwise nothing that follows is certain, and
// it returns -1.
func (r *reader) resume(text []byte, i int, partners []int32) int {
	partner := int(partners[i])
	if partner == 0 {
		return -1
	}
	r.work += partner - i + maxBeside
	isOdd, isEscaped := false, false
	for _, c := range text[i:partner] {
		if c == '\n' {
			return -1
		}
		if c == '"' && !isEscaped {
			isOdd = !isOdd
		}
		isEscaped = c == '\\' && !isEscaped
	}
	if isOdd || !standsAlone(text, i, partner+1) {
		return -1
	}
	return partner + 1
}

// partnersOf returns, for each bracket that opens, where the one that closes it is, 0
// where none does. It counts those in strings, too, as no string is certain.
func (r *reader) partnersOf(text []byte) []int32 {
	r.work += len(text)
	partners := make([]int32, len(text))
	var braces, brackets []int
	match := func(open []int, i int) []int {
		if len(open) == 0 {
			return open
		}
		partners[open[len(open)-1]] = int32(i)
		return open[:len(open)-1]
	}
	for i, c := range text {
		switch c {
		case '{':
			braces = append(braces, i)
		case '[':
			brackets = append(brackets, i)
		case '}':
			braces = match(braces, i)
		case ']':
			brackets = match(brackets, i)
		}
	}
	return partners
}

// isSame reports whether two sound values mean the same.
func isSame(a, b []byte) bool { return bytes.Equal(a, b) || canonical(a) == canonical(b) }

func canonical(value []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var decoded any
	_ = decoder.Decode(&decoded)
	data, _ := json.Marshal(decoded)
	return string(data)
}

var (
	thoughts     = regexp.MustCompile(`(?s)^\s*<(?:think|thinking|reasoning)>.*?</(?:think|thinking|reasoning)>`)
	thoughtStart = regexp.MustCompile(`^\s*<(?:think|thinking|reasoning)>`)
	thoughtEnd   = regexp.MustCompile(`(?m)^[ \t]*</(?:think|thinking|reasoning)>[ \t]*$`)
)

// WithoutThoughts takes away what a model thought aloud before its answer.
func WithoutThoughts(text string) string {
	text, _ = withoutThoughts(text)
	return text
}

// withoutThoughts also says whether the text is nothing but thoughts that do not end.
// Their opening tag may be missing; then the closing one has a line to itself, as it
// cannot have within JSON.
func withoutThoughts(text string) (answer string, isThought bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	for _, pattern := range []*regexp.Regexp{thoughts, thoughtEnd} {
		if !strings.Contains(text, "</") {
			break
		}
		if place := pattern.FindStringIndex(text); place != nil {
			text = text[place[1]:]
		}
	}
	return text, thoughtStart.MatchString(text)
}

var thoughtClose = regexp.MustCompile(`</(?:think|thinking|reasoning)>`)

// searchAnswer searches a text in which thoughts may end in the middle of a line, without
// having begun, as those of models do whose template begins them. What comes after is the
// answer. A value before it is a draft, unless it goes on after it: then the tag is in it.
func (r *reader) searchAnswer(text []byte) (Value, *Error) {
	places := thoughtClose.FindAllIndex(text, -1)
	if len(places) == 0 {
		return r.search(text)
	}
	last := places[len(places)-1]
	after := &reader{check: r.check, isBare: r.isBare, work: r.work}
	value, failure := after.search(text[last[1]:])
	if failure == nil {
		return value, nil
	}
	before := &reader{check: r.check, isBare: r.isBare, work: after.work}
	if _, isElsewhere := before.search(text[:last[0]]); isElsewhere == nil {
		return Value{}, failure
	}
	r.work = before.work
	return r.search(text)
}

// Package answer reads the one JSON value that a model was asked for out of the text
// that it answered with, and words the request to correct an answer that has none.
//
// It never guesses. In this order it takes: the whole text; the only value in the text
// that fits, whatever prose, code fences and thoughts are around it; the same after the
// syntax was mended, if there is one way only to mend it. A text that breaks off is
// never made whole.
package answer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// MaxText is the size of the longest text that is read, in bytes.
const MaxText = 4 << 20

// A Checker says whether a JSON text is what was asked for, and if not, why: with an
// error of package argcheck, so that problems can be told by field.
// [*argcheck.Schema] is one.
type Checker interface {
	Check(value []byte) error
}

// How says how a value was found.
type How int

// The ways, from the best on.
const (
	Whole    How = iota // the whole text is the value
	Embedded            // it is the only value in the text that fits
	Mended              // its syntax was broken, and could be mended in one way only
)

// String returns a word for it.
func (h How) String() string { return [...]string{"whole", "embedded", "mended"}[h] }

// A Value is a JSON value that was read from a text.
type Value struct {
	// JSON fits: the checker has no complaint.
	JSON []byte
	How  How
	// Warnings say, field by field, what was not quite as asked for and has one meaning
	// only, such as "true" for true.
	Warnings []Problem
	// SpareCommas says of a mended value that commas before closing brackets are all that
	// was wrong with it.
	SpareCommas bool
}

// Read returns the value in the text. The error is an [*Error].
//
// Besides what the checker takes, it takes what differs from that only in a string for
// a boolean or number ("true", "5"), a number or boolean for a string, and the case of
// an enum's string, and null for a field that may be left out, and warns of it.
//
// It takes time in proportion to the length of the text, whatever is in it.
func Read(text string, check Checker) (Value, error) {
	r := &reader{check: check}
	value, failure := r.read(text)
	if failure != nil {
		return Value{}, failure
	}
	return value, nil
}

// A reader reads one text.
type reader struct {
	check  Checker
	isBare bool // only a value that is in no other counts: see ReadBare
	work   int  // bytes looked at, checks included

	// What is to be said if nothing fits.
	nearest []byte // the largest sound value that does not fit
	unsound []byte // from where the first value begins that is not sound
	doubt   string // why it cannot be mended
	isCut   bool   // the text breaks off in a value
	leaves  bool   // the text leaves something out of a value
	part    []byte // what there is of it
}

func (r *reader) read(text string) (Value, *Error) {
	value, rest, failure := r.readWhole(text)
	if failure != nil || value.JSON != nil {
		return value, failure
	}
	return r.searchAnswer(rest)
}

// readWhole reads a text that is nothing but the value, or but a code block that is. Else
// it returns the text without what was thought.
func (r *reader) readWhole(text string) (value Value, rest []byte, failure *Error) {
	if len(text) > MaxText {
		return Value{}, nil, tooLong(len(text))
	}
	whole := []byte(text)
	for _, fits := range r.ways() {
		if value, warnings, ok := fits(whole); ok {
			return Value{JSON: value, How: Whole, Warnings: warnings}, nil, nil
		}
	}
	plain, isThought := withoutThoughts(text)
	if isThought {
		return Value{}, nil, &Error{Reason: Cut, Problems: []Problem{{Message: "it ends within the thoughts, before the answer begins"}}}
	}
	answer := []byte(plain)
	for _, part := range [][]byte{fenced(answer), bytes.TrimSpace(answer)} {
		if part == nil {
			continue
		}
		for _, fits := range r.ways() {
			if value, warnings, ok := fits(part); ok {
				return Value{JSON: value, How: Embedded, Warnings: warnings}, nil, nil
			}
		}
		if value, ok := r.encoded(part); ok {
			return value, nil, nil
		}
		if len(part) > 0 && part[0] != '{' && part[0] != '[' && anything.Check(part) == nil {
			r.nearest = part
		}
	}
	return Value{}, answer, nil
}

// encoded reads a JSON string that holds the whole answer as its text.
func (r *reader) encoded(text []byte) (Value, bool) {
	var inside string
	if len(text) == 0 || text[0] != '"' || json.Unmarshal(text, &inside) != nil {
		return Value{}, false
	}
	r.work += len(text)
	for _, fits := range r.ways() {
		if value, warnings, ok := fits([]byte(strings.TrimSpace(inside))); ok {
			return Value{JSON: value, How: Embedded, Warnings: warnings}, true
		}
	}
	return Value{}, false
}

// A fit says whether a text fits, and returns it as it is to be taken.
type fit func(value []byte) (taken []byte, warnings []Problem, ok bool)

// ways returns the ways in which a value may fit: exactly, else nearly.
func (r *reader) ways() []fit { return []fit{r.exactly, r.nearly} }

func (r *reader) exactly(value []byte) ([]byte, []Problem, bool) {
	r.work += len(value)
	return value, nil, r.check.Check(value) == nil
}

// search looks for objects first, because most schemas ask for one and prose is full of
// brackets.
func (r *reader) search(text []byte) (Value, *Error) {
	for _, opener := range []byte("{[") {
		for _, fits := range r.ways() {
			found, failure := r.find(text, opener, fits)
			if failure == nil && found.value != nil {
				failure = r.contradiction(text, found, fits)
			}
			if failure == nil && found.value != nil {
				failure = r.disowned(text, found)
			}
			if failure != nil {
				return Value{}, failure
			}
			if found.value != nil {
				return Value{JSON: found.value, How: Embedded, Warnings: found.warnings}, nil
			}
		}
	}
	if all := nothingWritten.FindSubmatch(text); all != nil {
		r.leaves, r.part = true, []byte{all[1][0], closers[all[1][0]]}
	}
	found, failure := r.mend(text)
	if failure == nil && (found.value == nil || r.isCut) {
		failure = r.failure()
	}
	value := Value{JSON: found.value, How: Mended, Warnings: found.warnings}
	value.SpareCommas = failure == nil && r.hasSpareCommas(text, found.value)
	return value, failure
}

// nothingWritten is an object or array of which all is left out.
var nothingWritten = regexp.MustCompile(`^\s*([{\[])\s*(?:\.\.\.|…)\s*[}\]]\s*$`)

// contradiction looks beside a value that was found for another, in broken syntax, that
// could be the answer as well.
func (r *reader) contradiction(text []byte, found finding, fits fit) *Error {
	before := reader{check: r.check, isBare: r.isBare}
	after := reader{check: r.check, isBare: r.isBare}
	defer func() { r.work += before.work + after.work }()
	for _, side := range []struct {
		r    *reader
		text []byte
	}{{&before, text[:found.from]}, {&after, text[found.to:]}} {
		other, failure := side.r.mend(side.text)
		if failure != nil || other.value != nil && !side.r.isCut && !isSame(other.value, found.value) {
			return ambiguous()
		}
	}
	if after.isCut && bytes.Contains(text[found.to:], []byte(`{"`)) {
		return after.failure()
	}
	return nil
}

// fenced returns the inside of a text that is one code block, nil if it is none.
func fenced(text []byte) []byte {
	inside, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("```"))
	if !ok {
		return nil
	}
	if inside, ok = bytes.CutSuffix(inside, []byte("```")); !ok {
		return nil
	}
	language, rest, ok := bytes.Cut(inside, []byte("\n"))
	if !ok || strings.ContainsAny(string(language), "{[\"") {
		return nil
	}
	return bytes.TrimSpace(rest)
}

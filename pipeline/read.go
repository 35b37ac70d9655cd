package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// maxAnswer is the size of the longest text that is searched for JSON.
const maxAnswer = 512 << 10

// maxWrappings is how deep in other objects an answer is looked for.
const maxWrappings = 8

// A reading is the JSON that was found in a text.
type reading struct {
	value []byte // nil if nothing fits
	level Level
	isCut bool // part of the value is missing
	notes []string
	// largest is the largest sound object that does not fit, and unsound the text from
	// where the first object begins that is not sound: for saying why.
	largest, unsound []byte
}

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// read looks for the JSON value that fits: the whole text, else the only one in it,
// else the only object in it, its syntax repaired. It never chooses between two.
func read(text string, fits func([]byte) bool) (reading, *AmbiguityError) {
	r := reading{level: LevelRaw}
	if len(text) > maxAnswer {
		r.note("the text has %d bytes, more than the %d allowed", len(text), maxAnswer)
		return r, nil
	}
	whole := []byte(text)
	if fits(whole) {
		r.value, r.level = whole, LevelStrict
		r.note("strict: the whole text is the JSON asked for")
		return r, nil
	}
	answer := []byte(withoutThoughts(text))
	if ambiguity := r.extract(answer, fits); ambiguity != nil || r.value != nil {
		return r, ambiguity
	}
	return r, r.repair(answer, fits)
}

// goesOn matches what follows an object that closes too early.
var goesOn = regexp.MustCompile(`^\s*,\s*"`)

// extract looks at every object in the text. In one that is sound and does not fit,
// the search goes on inside. What is within one that begins like an object and is not
// sound belongs to it and is not taken out of it.
func (r *reading) extract(text []byte, fits func([]byte) bool) *AmbiguityError {
	first := 0       // where the value begins
	var around []int // where the sound objects around i end
	var partners []int32
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '{')
		if next < 0 {
			break
		}
		i += next
		end, isObject := valueEnd(text, i, 0)
		if !isObject {
			if _, isNamed := nameEnd(text, skipSpace(text, i+1)); !isNamed {
				i++
				continue
			}
			if partners == nil {
				partners, r.unsound = partnersOf(text), text[i:]
			}
			i = max(end, int(partners[i]), i+1)
			continue
		}
		object := text[i:end]
		for len(around) > 0 && around[len(around)-1] <= i {
			around = around[:len(around)-1]
		}
		if !fits(object) || len(around) == 0 && goesOn.Match(text[end:]) {
			if len(object) > len(r.largest) {
				r.largest = object
			}
			around = append(around, end)
			if i++; len(around) > maxWrappings {
				i = end
			}
			continue
		}
		if r.value == nil {
			r.value, first = object, i
		} else if !isSame(r.value, object) {
			r.value = nil
			r.note("extracted: different objects that fit, at bytes %d and %d", first, i)
			return &AmbiguityError{}
		}
		i = end
	}
	if r.value == nil {
		r.note("extracted: no object in the text fits")
		return nil
	}
	r.level = LevelExtracted
	r.note("extracted: the only object in the text that fits, at byte %d", first)
	return nil
}

// partnersOf returns, for each brace that opens, where the one that closes it is, 0
// where none does. It counts those in strings, too, as no string is certain.
func partnersOf(text []byte) []int32 {
	partners := make([]int32, len(text))
	var open []int
	for i, c := range text {
		switch {
		case c == '{':
			open = append(open, i)
		case c == '}' && len(open) > 0:
			partners[open[len(open)-1]] = int32(i)
			open = open[:len(open)-1]
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
	thoughts   = regexp.MustCompile(`(?s)^\s*<(think|thinking|reasoning)>.*?</(think|thinking|reasoning)>`)
	thoughtEnd = regexp.MustCompile(`(?m)^[ \t]*</(think|thinking|reasoning)>[ \t]*$`)
)

// withoutThoughts takes away what a model thought aloud before its answer. The
// opening tag may be missing; then the closing one has a line to itself, as it cannot
// have within JSON.
func withoutThoughts(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if !strings.Contains(text, "</") {
		return text
	}
	for _, pattern := range []*regexp.Regexp{thoughts, thoughtEnd} {
		if place := pattern.FindStringIndex(text); place != nil {
			return text[place[1]:]
		}
	}
	return text
}

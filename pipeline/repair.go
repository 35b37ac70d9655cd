package pipeline

import (
	"bytes"
	"regexp"
	"strings"
)

// properStart is how an object begins, as opposed to braces in prose: with a name.
var properStart = regexp.MustCompile("\\{[\\s,]*(\\\\?[\"'`“‘]|[\\w$-]+\\s*:|//|/\\*)")

// maxFailures is after how many objects that cannot be mended the search ends. It
// bounds how often a text is read.
const maxFailures = 8

// unescape undoes what happens to JSON that is put in a string.
var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

// repair mends the syntax of the objects in the text, and looks in them for the one
// that fits.
func (r *reading) repair(text []byte, fits func([]byte) bool) *AmbiguityError {
	text = bytes.TrimRight(text, "` \t\r\n")
	if place := properStart.FindSubmatch(text); place != nil && place[1][0] == '\\' {
		text = []byte(unescape.Replace(string(text)))
	}
	var mended reading
	partners := partnersOf(text)
	for offset, failures := 0, 0; failures < maxFailures; {
		place := properStart.FindIndex(text[offset:])
		if place == nil {
			break
		}
		offset += place[0]
		value, end, isCut, ok := mend(text[offset:])
		if !ok || goesOn.Match(text[offset+end:]) {
			failures++
			if offset = int(partners[offset]); offset == 0 {
				break
			}
			continue
		}
		hadValue := mended.value != nil
		if ambiguity := mended.extract(value, fits); ambiguity != nil {
			r.note("repaired: different objects fit")
			return ambiguity
		}
		if !hadValue {
			r.isCut = isCut
		}
		offset += end
	}
	if len(mended.largest) > len(r.largest) {
		r.largest = mended.largest
	}
	if mended.value == nil {
		r.note("repaired: no object fits after a repair of its syntax")
		return nil
	}
	r.value, r.level = mended.value, LevelRepaired
	r.note("repaired: the syntax of the object")
	if r.isCut {
		r.note("repaired: part of the object is missing")
	}
	return nil
}

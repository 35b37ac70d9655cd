package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// arguments are a call's arguments in the making. By the book every piece goes on
// where the last one ended. Servers also send complete arguments again, send all
// there is so far with each piece, or begin with {} and send the real ones then.
type arguments struct {
	text []byte
	scan jsonScan // of text
	// again is another reading, as long as both may turn out right: a piece that
	// began with all that had come before began anew.
	again     []byte
	againScan jsonScan
	before    []byte // complete arguments that are being sent again
}

// add takes in a piece.
func (a *arguments) add(piece string) {
	switch {
	case piece == "":
	case len(a.text) == 0:
		a.begin(piece)
	case a.scan.complete():
		a.addToComplete(piece)
	case beginsWith(piece, a.text):
		a.addRepeating(piece)
	default:
		a.addNext(piece)
	}
}

// beginsWith reports whether a piece begins with text. It takes no longer than the
// piece is long.
func beginsWith(piece string, text []byte) bool {
	return len(piece) >= len(text) && piece[:len(text)] == string(text)
}

func (a *arguments) begin(piece string) {
	a.text = append(a.text[:0], piece...)
	a.scan = jsonScan{}
	a.scan.scan(piece)
}

// addToComplete takes in a piece after arguments that are complete: white space,
// the same again, or others in their place.
func (a *arguments) addToComplete(piece string) {
	switch trimmed := strings.TrimSpace(piece); {
	case trimmed == "" || sameJSON(trimmed, string(a.text)):
	case trimmed[0] == '{':
		if !a.isEmptyObject() && (a.before == nil || growsTo(a.before, a.text)) {
			a.before = bytes.Clone(a.text)
		}
		a.begin(piece)
	default:
		a.addNext(piece)
	}
}

// addRepeating takes in a piece that begins with all that came before it. If what
// would come of going on with it cannot be JSON, it stands in place of all before.
func (a *arguments) addRepeating(piece string) {
	goingOn := a.scan.clone()
	goingOn.scan(piece)
	if goingOn.dead {
		a.begin(piece)
		a.again = nil
		return
	}
	a.text, a.scan = append(a.text, piece...), goingOn
	a.again, a.againScan = []byte(piece), jsonScan{}
	a.againScan.scan(piece)
}

func (a *arguments) addNext(piece string) {
	a.text = append(a.text, piece...)
	wasDead := a.scan.dead
	a.scan.scan(piece)
	if a.again != nil {
		if beginsWith(piece, a.again) {
			a.again, a.againScan = a.again[:0], jsonScan{}
		}
		a.again = append(a.again, piece...)
		a.againScan.scan(piece)
	}
	switch {
	case !a.scan.dead || wasDead:
	case a.again != nil && !a.againScan.dead:
		a.text, a.scan, a.again = a.again, a.againScan, nil
	case strings.HasPrefix(strings.TrimSpace(piece), "{") && json.Valid([]byte(piece)):
		a.begin(piece)
	}
}

// isComplete reports whether the pieces make an object, or something that stands
// for one.
func (a *arguments) isComplete() bool {
	if a.scan.complete() || a.again != nil && a.againScan.complete() {
		return true
	}
	if len(a.text) == 0 || a.text[0] != '"' && a.text[0] != 'n' {
		return false
	}
	meant := a.String()
	return meant == "" || meant[0] == '{'
}

func (a *arguments) isEmptyObject() bool {
	return len(a.text) < 16 && strings.ReplaceAll(strings.TrimSpace(string(a.text)), " ", "") == "{}"
}

// String returns the arguments as they are meant: what is complete goes before what
// is not. An object that was encoded twice is decoded once, and null is no arguments.
func (a *arguments) String() string {
	switch {
	case a.before != nil && a.scan.complete() && !growsTo(a.before, a.text):
		return string(a.before) + string(a.text) // nobody can say which of them is meant: the call is refused
	case a.scan.complete():
	case a.again != nil && a.againScan.complete():
		return string(a.again)
	case a.before != nil:
		return string(a.before)
	}
	switch trimmed := bytes.TrimSpace(a.text); {
	case string(trimmed) == "null":
		return ""
	case len(trimmed) > 0 && trimmed[0] == '"':
		var inner string
		if json.Unmarshal(trimmed, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") && json.Valid([]byte(inner)) {
			return inner
		}
	}
	return string(a.text)
}

// growsTo reports whether complete arguments are what there was so far of others: all but
// their end is how the others begin.
func growsTo(before, after []byte) bool {
	var a, b bytes.Buffer
	if json.Compact(&a, before) != nil || json.Compact(&b, after) != nil {
		return false
	}
	return bytes.HasPrefix(b.Bytes(), bytes.TrimRight(a.Bytes(), `"]}`))
}

func (a *arguments) size() int { return len(a.text) + len(a.again) + len(a.before) }

// sameJSON reports whether two texts are the same but for white space.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var left, right bytes.Buffer
	return json.Compact(&left, []byte(a)) == nil && json.Compact(&right, []byte(b)) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}

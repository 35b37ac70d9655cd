package observe

import (
	"regexp"
	"strings"
)

// withoutShapes returns text without what looks like a secret. Each pass goes over
// the text once.
func withoutShapes(text string) string {
	return withoutTokens(withoutFields(withoutLogins(withoutKeys(text))))
}

// An eraser copies a text and leaves parts of it out.
type eraser struct {
	text string
	done int // how much was copied or left out
	out  strings.Builder
}

// erase leaves out the part between two positions, which must not be before those
// of the last time.
func (e *eraser) erase(from, to int) {
	e.out.WriteString(e.text[e.done:from])
	e.out.WriteString(redacted)
	e.done = to
}

func (e *eraser) rest() string {
	if e.done == 0 {
		return e.text
	}
	e.out.WriteString(e.text[e.done:])
	return e.out.String()
}

// withoutKeys leaves out private keys in PEM, to the text's end if theirs is missing.
func withoutKeys(text string) string {
	const begin, end = "-----BEGIN ", "PRIVATE KEY-----"
	e := eraser{text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return e.rest()
		}
		at += i + len(begin)
		label, _, ok := strings.Cut(text[at:min(at+64, len(text))], end)
		if !ok || strings.Contains(label, "\n") {
			continue
		}
		from := at - len(begin)
		at += len(label) + len(end)
		if i = strings.Index(text[at:], end); i < 0 {
			at = len(text)
		} else {
			at += i + len(end)
		}
		e.erase(from, at)
	}
}

// withoutLogins leaves out passwords in URLs.
func withoutLogins(text string) string {
	e := eraser{text: text}
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return e.rest()
		}
		at += i + len("://")
		host := text[at:]
		if end := strings.IndexAny(host, "/ \t\r\n\"'\\"); end >= 0 {
			host = host[:end]
		}
		colon, sign := strings.IndexByte(host, ':'), strings.LastIndexByte(host, '@')
		if colon >= 0 && sign > colon+1 {
			e.erase(at+colon+1, at+sign)
		}
		at += len(host)
	}
}

// token matches tokens of well-known shapes at the beginning of a word.
var token = regexp.MustCompile(`^(?:sk-[A-Za-z0-9_-]{20,}|g?[sr]k_[A-Za-z0-9_]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|` +
	`glpat-[A-Za-z0-9_-]{20,}|xox[a-z]-[A-Za-z0-9-]{10,}|A[KS]IA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|` +
	`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)`)

const (
	minToken  = 14 // the shortest that token matches
	minBearer = 20 // the shortest that is taken for a token because of the word before
)

// withoutTokens leaves out tokens that can be told by how they begin, or by the word
// bearer before them.
func withoutTokens(text string) string {
	e := eraser{text: text}
	bearer := false
	for i := 0; i < len(text); i++ {
		if !inToken(text[i]) {
			continue
		}
		from := i
		for i < len(text) && inToken(text[i]) {
			i++
		}
		if from > 0 && text[from-1] == '\\' && strings.IndexByte("nrt", text[from]) >= 0 {
			from++ // the letter belongs to an escape
		}
		word := text[from:i]
		if bearer && len(word) >= minBearer {
			e.erase(from, i)
		} else if len(word) >= minToken {
			if match := token.FindStringIndex(word); match != nil {
				e.erase(from, from+match[1])
			}
		}
		bearer = strings.EqualFold(word, "bearer") && strings.HasPrefix(text[i:], " ")
	}
	return e.rest()
}

func inToken(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-' || c == '.'
}

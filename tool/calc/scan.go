package calc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A token is a number, a name, an operator or the end of the expression.
type token struct {
	kind kind
	text string
	at   int // which character of the expression it begins with, from 1
}

// A kind is a token's operator or bracket, or one of the following.
type kind string

const (
	kindEnd    kind = "end"
	kindNumber kind = "number"
	kindName   kind = "name"
)

var (
	numberForm = regexp.MustCompile(`^(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?`)
	nameForm   = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*`)
	// Symbols are what may stand for an operator, and which one.
	symbolForm = regexp.MustCompile(`^(?:\*\*|[-+*/%^(),×÷−])`)
	symbols    = map[string]kind{"**": "^", "×": "*", "÷": "/", "−": "-"}
)

const (
	maxLength   = 4 << 10 // bytes of an expression
	maxExponent = 1000    // of ten, in a number as written
)

func scan(expression string) ([]token, error) {
	if len(expression) > maxLength {
		return nil, fmt.Errorf("the expression is longer than %d characters", maxLength)
	}
	var tokens []token
	at := 1
	for rest := expression; rest != ""; {
		next := token{at: at}
		if m := numberForm.FindStringSubmatch(rest); m != nil {
			next.kind, next.text = kindNumber, m[0]
			if n, err := strconv.Atoi(m[1]); m[1] != "" && (err != nil || n > maxExponent || n < -maxExponent) {
				return nil, next.errorf("%s is out of range", shown(next.text))
			}
		} else if name := nameForm.FindString(rest); name != "" {
			next.kind, next.text = kindName, name
		} else if symbol := symbolForm.FindString(rest); symbol != "" {
			next.kind, next.text = kind(symbol), symbol
			if operator, ok := symbols[symbol]; ok {
				next.kind = operator
			}
		} else if c, size := utf8.DecodeRuneInString(rest); strings.ContainsRune(" \t\r\n\u00a0", c) {
			rest, at = rest[size:], at+1
			continue
		} else {
			return nil, next.errorf("unexpected %q", c)
		}
		tokens = append(tokens, next)
		rest, at = rest[len(next.text):], at+utf8.RuneCountInString(next.text)
	}
	return append(tokens, token{kind: kindEnd, at: at}), nil
}

func (t token) errorf(format string, args ...any) error {
	return fmt.Errorf("at character %d: "+format, append([]any{t.at}, args...)...)
}

// String is how a message names the token.
func (t token) String() string {
	if t.kind == kindEnd {
		return "the end"
	}
	return shown(t.text)
}

// shown quotes what is as long as an expression may be.
func shown(text string) string {
	if len(text) > 40 {
		text = text[:40] + "..." // numbers and names are ASCII
	}
	return strconv.Quote(text)
}

package approve

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
)

// textOf returns what a pattern is compared with: a string as it is, and anything else
// as JSON, written in one way only.
func textOf(value json.RawMessage) string {
	var decoded any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&decoded) != nil {
		return string(value)
	}
	switch v := decoded.(type) {
	case string:
		return v
	case json.Number:
		return plainNumber(v)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if e.Encode(decoded) != nil {
		return string(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// maxDigits is how long a number may be that is written out.
const maxDigits = 400

// plainNumber writes whole numbers without point and exponent: 2.2e1 is 22.
func plainNumber(n json.Number) string {
	if len(n) > maxDigits || strings.ContainsAny(string(n), "eE") && !smallExponent(string(n)) {
		return string(n)
	}
	if rational, ok := new(big.Rat).SetString(string(n)); ok && rational.IsInt() {
		return rational.Num().String()
	}
	return string(n)
}

func smallExponent(n string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(n), "e")
	return len(strings.TrimLeft(exponent, "+-0")) <= 2
}

// matches reports whether text looks like the pattern, in time proportional to the
// product of their lengths at most.
func matches(pattern, text string) bool {
	star, mark := -1, 0
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

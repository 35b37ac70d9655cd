package troupetest

import (
	"fmt"
	"math"
	"regexp/syntax"
	"strings"
)

// sampleWords are what sampled text is made of: some need care in JSON, in
// Markdown, in a path or in a shell.
var sampleWords = strings.Fields(`apple Zürich 雪 "quoted" it's a\b <tag> *star* x/y 100% №7 naïve`)

// sampleFormats has a value for each format that tools like to ask for.
var sampleFormats = map[string]string{
	"date-time": "2024-02-29T12:30:00Z", "date": "2024-02-29", "time": "12:30:00Z", "duration": "PT90S",
	"email": "a.b+c@example.com", "uri": "https://example.com/a?b=c#d", "hostname": "example.com",
	"uuid": "123e4567-e89b-42d3-a456-426614174000", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
}

// text makes a string of the schema's pattern, format or length.
func (m *maker) text(s schemaObject) (any, error) {
	if pattern, ok := s["pattern"].(string); ok {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", pattern, err)
		}
		var b strings.Builder
		m.match(&b, re)
		return b.String(), nil
	}
	if format, ok := s["format"].(string); ok && sampleFormats[format] != "" {
		return sampleFormats[format], nil
	}
	var words []string
	for range 1 + m.rand.IntN(3) {
		words = append(words, sampleWords[m.rand.IntN(len(sampleWords))])
	}
	runes := []rune(strings.Join(words, " "))
	least, err := s.least("minLength")
	if err != nil {
		return nil, err
	}
	for len(runes) < least {
		runes = append(runes, 'a'+rune(len(runes)%26))
	}
	return string(runes[:min(len(runes), int(s.number("maxLength", math.MaxInt32)))]), nil
}

// match writes a text that the expression matches, assertions aside.
func (m *maker) match(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		m.matchClass(b, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte("abcxyz019"[m.rand.IntN(9)])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			m.match(b, sub)
		}
	case syntax.OpAlternate:
		m.match(b, re.Sub[m.rand.IntN(len(re.Sub))])
	case syntax.OpStar:
		m.repeat(b, re, 0, 3)
	case syntax.OpPlus:
		m.repeat(b, re, 1, 3)
	case syntax.OpQuest:
		m.repeat(b, re, 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + 3
		}
		m.repeat(b, re, re.Min, most)
	}
}

func (m *maker) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	for range least + m.rand.IntN(most-least+1) {
		m.match(b, re.Sub[0])
	}
}

// matchClass writes a character of a class, a visible ASCII one where it has one.
func (m *maker) matchClass(b *strings.Builder, ranges []rune) {
	var plain []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], '!'); r <= min(ranges[i+1], '~'); r++ {
			plain = append(plain, r)
		}
	}
	switch {
	case len(plain) > 0:
		b.WriteRune(plain[m.rand.IntN(len(plain))])
	case len(ranges) > 0:
		b.WriteRune(ranges[0])
	}
}

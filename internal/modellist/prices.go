package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A priced is a model as the second package has it.
type priced struct {
	ID         string          `json:"id"`
	Match      match           `json:"match"`
	Context    float64         `json:"context_window"`
	Prices     json.RawMessage `json:"prices"` // an object, or a list with conditions
	Deprecated bool            `json:"deprecated"`
}

// A match is how the package recognizes names.
type match struct {
	Equals     string  `json:"equals"`
	StartsWith string  `json:"starts_with"`
	Or         []match `json:"or"`
}

// names are the spellings in a match that stand for themselves.
func (m *match) names() (list []string) {
	for _, name := range []string{m.Equals, m.StartsWith} {
		if name != "" {
			list = append(list, name)
		}
	}
	for i := range m.Or {
		list = append(list, m.Or[i].names()...)
	}
	return list
}

// addPrices adds the models of the second package that the first does not have, and
// other spellings of those it has.
func (m models) addPrices(script []byte, now time.Time) error {
	_, literal, ok := bytes.Cut(script, []byte("= ["))
	if !ok {
		return errors.New("dist/index.js does not begin with a list: its layout has changed")
	}
	value, err := readLiteral(append([]byte{'['}, literal...))
	if err != nil {
		return fmt.Errorf("dist/index.js: %w", err)
	}
	var list []struct {
		ID     string
		Models []priced
	}
	if err := json.Unmarshal(value, &list); err != nil {
		return fmt.Errorf("dist/index.js: %w", err)
	}
	for _, p := range providers {
		for _, theirs := range list {
			if p.prices == "" || theirs.ID != p.prices {
				continue
			}
			for i := range theirs.Models {
				if err := m.addPriced(p.name, &theirs.Models[i], now); err != nil {
					return fmt.Errorf("dist/index.js: %s/%s: %w", theirs.ID, theirs.Models[i].ID, err)
				}
			}
		}
	}
	return nil
}

func (m models) addPriced(provider string, p *priced, now time.Time) error {
	e, err := p.entry(now)
	if err != nil || e == nil {
		return err
	}
	names := append([]string{p.ID}, p.Match.names()...)
	for _, name := range names {
		own := m[provider][name]
		if own == nil {
			continue
		}
		for _, other := range names {
			if other != name && m[provider][other] == nil && !slices.Contains(own.Also, other) {
				own.Also = append(own.Also, other)
			}
		}
		slices.Sort(own.Also)
		return nil
	}
	for _, other := range names[1:] {
		if other != p.ID && !slices.Contains(e.Also, other) {
			e.Also = append(e.Also, other)
		}
	}
	slices.Sort(e.Also)
	m.add(provider, p.ID, e)
	return nil
}

// otherKinds are words in the names of models that no conversation is held with.
var otherKinds = regexp.MustCompile(`audio|realtime|transcribe|tts|image|embed|moderation|whisper|guard|rerank`)

// entry returns nil for a model that does not answer in text.
func (p *priced) entry(now time.Time) (*entry, error) {
	if otherKinds.MatchString(p.ID) {
		return nil, nil
	}
	prices, err := current(p.Prices, now)
	if err != nil {
		return nil, err
	}
	e := &entry{Context: int(p.Context), Retired: p.Deprecated}
	columns := []string{"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"}
	if prices["input_mtok"] == nil || prices["output_mtok"] == nil {
		return nil, nil
	}
	base := make([]float64, len(columns))
	above := map[float64][]float64{}
	for i, column := range columns {
		price, err := readPrice(prices[column])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", column, err)
		}
		base[i] = price.base
		for _, t := range price.tiers {
			if above[t.Start] == nil {
				above[t.Start] = make([]float64, len(columns))
			}
			above[t.Start][i] = t.Price
		}
	}
	e.Price = trim(base...)
	for start, tier := range above {
		for i := range tier {
			if tier[i] == 0 {
				tier[i] = base[i]
			}
		}
		e.Above = append(e.Above, append([]float64{start}, tier...))
	}
	slices.SortFunc(e.Above, func(a, b []float64) int { return int(a[0] - b[0]) })
	fee, err := readPrice(prices["requests_kcount"])
	e.PerThousand = fee.base
	return e, err
}

// current picks the prices that hold: of those with a date the last that has begun,
// of those by time of day the highest, so that a budget holds.
func current(raw json.RawMessage, now time.Time) (map[string]json.RawMessage, error) {
	var plain map[string]json.RawMessage
	if json.Unmarshal(raw, &plain) == nil {
		return plain, nil
	}
	var list []struct {
		Constraint struct {
			StartDate string `json:"start_date"`
			StartTime string `json:"start_time"`
		}
		Prices map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var best map[string]json.RawMessage
	highest := -1.0
	for _, candidate := range list {
		price, err := readPrice(candidate.Prices["input_mtok"])
		if err != nil {
			return nil, err
		}
		begun := candidate.Constraint.StartDate != "" && candidate.Constraint.StartDate <= now.Format(time.DateOnly)
		if begun || candidate.Constraint.StartDate == "" && price.base > highest {
			best, highest = candidate.Prices, price.base
		}
	}
	return best, nil
}

type tieredPrice struct {
	base  float64
	tiers []struct{ Start, Price float64 }
}

// readPrice reads a number, or a base with tiers. Nothing is 0.
func readPrice(raw json.RawMessage) (tieredPrice, error) {
	var p tieredPrice
	if len(raw) == 0 || json.Unmarshal(raw, &p.base) == nil {
		return p, nil
	}
	var object struct {
		Base  float64
		Tiers []struct{ Start, Price float64 }
	}
	err := json.Unmarshal(raw, &object)
	return tieredPrice{object.Base, object.Tiers}, err
}

// readLiteral turns a literal of JavaScript at the beginning of src into JSON. It
// knows objects, lists, strings, numbers, true, false and null, and the short forms
// of those that minifiers write. Anything else is an error: it is never run.
func readLiteral(src []byte) (json.RawMessage, error) {
	r := literal{src: src}
	if err := r.value(0); err != nil {
		line := 1 + bytes.Count(src[:min(r.at, len(src))], []byte("\n"))
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return r.out.Bytes(), nil
}

type literal struct {
	src []byte
	at  int
	out bytes.Buffer
}

// skip goes past white space and comments and returns what comes then, 0 at the end.
func (r *literal) skip() byte {
	for r.at < len(r.src) {
		rest := r.src[r.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			r.at++
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest, []byte("*/"))
			if end < 0 {
				return 0
			}
			r.at += end + 2
		default:
			return rest[0]
		}
	}
	return 0
}

func (r *literal) value(depth int) error {
	if depth > 50 {
		return errors.New("this is nested too deep")
	}
	switch c := r.skip(); {
	case c == '{':
		return r.members('}', depth, true)
	case c == '[':
		return r.members(']', depth, false)
	case c == '"' || c == '\'' || c == '`':
		return r.text(c)
	case c == '-' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	}
	for word, plain := range map[string]string{"!0": "true", "!1": "false", "true": "true", "false": "false", "null": "null", "void 0": "null", "undefined": "null"} {
		if bytes.HasPrefix(r.src[r.at:], []byte(word)) {
			r.at += len(word)
			r.out.WriteString(plain)
			return nil
		}
	}
	return errors.New("this is no plain value")
}

// members reads what stands between brackets, the first of which is next.
func (r *literal) members(end byte, depth int, keyed bool) error {
	r.out.WriteByte(r.src[r.at])
	r.at++
	for first := true; ; first = false {
		switch r.skip() {
		case 0:
			return errors.New("this does not end")
		case end:
			r.at++
			r.out.WriteByte(end)
			return nil
		}
		if !first {
			r.out.WriteByte(',')
		}
		if keyed {
			if err := r.key(); err != nil {
				return err
			}
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
		switch c := r.skip(); c {
		case ',':
			r.at++
		case end:
		default:
			return errors.New("a comma is missing")
		}
	}
}

func (r *literal) key() error {
	if c := r.skip(); c == '"' || c == '\'' {
		if err := r.text(c); err != nil {
			return err
		}
	} else {
		begin := r.at
		for r.at < len(r.src) && (r.src[r.at] == '_' || r.src[r.at] == '$' || r.src[r.at]|0x20 >= 'a' && r.src[r.at]|0x20 <= 'z' || r.src[r.at] >= '0' && r.src[r.at] <= '9') {
			r.at++
		}
		if r.at == begin {
			return errors.New("this is no name")
		}
		fmt.Fprintf(&r.out, "%q", r.src[begin:r.at])
	}
	if r.skip() != ':' {
		return errors.New("a colon is missing")
	}
	r.at++
	r.out.WriteByte(':')
	return nil
}

func (r *literal) text(quote byte) error {
	var text strings.Builder
	for r.at++; r.at < len(r.src); r.at++ {
		c := r.src[r.at]
		switch {
		case c == quote:
			r.at++
			encoded, err := json.Marshal(text.String())
			r.out.Write(encoded)
			return err
		case c == '$' && quote == '`' && r.at+1 < len(r.src) && r.src[r.at+1] == '{':
			return errors.New("this text is computed")
		case c == '\\' && r.at+1 < len(r.src):
			r.at++
			switch e := r.src[r.at]; e {
			case 'n':
				text.WriteByte('\n')
			case 't':
				text.WriteByte('\t')
			case 'u', 'x':
				text.WriteString("?") // in descriptions only, which are not used
			default:
				text.WriteByte(e)
			}
		default:
			text.WriteByte(c)
		}
	}
	return errors.New("this text does not end")
}

func (r *literal) number() error {
	begin := r.at
	for r.at < len(r.src) && strings.IndexByte("+-.eE0123456789", r.src[r.at]) >= 0 {
		r.at++
	}
	text := string(r.src[begin:r.at])
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	if !json.Valid([]byte(text)) {
		return fmt.Errorf("%q is no number", text)
	}
	r.out.WriteString(text)
	return nil
}

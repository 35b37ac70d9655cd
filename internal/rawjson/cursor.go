package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// A Cursor reads JSON that a program of ours has written, value by value, and what is skipped
// costs next to nothing: it is for picking a few numbers out of very many long texts. It
// finds out where values end, and not whether they are sound. Broken is set where it cannot
// go on, and everything it returns is zero from then on.
type Cursor struct {
	text      []byte
	at        int
	isStopped bool
	Broken    bool
}

// NewCursor is a cursor before the first value of a text.
func NewCursor(text []byte) Cursor { return Cursor{text: text} }

// Object reads an object and calls each with the name of every field, which has to read or
// skip the value. A null has no fields.
func (c *Cursor) Object(each func(name []byte)) {
	if !c.takes('{') {
		c.scalar('n')
		return
	}
	for n := 0; !c.takes('}'); n++ {
		if n > 0 && !c.takes(',') {
			c.Broken = true
		}
		name := c.quoted()
		if c.Broken = c.Broken || len(name) < 2 || !c.takes(':'); c.Broken {
			return
		}
		each(name[1 : len(name)-1])
		if c.Broken || c.isStopped {
			return
		}
	}
}

// Stop has objects end here: what follows is not wanted.
func (c *Cursor) Stop() { c.isStopped = true }

// Skip goes on to what follows the next value, and returns the value as it is written.
func (c *Cursor) Skip() []byte {
	switch c.next() {
	case '"':
		return c.quoted()
	case '{', '[':
		return c.container()
	}
	return c.scalar(0)
}

// String reads a string. A null is an empty one.
func (c *Cursor) String() string {
	if c.next() != '"' {
		c.scalar('n')
		return ""
	}
	quoted := c.quoted()
	if c.Broken {
		return ""
	}
	if inside := quoted[1 : len(quoted)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside)
	}
	var text string
	c.Broken = json.Unmarshal(quoted, &text) != nil
	return text
}

// Number reads a number. A null is 0.
func (c *Cursor) Number() float64 {
	number := c.scalar(0)
	if c.Broken || string(number) == "null" {
		return 0
	}
	n, err := strconv.ParseFloat(string(number), 64)
	c.Broken = err != nil
	return n
}

// Int reads a number that is whole. A null is 0.
func (c *Cursor) Int() int64 {
	number := c.scalar(0)
	if c.Broken || string(number) == "null" {
		return 0
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	c.Broken = err != nil
	return n
}

// next is the first byte of what comes next, 0 at the end.
func (c *Cursor) next() byte {
	if c.at < len(c.text) && c.text[c.at] > ' ' && !c.Broken { // as what programs write
		return c.text[c.at]
	}
	return c.nextAfterSpace()
}

func (c *Cursor) nextAfterSpace() byte {
	if c.at = SkipSpace(c.text, c.at); c.at < len(c.text) && !c.Broken {
		return c.text[c.at]
	}
	return 0
}

// takes goes past a byte, if that is what comes next.
func (c *Cursor) takes(b byte) bool {
	is := c.next() == b
	if is {
		c.at++
	}
	return is
}

// quoted reads a string as it is written.
func (c *Cursor) quoted() []byte {
	if c.next() != '"' {
		return c.broken()
	}
	begin := c.at
	for end := begin + 1; ; {
		length := bytes.IndexByte(c.text[end:], '"')
		if length < 0 {
			return c.broken()
		}
		end += length + 1
		first := end - 1 // of the backslashes before the quote
		for c.text[first-1] == '\\' {
			first--
		}
		if (end-1-first)%2 == 0 {
			c.at = end
			return c.text[begin:end]
		}
	}
}

// container reads an object or an array as it is written.
func (c *Cursor) container() []byte {
	begin, depth := c.at, 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			if c.quoted(); c.Broken {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if c.at++; depth == 0 {
			return c.text[begin:c.at]
		}
	}
	return c.broken()
}

// scalar reads a number or a word as it is written: one that begins with a byte, if that is
// not 0.
func (c *Cursor) scalar(first byte) []byte {
	begin := SkipSpace(c.text, c.at)
	end := begin
	for ; end < len(c.text) && !isDelimiter(c.text[end]); end++ {
	}
	if c.Broken || begin == end || first != 0 && c.text[begin] != first {
		return c.broken()
	}
	c.at = end
	return c.text[begin:end]
}

func isDelimiter(b byte) bool {
	switch b {
	case ',', ']', '}', ':', '"', '[', '{', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

func (c *Cursor) broken() []byte {
	c.Broken = true
	return nil
}

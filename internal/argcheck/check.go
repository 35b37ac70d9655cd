package argcheck

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// checkText reads the text as one JSON value and checks it against the node.
func checkText(text []byte, n *node) error {
	c := checker{scanner: scanner{text: text}}
	if !c.document(n) {
		return c.bad
	}
	if c.mismatch != nil {
		return c.mismatch
	}
	return nil
}

// A checker walks over a text and a node at once. It allocates only to report a
// problem, for names and limited strings with escapes, and for many unknown fields.
type checker struct {
	scanner
	mismatch *Mismatch // nil while everything fits

	// path leads to the current value: the position of a field's name in the text,
	// or the bitwise complement of an index.
	path  [maxDepth]int
	depth int
}

func (c *checker) document(n *node) bool {
	if !utf8.Valid(c.text) {
		return c.fail(validPrefix(c.text), "invalid UTF-8")
	}
	if c.peek() == 0 && c.pos == len(c.text) {
		return c.fail(c.pos, "the text is empty where a JSON value was expected")
	}
	if !c.value(n) {
		return false
	}
	if c.peek(); c.pos < len(c.text) {
		return c.fail(c.pos, "there is more text after the end of the JSON value")
	}
	return true
}

// validPrefix returns the length of the text before the first invalid UTF-8.
func validPrefix(text []byte) int {
	size := 0
	for size < len(text) {
		r, width := utf8.DecodeRune(text[size:])
		if r == utf8.RuneError && width <= 1 {
			break
		}
		size += width
	}
	return size
}

// value reads a value and checks it. Like all that reads, it returns false where the
// text cannot be read on; a value that does not fit is reported and passed over.
func (c *checker) value(n *node) (ok bool) {
	first := c.peek()
	start, kind := c.pos, kindOf(first)
	switch first {
	case '{', '[':
		return c.container(n, kind)
	case '"':
		ok = c.quoted()
	case 't':
		ok = c.word("true")
	case 'f':
		ok = c.word("false")
	case 'n':
		ok = c.word("null")
	default:
		if kind != kindNumber {
			return c.unexpected("a value", c.inside())
		}
		ok = c.number()
	}
	if ok && n != anything {
		c.scalar(n, kind, c.text[start:c.pos])
	}
	return ok
}

// kindOf returns the kind of the values that begin with the byte, 0 if none do.
func kindOf(first byte) kinds {
	switch first {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindString
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return kindNumber
	}
	return 0
}

// container reads an object or array. One that must not be here is read as JSON only.
func (c *checker) container(n *node, kind kinds) (ok bool) {
	if c.depth == maxDepth {
		return c.fail(c.pos, "nested more than "+strconv.Itoa(maxDepth)+" levels deep")
	}
	start, checked := c.pos, n
	if n.kinds&kind == 0 {
		checked = anything
	}
	c.pos++
	c.depth++
	if kind == kindObject {
		ok = c.object(checked)
	} else {
		ok = c.array(checked)
	}
	if ok && checked != n {
		c.unwanted(n, kind, c.text[start:c.pos])
	}
	return ok
}

// object reads what follows the brace, and leaves the object's level.
func (c *checker) object(n *node) bool {
	var given propertySet
	var unknown keySet
	if c.peek() != '}' {
		for {
			if !c.field(n, &given, &unknown) {
				return false
			}
			if c.peek() != ',' {
				break
			}
			c.pos++
		}
	}
	if c.peek() != '}' {
		return c.unexpected("a comma or }", "an object")
	}
	c.pos++
	c.depth--
	for i := range n.properties {
		if n.required.has(i) && !given.has(i) && c.hasRoom() {
			c.mismatch.Problems = append(c.mismatch.Problems, missingField(c.pointer(), n.properties[i].name))
		}
	}
	return true
}

// field reads one name and value of an object.
func (c *checker) field(n *node, given *propertySet, unknown *keySet) bool {
	if c.peek() != '"' {
		return c.unexpected("a field name in double quotes", "an object")
	}
	start := c.pos
	c.path[c.depth-1] = start
	if !c.quoted() {
		return false
	}
	name := meaning(c.text[start:c.pos])
	if c.peek() != ':' {
		return c.unexpected("a colon after the field name", "an object")
	}
	c.pos++
	place, isProperty := n.index[string(name)]
	var isRepeated bool
	if isProperty {
		isRepeated = given.has(place)
		given.add(place)
	} else {
		isRepeated = !unknown.add(name)
	}
	if isRepeated && c.hasRoom() {
		c.report("given twice", "")
		c.mismatch.Problems[len(c.mismatch.Problems)-1].IsRepeated = true
	}
	switch {
	case isProperty && n.properties[place].declared:
		return c.value(n.properties[place].value)
	case n.additional == never:
		if c.hasRoom() {
			c.report(unknownField(string(name), n.known), "")
			c.mismatch.Problems[len(c.mismatch.Problems)-1].Known = asJSON(n.known)
		}
		return c.value(anything)
	default:
		return c.value(n.additional)
	}
}

// array reads what follows the bracket, and leaves the array's level.
func (c *checker) array(n *node) bool {
	count := 0
	if c.peek() != ']' {
		for {
			c.path[c.depth-1] = ^count
			if !c.value(n.items) {
				return false
			}
			count++
			if c.peek() != ',' {
				break
			}
			c.pos++
		}
	}
	if c.peek() != ']' {
		return c.unexpected("a comma or ]", "an array")
	}
	c.pos++
	c.depth--
	c.checkCount(count, n.minItems, n.maxItems, "item")
	return true
}

// scalar checks a value that is no object or array.
func (c *checker) scalar(n *node, kind kinds, raw []byte) {
	switch {
	case kind == kindNumber:
		c.checkNumber(n, raw)
	case kind == kindString && n.looksIntoStrings():
		c.checkString(n, raw)
	case !n.allows(kind, raw):
		c.unwanted(n, kind, raw)
	}
}

func (c *checker) checkNumber(n *node, raw []byte) {
	number := decimalOf(raw)
	if !n.allowsNumber(number) {
		c.unwanted(n, kindNumber, raw)
		return
	}
	for i := range n.bounds {
		if b := &n.bounds[i]; !b.fits(number) && c.hasRoom() {
			c.report(b.words, showRaw(kindNumber, raw))
		}
	}
}

func (c *checker) checkString(n *node, raw []byte) {
	text := meaning(raw)
	if !n.allows(kindString, text) {
		c.unwanted(n, kindString, raw)
		return
	}
	c.checkCount(utf8.RuneCount(text), n.minLength, n.maxLength, "character")
	if n.pattern != nil && !n.pattern.Match(text) && c.hasRoom() {
		c.report(matching(n.pattern.String()), showRaw(kindString, raw))
	}
}

// checkCount checks how many items an array or characters a string has.
func (c *checker) checkCount(count, least, most int, noun string) {
	if count < least && c.hasRoom() {
		c.report(atLeast(least, noun), strconv.Itoa(count))
	}
	if count > most && c.hasRoom() {
		c.report(atMost(most, noun), strconv.Itoa(count))
	}
}

// unwanted reports a value whose kind, or which itself, is not allowed.
func (c *checker) unwanted(n *node, kind kinds, raw []byte) {
	switch {
	case !c.hasRoom():
	case n.wanted == "":
		c.report(notAllowed, "")
	default:
		c.report(n.wanted, showRaw(kind, raw))
		c.mismatch.Problems[len(c.mismatch.Problems)-1].Options = n.stringOptions()
	}
}

// hasRoom notes a problem and says whether there is room to report it.
func (c *checker) hasRoom() bool {
	if c.mismatch == nil {
		c.mismatch = &Mismatch{}
	}
	return c.mismatch.hasRoom()
}

// report adds a problem with the current value.
func (c *checker) report(expected, got string) {
	c.mismatch.Problems = append(c.mismatch.Problems, Problem{Path: c.pointer(), Expected: expected, Got: got})
}

// pointer returns the JSON pointer to the current value.
func (c *checker) pointer() (pointer string) {
	for _, step := range c.path[:c.depth] {
		if step < 0 {
			pointer = join(pointer, strconv.Itoa(^step))
			continue
		}
		name := scanner{text: c.text, pos: step}
		name.quoted()
		pointer = join(pointer, string(meaning(c.text[step:name.pos])))
	}
	return pointer
}

// inside names what the current value is part of.
func (c *checker) inside() string {
	if c.depth > 0 && c.path[c.depth-1] < 0 {
		return "an array"
	}
	return "an object"
}

// A keySet finds out whether a field is given twice. It holds a few names at no cost.
type keySet struct {
	few  [8][]byte
	many map[string]struct{} // nil while few is enough
	size int
}

// add reports whether the name is new.
func (s *keySet) add(name []byte) bool {
	for _, known := range s.few[:min(s.size, len(s.few))] {
		if bytes.Equal(known, name) {
			return false
		}
	}
	if s.size < len(s.few) {
		s.few[s.size] = name
		s.size++
		return true
	}
	if _, isKnown := s.many[string(name)]; isKnown {
		return false
	}
	if s.many == nil {
		s.many = make(map[string]struct{})
	}
	s.many[string(name)] = struct{}{}
	return true
}

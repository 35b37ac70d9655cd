package argcheck

import (
	"math"
	"regexp"
	"strings"
)

// kinds is a set of the types that JSON Schema names.
type kinds uint8

const (
	kindString kinds = 1 << iota
	kindInteger
	kindNumber
	kindBoolean
	kindArray
	kindObject
	kindNull

	everyKind = kindString | kindNumber | kindBoolean | kindArray | kindObject | kindNull
)

// kindNames lists the types in the order in which messages name them.
var kindNames = [...]string{"string", "integer", "number", "boolean", "array", "object", "null"}

func kindNamed(name string) (kind kinds, ok bool) {
	for i, known := range kindNames {
		if name == known {
			return 1 << i, true
		}
	}
	return 0, false
}

// String returns the names, as in "string or null".
func (k kinds) String() string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// A node is a schema of the common keywords.
type node struct {
	kinds   kinds
	options []option // what an enum or a const allows of those kinds; nil means everything
	wanted  string   // the kinds or options in words

	properties []property
	index      map[string]int // a property's place in properties
	required   propertySet
	additional *node
	known      []string // names of the declared properties, sorted

	items              *node
	minItems, maxItems int

	minLength, maxLength int
	pattern              *regexp.Regexp

	bounds []bound
}

// A property is a field that the schema declares or only requires.
type property struct {
	name     string
	declared bool
	value    *node // nil where it is not declared
}

// An option is a value of an enum that is no array or object.
type option struct {
	kind   kinds
	text   string // of strings and booleans
	number decimal
}

// A bound is a limit of numbers.
type bound struct {
	limit  decimal
	side   int // 1 where numbers must be above the limit, -1 below
	strict bool
	words  string
}

// A propertySet holds places in a node's properties.
type propertySet [4]uint64

const maxProperties = 64 * len(propertySet{})

func (s *propertySet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *propertySet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// anything and never are the schemas true and false.
var (
	anything = newAnything()
	never    = &node{}
)

func newAnything() *node {
	n := &node{kinds: everyKind, maxItems: math.MaxInt, maxLength: math.MaxInt}
	n.additional, n.items = n, n
	return n
}

// newNode returns a node that allows everything until it is changed.
func newNode() *node {
	n := *anything
	return &n
}

// include reports whether a value of the kind, with that number if it is one, is of
// one of the types.
func (k kinds) include(kind kinds, number decimal) bool {
	return k&kind != 0 || kind == kindNumber && k&kindInteger != 0 && number.isInteger()
}

// looksIntoStrings reports whether what a string says matters.
func (n *node) looksIntoStrings() bool {
	return n.kinds&kindString != 0 &&
		(n.options != nil || n.minLength > 0 || n.maxLength < math.MaxInt || n.pattern != nil)
}

// allows reports whether a value that is no number may be here; text is its meaning.
func (n *node) allows(kind kinds, text []byte) bool {
	if n.options == nil {
		return n.kinds&kind != 0
	}
	for i := range n.options {
		if o := &n.options[i]; o.kind == kind && o.text == string(text) {
			return true
		}
	}
	return false
}

// allowsNumber reports whether the number is of the right type and one of the options.
func (n *node) allowsNumber(number decimal) bool {
	if n.options == nil {
		return n.kinds.include(kindNumber, number)
	}
	for i := range n.options {
		if o := &n.options[i]; o.kind == kindNumber && o.number.compare(number) == 0 {
			return true
		}
	}
	return false
}

// fits reports whether the number is on the right side of the limit.
func (b bound) fits(number decimal) bool {
	order := number.compare(b.limit) * b.side
	return order > 0 || order == 0 && !b.strict
}

// String returns the option as JSON, shortened.
func (o option) String() string {
	if o.kind == kindString {
		return printable(asJSON(o.text))
	}
	return o.text
}

// stringOptions returns the strings among the options as a JSON array, "" if there are none.
func (n *node) stringOptions() string {
	var texts []any
	for _, o := range n.options {
		if o.kind == kindString {
			texts = append(texts, o.text)
		}
	}
	return stringsAmong(texts)
}

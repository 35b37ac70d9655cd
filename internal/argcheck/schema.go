package argcheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A compiler turns a decoded schema into nodes and finds what is wrong with it.
type compiler struct {
	beyondNodes bool // something was met that nodes do not express
}

// compile returns the node of the schema at the pointer. It also takes the formats
// out of it: they are notes in draft 2020-12, but assertions to jsonschema in older ones.
func (c *compiler) compile(at string, schema any) (*node, error) {
	var object map[string]any
	switch schema := schema.(type) {
	case bool:
		if schema {
			return anything, nil
		}
		return never, nil
	case map[string]any:
		object = schema
	default:
		return nil, unfit(at, "an object or a boolean", schema)
	}
	delete(object, "format")
	n := newNode()
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		if err := c.keyword(n, join(at, keyword), keyword, object[keyword]); err != nil {
			return nil, err
		}
	}
	c.settle(n)
	return n, nil
}

// keyword adds one keyword, which is at the pointer, to the node.
func (c *compiler) keyword(n *node, at, keyword string, value any) (err error) {
	switch keyword {
	case "type":
		n.kinds, err = readKinds(at, value)
	case "enum":
		err = c.enum(n, at, value)
	case "const":
		err = c.enum(n, at, []any{value})
	case "properties":
		err = c.properties(n, at, value)
	case "required":
		err = c.required(n, at, value)
	case "additionalProperties":
		n.additional, err = c.compile(at, value)
	case "items":
		if list, ok := value.([]any); ok {
			return c.other(at, keyword, list)
		}
		n.items, err = c.compile(at, value)
	case "minItems":
		n.minItems, err = readCount(at, value)
	case "maxItems":
		n.maxItems, err = readCount(at, value)
	case "minLength":
		n.minLength, err = readCount(at, value)
	case "maxLength":
		n.maxLength, err = readCount(at, value)
	case "pattern":
		n.pattern, err = readPattern(at, value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		err = c.bound(n, at, keyword, value)
	case "$schema":
		c.beyondNodes = c.beyondNodes || !isRecentDraft(value)
	case "$id", "$comment", "title", "description", "default", "examples",
		"deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType":
	default:
		if !strings.HasPrefix(keyword, "x-") {
			return c.other(at, keyword, value)
		}
	}
	return err
}

// isRecentDraft reports whether $schema names a draft in which the keywords that
// nodes express mean what they mean in 2020-12.
func isRecentDraft(schema any) bool {
	name, _ := schema.(string)
	_, place, _ := strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch place {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema":
		return true
	}
	return false
}

// other notes a keyword that nodes do not express and looks for mistakes in the
// schemas it holds. A value of the wrong form is left to jsonschema.
func (c *compiler) other(at, keyword string, value any) (err error) {
	c.beyondNodes = true
	switch keyword {
	case "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "additionalItems":
		if object, ok := value.(map[string]any); ok {
			_, err = c.compile(at, object)
		}
	case "anyOf", "oneOf", "allOf", "prefixItems", "items":
		list, _ := value.([]any)
		for i := 0; i < len(list) && err == nil; i++ {
			_, err = c.compile(join(at, strconv.Itoa(i)), list[i])
		}
	case "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
		object, _ := value.(map[string]any)
		return c.others(at, keyword, object)
	}
	return err
}

// others is other for a keyword that names its schemas.
func (c *compiler) others(at, keyword string, schemas map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		at := join(at, name)
		if keyword == "patternProperties" {
			if _, err := readPattern(at, name); err != nil {
				return err
			}
		}
		if _, isNames := schemas[name].([]any); isNames { // as dependencies may have
			continue
		}
		if _, err := c.compile(at, schemas[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) properties(n *node, at string, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return unfit(at, "an object", value)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		child, err := c.compile(join(at, name), object[name])
		if err != nil {
			return err
		}
		n.known = append(n.known, name)
		n.properties = append(n.properties, property{name: name, value: child, declared: true})
	}
	return nil
}

// required adds the names that properties does not declare; it sorts after it.
func (c *compiler) required(n *node, at string, value any) error {
	names, ok := value.([]any)
	if !ok {
		return unfit(at, "an array of names", value)
	}
	for i, entry := range names {
		name, ok := entry.(string)
		if !ok {
			return unfit(join(at, strconv.Itoa(i)), "a name", entry)
		}
		place := slices.IndexFunc(n.properties, func(p property) bool { return p.name == name })
		if place < 0 {
			place = len(n.properties)
			n.properties = append(n.properties, property{name: name})
		}
		if place >= maxProperties {
			c.beyondNodes = true
			return nil
		}
		n.required.add(place)
	}
	return nil
}

// enum adds the values that are allowed.
func (c *compiler) enum(n *node, at string, value any) error {
	values, ok := value.([]any)
	if !ok {
		return unfit(at, "an array", value)
	}
	if n.options != nil { // an enum and a const
		c.beyondNodes = true
	}
	n.options = []option{}
	for _, value := range values {
		switch value := value.(type) {
		case string:
			n.options = append(n.options, option{kind: kindString, text: value})
		case json.Number:
			n.options = append(n.options, option{kind: kindNumber, text: string(value), number: decimalOf([]byte(value))})
		case bool:
			n.options = append(n.options, option{kind: kindBoolean, text: strconv.FormatBool(value)})
		case nil:
			n.options = append(n.options, option{kind: kindNull, text: "null"})
		default:
			c.beyondNodes = true
		}
	}
	return nil
}

func (c *compiler) bound(n *node, at, keyword string, value any) error {
	number, ok := value.(json.Number)
	if !ok {
		if _, ok := value.(bool); ok { // as in draft 04
			c.beyondNodes = true
			return nil
		}
		return unfit(at, "a number", value)
	}
	b := bound{limit: decimalOf([]byte(number))}
	switch keyword {
	case "minimum":
		b.side, b.words = 1, "at least "
	case "maximum":
		b.side, b.words = -1, "at most "
	case "exclusiveMinimum":
		b.side, b.strict, b.words = 1, true, "more than "
	case "exclusiveMaximum":
		b.side, b.strict, b.words = -1, true, "less than "
	}
	b.words += string(number)
	n.bounds = append(n.bounds, b)
	return nil
}

// settle works out what follows from several keywords together.
func (c *compiler) settle(n *node) {
	if len(n.properties) > maxProperties {
		c.beyondNodes = true
	}
	n.index = make(map[string]int, len(n.properties))
	for i, p := range n.properties {
		n.index[p.name] = i
	}
	if n.options == nil {
		n.wanted = n.kinds.String()
		return
	}
	n.options = slices.DeleteFunc(n.options, func(o option) bool { return !n.kinds.include(o.kind, o.number) })
	n.kinds = 0
	words := make([]string, len(n.options))
	for i, o := range n.options {
		n.kinds |= o.kind
		words[i] = o.String()
	}
	n.wanted = oneOf(words)
}

func readKinds(at string, value any) (set kinds, err error) {
	list, isList := value.([]any)
	if !isList {
		return readKind(at, value)
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("%s: names no type", at)
	}
	for i, entry := range list {
		kind, err := readKind(join(at, strconv.Itoa(i)), entry)
		if err != nil {
			return 0, err
		}
		set |= kind
	}
	return set, nil
}

func readKind(at string, value any) (kinds, error) {
	name, ok := value.(string)
	if !ok {
		return 0, unfit(at, "the name of a type", value)
	}
	kind, ok := kindNamed(name)
	if !ok {
		return 0, fmt.Errorf("%s: %q is not a JSON Schema type", at, printable(name))
	}
	return kind, nil
}

// readCount reads a whole number, which may be written as 2.0.
func readCount(at string, value any) (int, error) {
	if number, ok := value.(json.Number); ok {
		d := decimalOf([]byte(number))
		if size, err := number.Float64(); err == nil && d.sign >= 0 && d.isInteger() {
			return int(min(size, 1<<31-1)), nil
		}
	}
	return 0, unfit(at, "a whole number from 0 up", value)
}

func readPattern(at string, value any) (*regexp.Regexp, error) {
	pattern, ok := value.(string)
	if !ok {
		return nil, unfit(at, "a regular expression", value)
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: not a regular expression that Go (RE2) knows: %w", at, err)
	}
	return expression, nil
}

// unfit is the error of a keyword whose value is of the wrong kind.
func unfit(at, wanted string, value any) error {
	if at == "" {
		at = "the root"
	}
	return fmt.Errorf("%s: expected %s, got %s", at, wanted, show(value))
}

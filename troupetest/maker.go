package troupetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// A maker makes values of a schema that are likely to fit it.
type maker struct {
	root any
	rand *rand.Rand
	// adventurous makes it take any branch of a schema; else it takes the first.
	adventurous bool
}

const (
	plainDepth = 4  // from which on a maker leaves out what is optional
	maxDepth   = 40 // beyond which it gives up

	maxSampled = 1 << 16 // items, properties or characters
)

// A schemaObject is a JSON schema as it was decoded. True and false become an
// empty one, which allows anything.
type schemaObject map[string]any

func schemaOf(v any) schemaObject {
	s, _ := v.(map[string]any)
	return s
}

func (s schemaObject) list(keyword string) []any {
	list, _ := s[keyword].([]any)
	return list
}

func (s schemaObject) number(keyword string, otherwise float64) float64 {
	if n, ok := s[keyword].(float64); ok {
		return n
	}
	return otherwise
}

// least returns the smallest size that a keyword asks for.
func (s schemaObject) least(keyword string) (int, error) {
	n := s.number(keyword, 0)
	if n > maxSampled {
		return 0, fmt.Errorf("%s is %g, and nothing larger than %d is made", keyword, n, maxSampled)
	}
	return int(n), nil
}

// make returns a value of a schema.
func (m *maker) make(schema any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("the schema wants values within values without end")
	}
	s := schemaOf(schema)
	if ref, ok := s["$ref"].(string); ok {
		target, err := m.resolve(ref)
		if err != nil {
			return nil, err
		}
		return m.make(target, depth+1)
	}
	if value, ok := s["const"]; ok {
		return value, nil
	}
	if values := s.list("enum"); len(values) > 0 {
		return values[m.rand.IntN(len(values))], nil
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if branches := s.list(keyword); len(branches) > 0 {
			joined, err := m.join(s, keyword, branches)
			if err != nil {
				return nil, err
			}
			return m.make(joined, depth+1)
		}
	}
	switch typeOf(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "integer":
		return m.number(s, max(s.number("multipleOf", 1), 1)), nil
	case "number":
		return m.number(s, s.number("multipleOf", 1.0/64)), nil
	case "boolean":
		return m.rand.IntN(2) == 1, nil
	case "null":
		return nil, nil
	}
	return m.text(s)
}

// typeOf says which type to make: the first that is not null, or the one that the
// other keywords speak of, or a string.
func typeOf(s schemaObject) string {
	if name, ok := s["type"].(string); ok {
		return name
	}
	for _, name := range s.list("type") {
		if name != "null" {
			return fmt.Sprint(name)
		}
	}
	switch {
	case s["properties"] != nil || s["required"] != nil || s["additionalProperties"] != nil:
		return "object"
	case s["items"] != nil || s["prefixItems"] != nil:
		return "array"
	case s["minimum"] != nil || s["maximum"] != nil || s["multipleOf"] != nil:
		return "number"
	}
	return "string"
}

// resolve finds what a reference within the schema leads to.
func (m *maker) resolve(ref string) (any, error) {
	at := m.root
	path, ok := strings.CutPrefix(ref, "#")
	for _, name := range strings.Split(path, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		at = schemaOf(at)[name]
	}
	if !ok || at == nil {
		return nil, fmt.Errorf("reference %s: it leads nowhere in the schema", ref)
	}
	return at, nil
}

// join returns s together with all of its branches, or with one where one will do.
// Properties and requirements are joined; in all else the branch prevails.
func (m *maker) join(s schemaObject, keyword string, branches []any) (map[string]any, error) {
	if keyword != "allOf" {
		one := 0
		if m.adventurous {
			one = m.rand.IntN(len(branches))
		}
		branches = branches[one : one+1]
	}
	joined := maps.Clone(s)
	delete(joined, keyword)
	for _, branch := range branches {
		fields := schemaOf(branch)
		if ref, ok := fields["$ref"].(string); ok {
			target, err := m.resolve(ref)
			if err != nil {
				return nil, err
			}
			fields = schemaOf(target)
		}
		for name, value := range fields {
			switch name {
			case "properties":
				both := maps.Clone(schemaOf(joined[name]))
				if both == nil {
					both = schemaObject{}
				}
				maps.Copy(both, schemaOf(value))
				joined[name] = map[string]any(both)
			case "required":
				joined[name] = slices.Concat(joined.list(name), fields.list(name))
			default:
				joined[name] = value
			}
		}
	}
	return joined, nil
}

// object sets what is required, and of the rest what chance and minProperties say.
func (m *maker) object(s schemaObject, depth int) (any, error) {
	properties := schemaOf(s["properties"])
	var names []string
	for _, name := range s.list("required") {
		names = append(names, fmt.Sprint(name))
	}
	required := len(names)
	names = append(names, slices.Sorted(maps.Keys(properties))...)
	least, err := s.least("minProperties")
	if err != nil {
		return nil, err
	}
	for i := range least {
		names = append(names, fmt.Sprint("key", i))
	}
	object := map[string]any{}
	for i, name := range names {
		_, known := properties[name]
		wanted := i < required || len(object) < least || known && depth < plainDepth && m.rand.IntN(2) == 1
		if _, set := object[name]; set || !wanted {
			continue
		}
		schema := properties[name]
		if !known {
			schema = s["additionalProperties"]
		}
		value, err := m.make(schema, depth+1)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

func (m *maker) array(s schemaObject, depth int) (any, error) {
	prefix := s.list("prefixItems")
	least, err := s.least("minItems")
	if err != nil {
		return nil, err
	}
	least = max(least, len(prefix))
	most := least
	if depth < plainDepth {
		most = max(least, min(int(s.number("maxItems", math.MaxInt32)), least+2))
	}
	list := []any{}
	for n := least + m.rand.IntN(most-least+1); len(list) < n; {
		schema := s["items"]
		if len(list) < len(prefix) {
			schema = prefix[len(list)]
		}
		value, err := m.make(schema, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// number returns a multiple of step within the bounds, at most 100 from one of
// them, and the middle where no multiple is between them.
func (m *maker) number(s schemaObject, step float64) any {
	low := max(s.number("minimum", math.Inf(-1)), s.number("exclusiveMinimum", math.Inf(-1)))
	high := min(s.number("maximum", math.Inf(1)), s.number("exclusiveMaximum", math.Inf(1)))
	if math.IsInf(low, -1) {
		low = min(0, high-100)
	}
	high = min(high, low+max(100, 4*step))
	first, last := math.Ceil(low/step), math.Floor(high/step)
	if first*step == s.number("exclusiveMinimum", math.Inf(-1)) {
		first++
	}
	if last*step == s.number("exclusiveMaximum", math.Inf(1)) {
		last--
	}
	if last < first {
		return (low + high) / 2
	}
	return (first + float64(m.rand.Int64N(int64(last-first)+1))) * step
}

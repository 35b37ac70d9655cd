package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A shape is what matters here of a JSON schema.
type shape struct {
	Properties map[string]*shape `json:"properties"`
	Items      *shape            `json:"items"`
	// open is set where a schema says of other names what they are.
	open bool
}

// openingWords are the keywords by which a schema may have more names than properties.
var openingWords = []string{
	"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames", "$ref", "$dynamicRef",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
}

// UnmarshalJSON implements [json.Unmarshaler]. What it does not understand is open.
func (s *shape) UnmarshalJSON(data []byte) error {
	var words map[string]json.RawMessage
	if json.Unmarshal(data, &words) != nil {
		s.open = true // true or false, or a list of schemas
		return nil
	}
	for _, word := range openingWords {
		if value, ok := words[word]; ok && string(bytes.TrimSpace(value)) != "false" {
			s.open = true
		}
	}
	if properties, ok := words["properties"]; !ok || json.Unmarshal(properties, &s.Properties) != nil {
		s.open = true
	}
	if items, ok := words["items"]; ok && json.Unmarshal(items, &s.Items) != nil {
		s.Items = nil
	}
	return nil
}

// misfit says which argument of a call is none of its tool's, or "". What a rule looks
// at must be what the tool reads, and some tools read URL where url is meant.
func (p Policy) misfit(spec *troupe.ToolSpec, arguments json.RawMessage) string {
	schema := shapeOf(spec)
	named := map[string]bool{}
	for _, r := range p {
		if matches(r.Tool, spec.Name) {
			for name := range r.Where {
				named[name] = true
			}
		}
	}
	return schema.misfit("", arguments, named)
}

// misfit walks over a value. Names that rules look at count as known ones, on top.
func (s *shape) misfit(at string, value json.RawMessage, named map[string]bool) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) > 0 && value[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return fmt.Sprintf("the argument %s cannot be read", at)
		}
		var items *shape
		if s != nil {
			items = s.Items
		}
		for i, item := range list {
			if why := items.misfit(fmt.Sprintf("%s/%d", at, i), item, nil); why != "" {
				return why
			}
		}
	case len(value) > 0 && value[0] == '{':
		return s.misfitObject(at, value, named)
	}
	return ""
}

func (s *shape) misfitObject(at string, object json.RawMessage, named map[string]bool) string {
	names, values, err := fields(object)
	if err != nil {
		return fmt.Sprintf("the arguments cannot be read: %v", err)
	}
	known := slices.Sorted(maps.Keys(named))
	if s != nil {
		known = append(known, slices.Sorted(maps.Keys(s.Properties))...)
	}
	seen := map[string]string{}
	for i, name := range names {
		place := fmt.Sprintf("%s/%.100s", at, name)
		folded := fold(name)
		if other, twice := seen[folded]; twice {
			return fmt.Sprintf("the argument %s is given twice, as %.100q and %.100q", place, other, name)
		}
		seen[folded] = name
		isKnown := slices.Contains(known, name)
		for _, other := range known {
			if !isKnown && fold(other) == folded {
				return fmt.Sprintf("there is no argument %s: it is written %q", place, other)
			}
		}
		if s != nil && !s.open && s.Properties[name] == nil {
			return fmt.Sprintf("there is no argument %s; there are: %s", place, strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
		}
		var below *shape
		if s != nil {
			below = s.Properties[name]
		}
		if why := below.misfit(place, values[i], nil); why != "" {
			return why
		}
	}
	return ""
}

// fold returns the same for names that encoding/json takes for one.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// fields returns the names of an object as they come, repeated ones too, and what they
// stand for.
func fields(object json.RawMessage) (names []string, values []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, nil, err
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values, nil
}

package typeschema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// tags are the tags, beside jsonschema for the description, that say what
// values a field takes.
var tags = []struct {
	name  string
	apply func(*jsonschema.Schema, string) error
}{
	{"enum", applyEnum},
	{"minimum", func(s *jsonschema.Schema, text string) error { return setNumber(&s.Minimum, s, text) }},
	{"maximum", func(s *jsonschema.Schema, text string) error { return setNumber(&s.Maximum, s, text) }},
	{"minLength", func(s *jsonschema.Schema, text string) error { return setCount(&s.MinLength, s, "string", text) }},
	{"maxLength", func(s *jsonschema.Schema, text string) error { return setCount(&s.MaxLength, s, "string", text) }},
	{"minItems", func(s *jsonschema.Schema, text string) error { return setCount(&s.MinItems, s, "array", text) }},
	{"maxItems", func(s *jsonschema.Schema, text string) error { return setCount(&s.MaxItems, s, "array", text) }},
	{"pattern", applyPattern},
	{"format", func(s *jsonschema.Schema, text string) error { s.Format = text; return mustBe(s, "string") }},
}

// isA reports whether a schema is of a type, or of that or null.
func isA(s *jsonschema.Schema, name string) bool {
	return s.Type == name || slices.Contains(s.Types, name)
}

func mustBe(s *jsonschema.Schema, name string) error {
	if !isA(s, name) {
		return fmt.Errorf("it is for a field that is a JSON %s", name)
	}
	return nil
}

// applyEnum takes the values that a field may have, separated by commas.
func applyEnum(s *jsonschema.Schema, text string) error {
	target := s
	if isA(s, "array") && s.Items != nil {
		target = s.Items
	}
	for value := range strings.SplitSeq(text, ",") {
		switch value = strings.TrimSpace(value); {
		case value == "":
			return errors.New("a value is empty")
		case isA(target, "string"):
			target.Enum = append(target.Enum, value)
		case isA(target, "integer"), isA(target, "number"):
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return fmt.Errorf("%q is not a number", value)
			}
			target.Enum = append(target.Enum, number)
		default:
			return errors.New("it is for a field that is a JSON string or number")
		}
	}
	if isA(target, "null") {
		target.Enum = append(target.Enum, nil)
	}
	return nil
}

// applyPattern takes an expression that arguments are checked with, and so one that Go knows.
func applyPattern(s *jsonschema.Schema, text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("it is not a regular expression: %w", err)
	}
	s.Pattern = text
	return mustBe(s, "string")
}

func setNumber(to **float64, s *jsonschema.Schema, text string) error {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("it is not a number")
	}
	if !isA(s, "integer") && !isA(s, "number") {
		return errors.New("it is for a field that is a JSON number")
	}
	*to = &number
	return nil
}

func setCount(to **int, s *jsonschema.Schema, of, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("it is not a whole number")
	}
	*to = &n
	if err := mustBe(s, of); err != nil {
		return err
	}
	if of == "array" && to == &s.MinItems && n > 0 {
		s.Type, s.Types = of, nil // a list that must have something in it is not null
	}
	return nil
}

// checkBounds finds limits between which there is nothing.
func checkBounds(s *jsonschema.Schema) error {
	if s.Minimum != nil && s.Maximum != nil && *s.Minimum > *s.Maximum {
		return fmt.Errorf("its minimum %v is more than its maximum %v", *s.Minimum, *s.Maximum)
	}
	if s.MinLength != nil && s.MaxLength != nil && *s.MinLength > *s.MaxLength {
		return fmt.Errorf("its minLength %d is more than its maxLength %d", *s.MinLength, *s.MaxLength)
	}
	if s.MinItems != nil && s.MaxItems != nil && *s.MinItems > *s.MaxItems {
		return fmt.Errorf("its minItems %d is more than its maxItems %d", *s.MinItems, *s.MaxItems)
	}
	return nil
}

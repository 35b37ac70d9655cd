// Package argcheck checks a JSON text against a JSON schema and says, field by field, what does not fit.
//
// A schema of the common keywords becomes a tree of nodes that is checked while
// the raw text is read, without decoding it. Any other schema is left to
// [jsonschema], and the walk over the text only makes sure that it is sound JSON.
package argcheck

import (
	"bytes"
	"encoding/json"
	"fmt"
)

const (
	maxSchemaSize = 256 << 10
	maxDepth      = 64 // of objects and arrays within each other, in schemas and in texts
)

// A Schema is a compiled JSON schema. It does not change and may be used concurrently.
type Schema struct {
	root *node
	rest *validator // nil where root says it all
}

// Compile reads a JSON schema, of draft 2020-12 unless its $schema names another.
//
// Nothing is ever fetched: a $ref must lead into the schema itself or to a draft's
// metaschema. Formats are not checked, whatever the draft. A pattern must be an
// expression that Go's regexp knows. The schema has at most 256 KiB and 64 levels.
// The error names the place in the schema as a JSON pointer.
func Compile(schema []byte) (*Schema, error) {
	if len(schema) > maxSchemaSize {
		return nil, fmt.Errorf("schema: %d bytes are more than the %d allowed", len(schema), maxSchemaSize)
	}
	if err := checkText(schema, anything); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	document, err := decode(schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var c compiler
	root, err := c.compile("", document)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if !c.beyondNodes {
		return &Schema{root: root}, nil
	}
	rest, err := newValidator(document)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{root: anything, rest: rest}, nil
}

// Check returns nil where doc is a JSON text that fits the schema. Otherwise it
// returns a [*Malformed] where doc cannot be read, and else a [*Mismatch].
//
// It reads more strictly than encoding/json: it refuses invalid UTF-8, more than 64
// levels, numbers of more than 400 characters or with an exponent beyond 400, and,
// as a Mismatch, a field that is given twice.
func (s *Schema) Check(doc []byte) error {
	if err := checkText(doc, s.root); err != nil {
		return err
	}
	if s.rest != nil {
		return s.rest.check(doc)
	}
	return nil
}

// decode returns the value of a text that is known to be JSON, its numbers as written.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

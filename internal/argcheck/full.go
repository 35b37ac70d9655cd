package argcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is where jsonschema believes the schema to be.
const schemaURL = "memory:///schema"

// A validator checks what nodes do not express.
type validator struct {
	schema   *jsonschema.Schema
	document any // the schema as it is written
}

func newValidator(document any) (*validator, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, plainly(err, document)
	}
	return &validator{schema: schema, document: document}, nil
}

// check checks a text that is known to be JSON.
func (v *validator) check(text []byte) error {
	value, err := decode(text)
	if err != nil {
		return &Malformed{Reason: err.Error()}
	}
	err = v.schema.Validate(value)
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return err
	}
	t := translation{value: value, schema: v.document}
	t.add(invalid)
	return t.mismatch()
}

// noLoader keeps schemas from reading files and the network.
type noLoader struct{}

var errOutside = errors.New("is outside the schema, and nothing is fetched")

func (noLoader) Load(string) (any, error) { return nil, errOutside }

// plainly puts an error of jsonschema's compiler in our own words.
func plainly(err error, document any) error {
	switch err := err.(type) {
	case *jsonschema.LoadURLError:
		return fmt.Errorf("%s %w", err.URL, errOutside)
	case *jsonschema.JSONPointerNotFoundError:
		return fmt.Errorf("$ref %s: leads nowhere", withinSchema(err.URL))
	case *jsonschema.AnchorNotFoundError:
		return fmt.Errorf("$ref %s: leads nowhere", withinSchema(err.Reference))
	case *jsonschema.SchemaValidationError:
		if invalid, ok := err.Err.(*jsonschema.ValidationError); ok {
			t := translation{value: document}
			t.add(invalid)
			first := t.mismatch().Problems[0]
			return fmt.Errorf("%s: %s", first.Path, first.complaint())
		}
	}
	return err
}

func withinSchema(url string) string { return strings.TrimPrefix(url, schemaURL) }

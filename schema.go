package troupe

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/typeschema"
)

// typeSchema is what is known of a Go type.
type typeSchema struct {
	schema   json.RawMessage
	check    *argumentCheck
	isObject bool
	err      error
}

// A typeUse is a type and what is done with its values.
type typeUse struct {
	reflect.Type
	typeschema.Direction
}

// schemas remembers what schemaOf found. It is a memory of a pure function: inferring
// a schema takes a hundred times as long as making a tool.
var schemas sync.Map // typeUse to *typeSchema

func schemaOf[T any](direction typeschema.Direction) *typeSchema {
	use := typeUse{reflect.TypeFor[T](), direction}
	if known, ok := schemas.Load(use); ok {
		return known.(*typeSchema)
	}
	known, _ := schemas.LoadOrStore(use, inferSchema(use))
	return known.(*typeSchema)
}

func inferSchema(use typeUse) *typeSchema {
	data, err := typeschema.Of(use.Type, use.Direction)
	if err != nil {
		return &typeSchema{err: err}
	}
	check, err := argcheck.Compile(data)
	return &typeSchema{schema: data, check: &argumentCheck{data, check}, isObject: isObject(data), err: err}
}

// isObject reports whether a schema says that values are objects, and nothing else.
func isObject(schema json.RawMessage) bool {
	var head struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &head) == nil && head.Type == "object"
}

// notAnObject is the error of a type that a tool cannot take.
func notAnObject(t reflect.Type) error {
	return fmt.Errorf("%s is not an object in JSON; use a struct", t)
}

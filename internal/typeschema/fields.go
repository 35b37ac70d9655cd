package typeschema

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A field is one of a struct as encoding/json sees it.
type field struct {
	reflect.StructField
	name     string // in JSON
	path     string // from the struct on, through what is embedded
	isTagged bool
	depth    int
	options  []string
}

func (f *field) has(option string) bool { return slices.Contains(f.options, option) }

// object returns the schema of a struct.
func (in *inference) object(t reflect.Type, path string) (*jsonschema.Schema, error) {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	fields := fieldsOf(t, "", 0, nil)
	if in.isRead && len(fields) == 0 && hasOnlyUnexported(t) {
		return nil, in.at(path, fmt.Errorf("%s has no exported fields, so that nothing is read into it; export some, or give it a method UnmarshalJSON", t))
	}
	for i := range fields {
		f := &fields[i]
		winner, err := in.dominant(fields, f.name, path)
		if err != nil {
			return nil, err
		}
		if winner != f {
			continue
		}
		property, err := in.property(f, join(path, f.path))
		if err != nil {
			return nil, err
		}
		schema.Properties[f.name] = property
		schema.PropertyOrder = append(schema.PropertyOrder, f.name)
		if !f.has("omitempty") && !f.has("omitzero") {
			schema.Required = append(schema.Required, f.name)
		}
	}
	return schema, nil
}

// hasOnlyUnexported reports whether a struct has fields, and encoding/json sees none of them.
// Those that their tags leave out are left out by intent.
func hasOnlyUnexported(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return t.NumField() > 0
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fieldsOf returns the fields of a struct and of the structs that are embedded in it,
// those that others hide included.
func fieldsOf(t reflect.Type, path string, depth int, within []reflect.Type) (fields []field) {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clip(within), t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		isStruct := f.Anonymous && embedded.Kind() == reflect.Struct
		if tag == "-" || !f.IsExported() && !isStruct {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		at := join(path, f.Name)
		if isStruct && name == "" {
			fields = append(fields, fieldsOf(embedded, at, depth+1, within)...)
			continue
		}
		found := field{StructField: f, name: name, path: at, isTagged: name != "", depth: depth, options: strings.Split(options, ",")}
		if name == "" {
			found.name = f.Name
		}
		fields = append(fields, found)
	}
	return fields
}

// dominant returns the field that a name in JSON stands for: of those least embedded the
// only one, or the only one whose tag says the name.
func (in *inference) dominant(fields []field, name, path string) (*field, error) {
	var best, rival *field
	for i := range fields {
		f := &fields[i]
		switch {
		case f.name != name:
		case best == nil || f.depth < best.depth || f.depth == best.depth && f.isTagged && !best.isTagged:
			best, rival = f, nil
		case f.depth == best.depth && f.isTagged == best.isTagged:
			rival = f
		}
	}
	if rival == nil {
		return best, nil
	}
	of := ""
	if in.root.Name() != "" {
		of = " of " + in.root.String()
	}
	return nil, fmt.Errorf("fields %s and %s%s are both %q in JSON, which leaves out both: give one another name", join(path, best.path), join(path, rival.path), of, name)
}

// property returns the schema of a field with what its tags say.
func (in *inference) property(f *field, path string) (*jsonschema.Schema, error) {
	property, err := in.of(f.Type, path)
	if err != nil {
		return nil, err
	}
	if f.has("string") {
		property = inString(f.Type, property)
	}
	if err := describe(f, property); err != nil {
		return nil, in.at(path, err)
	}
	for _, tag := range tags {
		text, ok := f.Tag.Lookup(tag.name)
		if !ok {
			continue
		}
		if err := tag.apply(property, text); err != nil {
			return nil, in.at(path, fmt.Errorf("tag %s:%q: %w", tag.name, text, err))
		}
	}
	return property, in.at(path, checkBounds(property))
}

// settings is how other libraries write settings into the tag.
var settings = regexp.MustCompile("^[^ \t\n]*=")

func describe(f *field, property *jsonschema.Schema) error {
	text, ok := f.Tag.Lookup("jsonschema")
	switch {
	case !ok:
		return nil
	case text == "":
		return errors.New("its jsonschema tag, which describes it, is empty")
	case settings.MatchString(text):
		return fmt.Errorf("tag jsonschema:%q: it is a description; what values a field takes is said in tags of their own, such as enum:\"a,b\"", text)
	}
	property.Description = text
	return nil
}

// inString returns the schema of a field whose tag has encoding/json write its value
// into a string, where it does that.
func inString(t reflect.Type, plain *jsonschema.Schema) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	schema := &jsonschema.Schema{Type: "string"}
	switch kind := t.Kind(); {
	case kind == reflect.Bool:
		schema.Enum = []any{"true", "false"}
	case kind >= reflect.Int && kind <= reflect.Int64:
		schema.Pattern = `^-?[0-9]+$`
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		schema.Pattern = `^[0-9]+$`
	case kind == reflect.Float32 || kind == reflect.Float64:
		schema.Pattern = `^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	case kind == reflect.String && isA(plain, "string"):
		schema.Pattern = `^".*"$`
	default:
		return plain
	}
	if isA(plain, "null") {
		return orNull(schema)
	}
	return schema
}

package rawjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// misfit says which value of sound JSON does not decode into its place in the type, and
// why, where encoding/json says it in Go's words or does not say where.
func misfit(data []byte, t reflect.Type, err error) error {
	pointer := ""
	for {
		step, part, into, failure := badPart(data, t)
		if failure == nil {
			break
		}
		pointer += "/" + strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
		data, t, err = part, into, failure
		if part == nil {
			break
		}
	}
	if pointer == "" {
		return errors.New(inWords(data, t, err))
	}
	return fmt.Errorf("%s: %s", pointer, inWords(data, t, err))
}

// badPart returns the first part of a value that does not decode, and the type that it is
// to decode into. The part is nil where it is no use to look into it.
func badPart(data []byte, t reflect.Type) (step string, part []byte, into reflect.Type, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		return "", nil, nil, nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		for i, element := range Elements(data) {
			if err := json.Unmarshal(element, reflect.New(t.Elem()).Interface()); err != nil {
				return strconv.Itoa(i), element, t.Elem(), err
			}
		}
	case reflect.Map, reflect.Struct:
		for _, f := range Fields(data) {
			name, _ := json.Marshal(f.Name)
			alone := slices.Concat([]byte("{"), name, []byte(":"), f.Value, []byte("}"))
			if err := json.Unmarshal(alone, reflect.New(t).Interface()); err != nil {
				part, into := within(t, f)
				return f.Name, part, into, err
			}
		}
	}
	return "", nil, nil, nil
}

// within returns a field's value and the type it decodes into, no value where it is not
// the value that is wrong.
func within(t reflect.Type, f Field) ([]byte, reflect.Type) {
	into := t
	if t.Kind() == reflect.Map {
		into = t.Elem()
	} else if into = fieldType(t, f.Name); into == nil {
		return nil, t
	}
	if json.Unmarshal(f.Value, reflect.New(into).Interface()) == nil {
		return nil, into
	}
	return f.Value, into
}

// fieldType returns the type of the field that a name in JSON stands for, nil if there is
// none or its value is written in a string.
func fieldType(t reflect.Type, name string) reflect.Type {
	for _, f := range reflect.VisibleFields(t) {
		own, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if own == "" {
			own = f.Name
		}
		if strings.EqualFold(own, name) && !strings.Contains(options, "string") {
			return f.Type
		}
	}
	return nil
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// inWords says what is wrong with a value in words that are not Go's.
func inWords(value []byte, t reflect.Type, err error) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Time]() && value != nil {
		return fmt.Sprintf("expected a time such as 2006-01-02T15:04:05Z, got %s", value)
	}
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	kind, number := e.Type.Kind(), strings.TrimPrefix(e.Value, "number ")
	switch {
	case number == e.Value:
	case kind >= reflect.Int && kind <= reflect.Int64:
		most := uint64(1)<<(e.Type.Bits()-1) - 1
		return fmt.Sprintf("expected a whole number from -%d to %d, got %s", most+1, most, number)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return fmt.Sprintf("expected a whole number from 0 to %d, got %s", ^uint64(0)>>(64-e.Type.Bits()), number)
	}
	return e.Value + " does not fit here"
}

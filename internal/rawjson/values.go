package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// Value decodes one JSON value into what encoding/json makes of it, except that whole
// numbers which a float64 would change stay as a json.Number.
func Value(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return withFloats(value), nil
}

// withFloats makes every number a float64 that is one.
func withFloats(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = withFloats(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withFloats(v[i])
		}
	case json.Number:
		number, err := v.Float64()
		isWhole := !strings.ContainsAny(v.String(), ".eE")
		if err != nil || isWhole && math.Abs(number) >= 1<<53 && strconv.FormatFloat(number, 'f', -1, 64) != v.String() {
			return v
		}
		return number
	}
	return value
}

// Values is an object that is decoded by [Value].
type Values map[string]any

// UnmarshalJSON reads an object, or null.
func (values *Values) UnmarshalJSON(data []byte) error {
	read, err := Value(data)
	if err != nil {
		return err
	}
	object, ok := read.(map[string]any)
	if !ok && read != nil {
		return errors.New("this must be an object")
	}
	*values = object
	return nil
}

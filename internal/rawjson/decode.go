package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// Decode decodes JSON into v as encoding/json does, except that numbers without a
// fraction, such as 1.0 and 1e2, are integers, as JSON Schema has it. It returns the JSON as
// it was decoded. The error names the field and what it wants.
func Decode(data []byte, v any) (as []byte, err error) {
	if err = json.Unmarshal(data, v); err == nil {
		return data, nil
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if whole := integers(data); !bytes.Equal(whole, data) {
			reflect.ValueOf(v).Elem().SetZero() // of what the first try left
			if err = json.Unmarshal(whole, v); err == nil {
				return whole, nil
			}
			return data, misfit(whole, reflect.TypeOf(v).Elem(), err)
		}
	}
	if !json.Valid(data) {
		return data, err
	}
	return data, misfit(data, reflect.TypeOf(v).Elem(), err)
}

// integers writes every number that has no fraction without a point and an exponent.
func integers(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); {
		end := i + 1
		switch c := data[i]; {
		case c == '"':
			end, _ = stringEnd(data, i)
			end = max(end, i+1)
		case c == '-' || c >= '0' && c <= '9':
			for end < len(data) && strings.IndexByte("+-.eE0123456789", data[end]) >= 0 {
				end++
			}
			if whole, ok := integer(string(data[i:end])); ok {
				out = append(out, whole...)
				i = end
				continue
			}
		}
		out = append(out, data[i:end]...)
		i = end
	}
	return out
}

// maxExponent is more than any integer of Go has digits.
const maxExponent = 20

// integer returns a number without its point and exponent, if it has no fraction.
func integer(number string) (whole string, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift > maxExponent || shift < -maxExponent {
			return "", false
		}
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits, point := before+after, len(before)+shift
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if len(digits) < point {
		digits += strings.Repeat("0", point-len(digits))
	}
	if strings.Trim(digits[point:], "0") != "" {
		return "", false
	}
	whole = strings.TrimLeft(digits[:point], "0")
	if whole == "" {
		return "0", true
	}
	return sign + whole, true
}

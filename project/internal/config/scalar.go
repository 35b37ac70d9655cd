package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/suggest"
)

func (r *reader) fillScalar(n *yaml.Node, v reflect.Value, at place) {
	if n.Kind != yaml.ScalarNode {
		if v.Kind() == reflect.Bool {
			r.wrong(n.Line, "%s must be true or false", at.name())
			return
		}
		r.wrong(n.Line, "%s must be a single value", at.name())
		return
	}
	text, ok := r.expand(n, at)
	if !ok {
		return
	}
	if want := setScalar(v, text); want != "" {
		r.wrong(n.Line, "%s must be %s, not %q", at.name(), want, shorten(n.Value))
		return
	}
	if at.enum != nil && !slices.Contains(at.enum, text) {
		r.wrong(n.Line, "%s must be one of %s, not %q%s", at.name(), strings.Join(at.enum, ", "), shorten(n.Value), suggest.Hint(n.Value, at.enum))
	}
}

// setScalar returns what the text should have been, if it is something else.
func setScalar(v reflect.Value, text string) (want string) {
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return "a duration such as 90s or 5m"
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.Int:
		i, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
		if err != nil {
			return "a whole number"
		}
		v.SetInt(int64(i))
	case v.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != f {
			return "a number"
		}
		v.SetFloat(f)
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return "true or false"
		}
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
	return ""
}

// expand replaces each ${NAME} by the variable's value, and $${ by ${.
func (r *reader) expand(n *yaml.Node, at place) (string, bool) {
	var b strings.Builder
	rest := n.Value
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			return b.String() + rest, true
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		name, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed || !isVariable(name) {
			r.wrong(n.Line, "%s: after ${ comes the name of an environment variable and }; for a plain ${ write $${", at.name())
			return "", false
		}
		value, ok := r.lookup(name)
		if !ok {
			r.wrong(n.Line, "%s: the environment variable %s is not set", at.name(), name)
			return "", false
		}
		b.WriteString(rest[:i] + value)
		rest = after
	}
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

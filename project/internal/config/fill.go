package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/suggest"
)

// A place says where in the file a value stands, and what its field says of it.
type place struct {
	path string // dotted keys
	enum []string
}

func (p place) at(key string) place {
	if p.path == "" {
		return place{path: key}
	}
	return place{path: p.path + "." + key}
}

// name is how messages call the place.
func (p place) name() string {
	if p.path == "" {
		return Name
	}
	return p.path
}

var durationType = reflect.TypeFor[time.Duration]()

// fill sets v to what n says. What is written with nothing behind it stays zero.
func (r *reader) fill(n *yaml.Node, v reflect.Value, at place) {
	if n.Tag == "!!null" {
		return
	}
	switch {
	case v.Type() == partType:
		r.fillPart(n, v, at)
	case v.Type() == durationType || isScalar(v.Kind()):
		r.fillScalar(n, v, at)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(n, v.Elem(), at)
	case v.Kind() == reflect.Slice:
		r.fillList(n, v, at)
	case v.Kind() == reflect.Map:
		r.fillMap(n, v, at)
	default:
		r.fillStruct(n, v, at)
	}
}

func isScalar(k reflect.Kind) bool {
	return k == reflect.String || k == reflect.Int || k == reflect.Float64 || k == reflect.Bool
}

func (r *reader) isMap(n *yaml.Node, at place) bool {
	if n.Kind != yaml.MappingNode {
		r.wrong(n.Line, "%s must be a map of keys and values", at.name())
		return false
	}
	return true
}

// pairs yields the keys and values of a map, and reports keys that are there twice.
func (r *reader) pairs(n *yaml.Node, at place) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			switch {
			case key.Kind != yaml.ScalarNode:
				r.wrong(key.Line, "a key of %s is not a plain word", at.name())
			case seen[key.Value]:
				r.wrong(key.Line, "%s is there twice", at.at(key.Value).name())
			case !yield(key, n.Content[i+1]):
				return
			}
			seen[key.Value] = true
		}
	}
}

func (r *reader) fillStruct(n *yaml.Node, v reflect.Value, at place) {
	if !r.isMap(n, at) {
		return
	}
	known := fieldsOf(v.Type())
	for key, value := range r.pairs(n, at) {
		i := slices.IndexFunc(known, func(f field) bool { return f.key == key.Value })
		if i < 0 {
			r.unknownKey(key, known, at)
			continue
		}
		inner := at.at(key.Value)
		inner.enum = known[i].enum
		r.fill(value, v.Field(known[i].index), inner)
	}
	if flow, ok := v.Addr().Interface().(*Flow); ok {
		flow.node = n
	}
}

func (r *reader) unknownKey(key *yaml.Node, known []field, at place) {
	var names []string
	for _, f := range known {
		names = append(names, f.key)
	}
	hint := suggest.Hint(key.Value, names)
	if now, ok := renamed[key.Value]; ok && slices.Contains(names, now.key) {
		hint = fmt.Sprintf("; %s is now %s%s", key.Value, now.key, now.how)
	} else if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	r.wrong(key.Line, "unknown key %q%s%s", shorten(key.Value), in(at), hint)
}

// renamed are keys that once had another name.
var renamed = map[string]struct{ key, how string }{
	"at_once":  {"max_parallel", ""},
	"hops":     {"max_handoffs", ""},
	"times":    {"max_rounds", ""},
	"on_error": {"continue_on_error", ": true or false"},
	"policy":   {"quorum", ": how many successes are enough, 1 for the first"},
}

func in(at place) string {
	if at.path == "" {
		return ""
	}
	return " in " + at.path
}

func (r *reader) fillMap(n *yaml.Node, v reflect.Value, at place) {
	if !r.isMap(n, at) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range r.pairs(n, at) {
		element := reflect.New(v.Type().Elem()).Elem()
		r.fill(value, element, at.at(key.Value))
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
	}
}

// fillList takes a list, or a single value for a list of one.
func (r *reader) fillList(n *yaml.Node, v reflect.Value, at place) {
	items := n.Content
	switch n.Kind {
	case yaml.ScalarNode:
		items = []*yaml.Node{n}
	case yaml.MappingNode:
		r.wrong(n.Line, "%s must be a list", at.name())
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		r.fill(item, list.Index(i), at)
	}
	v.Set(list)
}

// shorten keeps what a message repeats of the file on one line.
func shorten(text string) string {
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// A field is a key that a struct knows.
type field struct {
	key   string
	doc   string
	enum  []string
	index int
}

// fieldsOf lists the keys of a struct in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		f := field{key: tag.Get("yaml"), doc: tag.Get("doc"), index: i}
		if f.key == "-" {
			continue
		}
		if f.key == "" {
			panic(fmt.Sprintf("config: %s.%s has no key", t, t.Field(i).Name))
		}
		if enum := tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, ",")
		}
		list = append(list, f)
	}
	return list
}

package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// maxPath bounds a path, as written and as expanded, and the value of a
	// variable that refers to others.
	maxPath = 4 << 10
	// maxText bounds a text that is expanded, before and after.
	maxText = 4 << 20
	// maxValues bounds the values added at once, and with them the longest chain
	// of values that refer to each other.
	maxValues = 10_000
)

// Vars are named values that texts and paths refer to as {name} or {{name}}.
//
// Values may refer to others. They form a graph, and each is resolved once, when
// it is added: what comes out of a value is never searched for names again. Vars
// do not change; With and WithConfig return extended ones.
//
// The variables of the engine, roots among them, come first and have several
// spellings: {session-id}, {session_id} and {{SESSION_ID}} are one. The others
// are matched exactly, the ones added last first. The name of a root stands for
// itself, so that no directory of the host gets into a text.
type Vars struct {
	engine map[string]value // by folded name
	layers []map[string]value
	config map[string]value // the layer that {config_source}:key looks into
}

// value is what a variable, or a text, has become.
type value struct {
	pieces []piece
	err    error
}

// A piece is a part of an expanded text that is not looked at again.
type piece struct {
	kind pieceKind
	text string // as it appears in a text
	name string // the variable it stands for, unless literal
}

type pieceKind int

const (
	literal     pieceKind = iota
	rootName              // {bundle-root}: a directory in a path, itself in a text
	empty                 // a variable with an empty value: an error in a path
	unknown               // {x} that nobody defined: an error in a path
	placeholder           // {{x}} likewise, left to the author's template in a text
)

// NewVars returns the variables of the engine: roots, and values that are taken
// literally.
func NewVars(values map[string]string, roots ...string) *Vars {
	v := &Vars{engine: make(map[string]value)}
	for name, text := range values {
		p := piece{literal, text, name}
		if text == "" {
			p.kind = empty
		}
		v.engine[foldName(name)] = value{pieces: []piece{p}}
	}
	for _, name := range roots {
		name = foldName(name)
		v.engine[name] = value{pieces: []piece{{rootName, "{" + name + "}", name}}}
	}
	return v
}

// With returns v extended by values, which may refer to each other and to what is
// in v. A value that depends on itself is an error where it is used.
func (v *Vars) With(values map[string]string) *Vars {
	l := layer{outer: v, templates: values, done: make(map[string]value, len(values)), position: make(map[string]int)}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(values) > maxValues {
			l.done[name] = value{err: fmt.Errorf("more than %d variables: %w", maxValues, ErrTooLarge)}
		}
		l.resolve(name)
	}
	extended := *v
	extended.layers = append(slices.Clip(v.layers), l.done)
	return &extended
}

// WithConfig is With for the values of a config file: {config_source}:key means
// the value of key in the file added last, also where a later layer has the same key.
func (v *Vars) WithConfig(values map[string]string) *Vars {
	extended := v.With(values)
	extended.config = extended.layers[len(extended.layers)-1]
	return extended
}

// WithValue returns v with another value of a variable of the engine, which is taken
// literally.
func (v *Vars) WithValue(name, text string) *Vars {
	extended := *v
	extended.engine = maps.Clone(v.engine)
	extended.engine[foldName(name)] = value{pieces: []piece{{literal, text, name}}}
	return &extended
}

// WithPath is WithValue for a path that begins with a root, so that names below it can be
// opened.
func (v *Vars) WithPath(name, path string) *Vars {
	pieces, err := v.path(path)
	if err != nil {
		return v.WithValue(name, path)
	}
	extended := v.WithValue(name, path)
	extended.engine[foldName(name)] = value{pieces: pieces}
	return extended
}

// Names lists all variables that have a value, sorted.
func (v *Vars) Names() []string {
	names := namesOf(v.engine)
	for _, layer := range v.layers {
		for _, name := range namesOf(layer) {
			if _, ok := v.engine[foldName(name)]; !ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func namesOf(values map[string]value) []string {
	var names []string
	for name, v := range values {
		if len(v.pieces) > 0 && v.pieces[0].kind != empty {
			names = append(names, name)
		}
	}
	return names
}

// Expand replaces the variables in text by their values. Unknown ones stay as
// written; those in single braces are also listed in unresolved, in the order of
// their first appearance, because an unknown {{name}} is an author's placeholder.
// The error is a *Cycle or ErrTooLarge, for text or a value in it.
func (v *Vars) Expand(text string) (expanded string, unresolved []string, err error) {
	return v.expand(text, v)
}

// ExpandText is Expand for a text whose {{name}} are placeholders of its author unless
// they are in outer: v has the variables of the text's own surroundings, which it refers
// to as {name} alone.
func (v *Vars) ExpandText(text string, outer *Vars) (expanded string, unresolved []string, err error) {
	return v.expand(text, outer)
}

func (v *Vars) expand(text string, doubles *Vars) (expanded string, unresolved []string, err error) {
	if len(text) > maxText {
		return "", nil, fmt.Errorf("expand text of %d bytes: %w", len(text), ErrTooLarge)
	}
	result := compose(text, maxText, func(ref reference) value {
		if ref.double {
			return doubles.lookup(ref)
		}
		return v.lookup(ref)
	})
	if result.err != nil {
		return "", nil, fmt.Errorf("expand text: %w", result.err)
	}
	var b strings.Builder
	listed := make(map[string]bool)
	for _, p := range result.pieces {
		b.WriteString(p.text)
		if p.kind == unknown && !listed[p.name] {
			listed[p.name] = true
			unresolved = append(unresolved, p.name)
		}
	}
	return b.String(), unresolved, nil
}

// path expands a path. Every variable in it must have a value.
func (v *Vars) path(written string) ([]piece, error) {
	if len(written) > maxPath {
		return nil, &Error{Op: "resolve", Path: written, Err: ErrTooLarge, Reason: "a path has at most 4 KiB"}
	}
	result := compose(written, maxPath, v.lookup)
	if result.err != nil {
		return nil, fmt.Errorf("resolve %s: %w", shown(written), result.err)
	}
	for _, p := range result.pieces {
		if p.kind == empty || p.kind == unknown || p.kind == placeholder {
			return nil, fmt.Errorf("resolve %s: %w", shown(written), &UnknownVariable{Name: p.name, Known: v.Names()})
		}
	}
	return result.pieces, nil
}

func (v *Vars) lookup(ref reference) value {
	if ref.key != "" {
		if value, ok := v.config[ref.key]; ok {
			return value
		}
		return undefined(ref)
	}
	if value, ok := v.engine[foldName(ref.name)]; ok {
		return value
	}
	for _, layer := range slices.Backward(v.layers) {
		if value, ok := layer[ref.name]; ok {
			return value
		}
	}
	return undefined(ref)
}

// undefined is the value of a reference to nothing: itself.
func undefined(ref reference) value {
	p := piece{unknown, ref.written, cmp.Or(ref.key, ref.name)}
	if ref.double {
		p.kind = placeholder
	}
	return value{pieces: []piece{p}}
}

// compose replaces the references in text by the values that lookup has for them.
// What refers to anything may grow to limit; an empty piece counts as one byte,
// or a value made of them would grow without end.
func compose(text string, limit int, lookup func(reference) value) value {
	var result value
	size, refers := 0, false
	add := func(p piece) {
		result.pieces = append(result.pieces, p)
		size += max(1, len(p.text))
	}
	for {
		before, ref, after, ok := cutReference(text)
		if before != "" {
			add(piece{kind: literal, text: before})
		}
		if refers = refers || ok; refers && size > limit {
			return value{err: fmt.Errorf("more than %d bytes after expansion: %w", limit, ErrTooLarge)}
		}
		if !ok {
			return result
		}
		v := lookup(ref)
		if v.err != nil {
			return value{err: v.err}
		}
		for _, p := range v.pieces {
			add(p)
		}
		text = after
	}
}

// A layer resolves values that may refer to each other, depth first.
type layer struct {
	outer     *Vars
	templates map[string]string
	done      map[string]value
	stack     []string       // the variables being resolved, each referring to the next
	position  map[string]int // of those, in stack
}

func (l *layer) lookup(ref reference) value {
	_, ofEngine := l.outer.engine[foldName(ref.name)]
	if _, ours := l.templates[ref.name]; ours && !ofEngine && ref.key == "" {
		return l.resolve(ref.name)
	}
	return l.outer.lookup(ref)
}

func (l *layer) resolve(name string) value {
	if v, ok := l.done[name]; ok {
		return v
	}
	if i, ok := l.position[name]; ok {
		return value{err: &Cycle{Names: append(slices.Clone(l.stack[i:]), name)}}
	}
	l.position[name] = len(l.stack)
	l.stack = append(l.stack, name)
	v := compose(l.templates[name], maxPath, l.lookup)
	l.stack = l.stack[:len(l.stack)-1]
	delete(l.position, name)
	if v.err == nil && len(v.pieces) == 0 {
		v.pieces = []piece{{kind: empty, name: name}}
	}
	l.done[name] = v
	return v
}

package argcheck

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// A translation collects problems from the errors of jsonschema.
type translation struct {
	value, schema any // what was checked, and against what
	problems      []Problem
}

// mismatch returns the problems by path, since jsonschema finds them in no fixed order.
func (t *translation) mismatch() *Mismatch {
	slices.SortFunc(t.problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Expected, b.Expected))
	})
	problems := slices.Compact(t.problems)
	if len(problems) == 0 {
		problems = []Problem{{Expected: "does not fit the schema"}}
	}
	shown := min(len(problems), maxProblems)
	return &Mismatch{Problems: problems[:shown], More: len(problems) - shown}
}

// add adds what the error says, and what its causes say where it says nothing itself.
func (t *translation) add(e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			t.add(cause)
		}
	case *kind.AnyOf:
		t.addAlternatives(e)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			t.addAlternatives(e)
		} else {
			t.report(e, fmt.Sprintf("fits alternatives %d and %d, but must fit only one", k.Subschemas[0]+1, k.Subschemas[1]+1), "")
		}
	case *kind.Required:
		t.addMissing(e, k.Missing)
	case *kind.DependentRequired:
		t.addMissing(e, k.Missing)
	case *kind.Dependency:
		t.addMissing(e, k.Missing)
	case *kind.AdditionalProperties:
		t.addUnknown(e, k.Properties)
	case *kind.PropertyNames:
		// The place is left out: jsonschema gives it in memory that it writes again.
		t.problems = append(t.problems, Problem{Expected: "a field must not be named " + printable(strconv.Quote(k.Property))})
	case *kind.FalseSchema:
		t.report(e, notAllowed, "")
	default:
		expected, got := phrase(k)
		if got == "" {
			got = show(valueAt(t.value, e.InstanceLocation))
		}
		t.report(e, expected, got)
		t.problems[len(t.problems)-1].Options = optionsOf(k)
	}
}

// optionsOf returns the strings that an enum or a const allows, as a JSON array.
func optionsOf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Enum:
		return stringsAmong(k.Want)
	case *kind.Const:
		return stringsAmong([]any{k.Want})
	}
	return ""
}

func (t *translation) report(e *jsonschema.ValidationError, expected, got string) {
	t.problems = append(t.problems, Problem{Path: pointerTo(e), Expected: expected, Got: got})
}

func (t *translation) addMissing(e *jsonschema.ValidationError, names []string) {
	for _, name := range names {
		t.problems = append(t.problems, missingField(pointerTo(e), name))
	}
}

// addUnknown looks for the names that were meant only as often as can be told.
func (t *translation) addUnknown(e *jsonschema.ValidationError, names []string) {
	known := t.knownFields(e.SchemaURL)
	slices.Sort(names)
	for i, name := range names {
		expected := "not a known field"
		if i < maxProblems {
			expected = unknownField(name, known)
		}
		t.problems = append(t.problems, Problem{Path: join(pointerTo(e), name), Expected: expected})
	}
}

// addAlternatives tells of a value that fits none of several schemas. Those that ask
// for another type are of no interest where a single one does not.
func (t *translation) addAlternatives(e *jsonschema.ValidationError) {
	var types kinds
	var others []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		if wanted := wantedTypes(cause, e); wanted != 0 {
			types |= wanted
		} else {
			others = append(others, cause)
		}
	}
	switch len(others) {
	case 0:
		t.report(e, types.String(), show(valueAt(t.value, e.InstanceLocation)))
	case 1:
		t.add(others[0])
	default:
		t.report(e, t.firstOfEach(others), "")
	}
}

// wantedTypes returns the types that an alternative asks for, if those are its problem.
func wantedTypes(alternative, of *jsonschema.ValidationError) (types kinds) {
	for len(alternative.Causes) == 1 {
		if _, isRef := alternative.ErrorKind.(*kind.Reference); !isRef {
			break
		}
		alternative = alternative.Causes[0]
	}
	if k, ok := alternative.ErrorKind.(*kind.Type); ok && len(alternative.InstanceLocation) == len(of.InstanceLocation) {
		types = kindsNamed(k.Want)
	}
	return types
}

// firstOfEach returns the first problem with each of some alternatives.
func (t *translation) firstOfEach(alternatives []*jsonschema.ValidationError) string {
	const most = 4
	var text strings.Builder
	fmt.Fprintf(&text, "fits none of %d alternatives", len(alternatives))
	for i, alternative := range alternatives[:min(len(alternatives), most)] {
		one := translation{value: t.value, schema: t.schema}
		one.add(alternative)
		fmt.Fprintf(&text, " (%d) %s", i+1, one.mismatch().Problems[0])
	}
	return text.String()
}

// knownFields returns the properties of the schema that jsonschema has at the URL.
func (t *translation) knownFields(location string) []string {
	_, fragment, _ := strings.Cut(location, "#")
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	steps := strings.Split(pointer, "/")[1:]
	for i, step := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	properties, _ := valueAt(t.schema, append(steps, "properties")).(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

func pointerTo(e *jsonschema.ValidationError) (pointer string) {
	for _, step := range e.InstanceLocation {
		pointer = join(pointer, step)
	}
	return pointer
}

// valueAt returns the part of a decoded value, nil where it has none.
func valueAt(value any, steps []string) any {
	for _, step := range steps {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// phrase says what a keyword asks for, and where that is not the value itself, what came.
func phrase(k jsonschema.ErrorKind) (expected, got string) {
	switch k := k.(type) {
	case *kind.Type:
		return kindsNamed(k.Want).String(), ""
	case *kind.Enum:
		options := make([]string, len(k.Want))
		for i, option := range k.Want {
			options[i] = asJSON(option)
		}
		return oneOf(options), ""
	case *kind.Const:
		return printable(asJSON(k.Want)), ""
	case *kind.Minimum:
		return "at least " + decimalText(k.Want), ""
	case *kind.Maximum:
		return "at most " + decimalText(k.Want), ""
	case *kind.ExclusiveMinimum:
		return "more than " + decimalText(k.Want), ""
	case *kind.ExclusiveMaximum:
		return "less than " + decimalText(k.Want), ""
	case *kind.MultipleOf:
		return "a multiple of " + decimalText(k.Want), ""
	case *kind.Pattern:
		return matching(k.Want), ""
	case *kind.Not:
		return "anything but what the schema rules out here", ""
	case *kind.UniqueItems:
		return "items that differ from each other", fmt.Sprintf("the same at %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "an array with at least 1 item of a certain form", ""
	}
	return phraseCount(k)
}

// phraseCount is phrase for keywords that count.
func phraseCount(k jsonschema.ErrorKind) (expected, got string) {
	switch k := k.(type) {
	case *kind.MinLength:
		return atLeast(k.Want, "character"), strconv.Itoa(k.Got)
	case *kind.MaxLength:
		return atMost(k.Want, "character"), strconv.Itoa(k.Got)
	case *kind.MinItems:
		return atLeast(k.Want, "item"), strconv.Itoa(k.Got)
	case *kind.MaxItems:
		return atMost(k.Want, "item"), strconv.Itoa(k.Got)
	case *kind.MinProperties:
		return atLeast(k.Want, "field"), strconv.Itoa(k.Got)
	case *kind.MaxProperties:
		return atMost(k.Want, "field"), strconv.Itoa(k.Got)
	case *kind.MinContains:
		return atLeast(k.Want, "item") + " of a certain form", strconv.Itoa(len(k.Got))
	case *kind.MaxContains:
		return atMost(k.Want, "item") + " of a certain form", strconv.Itoa(len(k.Got))
	case *kind.AdditionalItems:
		return plural(k.Count, "item") + " fewer", ""
	}
	return "something that fits " + strings.Join(k.KeywordPath(), "/"), ""
}

func decimalText(number *big.Rat) string {
	if number.IsInt() {
		return printable(number.Num().String())
	}
	float, _ := number.Float64()
	return strconv.FormatFloat(float, 'g', -1, 64)
}

func kindsNamed(names []string) (set kinds) {
	for _, name := range names {
		kind, _ := kindNamed(name)
		set |= kind
	}
	return set
}

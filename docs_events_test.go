package troupe_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// docs/events.md lists every kind of event with all its fields, and nothing else.
func TestTheDocumentedEventsAreTheEvents(t *testing.T) {
	text, err := os.ReadFile("docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## All kinds")
	if !found {
		t.Fatal("docs/events.md has no table of all kinds")
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]+) \\| [^|]+ \\|$")
	word := regexp.MustCompile("`([a-z_0-9]+)`")
	documented := map[string][]string{}
	for _, match := range row.FindAllStringSubmatch(table, -1) {
		fields := []string{}
		for _, field := range word.FindAllStringSubmatch(match[2], -1) {
			fields = append(fields, field[1])
		}
		documented[match[1]] = fields
	}
	for _, body := range troupe.Bodies() {
		kind := string(body.Kind())
		got, ok := documented[kind]
		if !ok {
			t.Errorf("docs/events.md has no row for %s", kind)
			continue
		}
		delete(documented, kind)
		if want := fieldsOf(body); !slices.Equal(got, want) {
			t.Errorf("docs/events.md: the fields of %s are %q, and it says %q", kind, want, got)
		}
	}
	for kind := range documented {
		t.Errorf("docs/events.md has a row for %s, which is no kind of event", kind)
	}
}

// fieldsOf returns the JSON keys of a body, in order.
func fieldsOf(body troupe.Body) []string {
	fields := []string{}
	for field := range reflect.TypeOf(body).Elem().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields = append(fields, name)
		}
	}
	return fields
}

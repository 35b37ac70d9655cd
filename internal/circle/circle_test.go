package circle_test

import (
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe/internal/circle"
)

func TestCirclesAreFound(t *testing.T) {
	itself := func(name string) string { return name }
	for _, c := range []struct {
		needs map[string][]string
		want  string
	}{
		{nil, "[]"},
		{map[string][]string{"a": {"b", "c"}, "b": {"c"}}, "[]"},
		{map[string][]string{"a": {"b", "c"}, "c": {"a"}}, "[[{a c} {c a}]]"},
		{map[string][]string{"a": {"c"}, "b": {"c"}, "c": {"b"}}, "[[{b c} {c b}]]"},
		{map[string][]string{"a": {"a"}}, "[[{a a}]]"},
		{map[string][]string{"c": {"a"}, "b": {"c"}, "a": {"b", "d"}}, "[[{a b} {b c} {c a}]]"},
		{map[string][]string{"x": {"b"}, "b": {"a"}, "a": {"b"}, "y": {"y"}}, "[[{a b} {b a}] [{y y}]]"},
	} {
		if got := fmt.Sprint(circle.Find(c.needs, itself)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.needs, got, c.want)
		}
	}
}

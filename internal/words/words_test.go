package words

import "testing"

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 turns", 1: "1 turn", 2: "2 turns", 1000: "1000 turns"} {
		if got := Counted(n, "turn"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestModelName(t *testing.T) {
	for _, c := range [][3]string{{"", "m", "m"}, {"local", "", ""}, {"local", "m", "local/m"}, {"router", "openai/m", "router/openai/m"}, {"openai", "openai/m", "openai/m"}} {
		if got := ModelName(c[0], c[1]); got != c[2] {
			t.Errorf("%q of %q is written %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestPerson(t *testing.T) {
	for name, want := range map[string]string{"": "a person", "ann": "ann"} {
		if got := Person(name); got != want {
			t.Errorf("%q is written %q, want %q", name, got, want)
		}
	}
}

func TestNothingInATextEndsItsFence(t *testing.T) {
	for text, want := range map[string]string{"": "```", "a `b` c": "```", "```go\nx\n```": "````", "`````": "``````"} {
		if got := Fence(text); got != want {
			t.Errorf("%q is put between %s, want %s", text, got, want)
		}
	}
}

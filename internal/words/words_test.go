package words

import "testing"

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 turns", 1: "1 turn", 2: "2 turns", 1000: "1000 turns"} {
		if got := Counted(n, "turn"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0", 2: "$2", 20: "$20", 2.5: "$2.50", 0.25: "$0.25", 0.125: "$0.125", 0.1 + 0.2: "$0.30", 0.00001: "$0.00001", 1000: "$1,000", 1234567.5: "$1,234,567.50", 100: "$100"} {
		if got := Dollars(amount); got != want {
			t.Errorf("%v is written %q, want %q", amount, got, want)
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

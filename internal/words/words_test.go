package words

import "testing"

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 turns", 1: "1 turn", 2: "2 turns", 1000: "1000 turns"} {
		if got := Counted(n, "turn"); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

package skill

import (
	"fmt"
	"strings"
	"testing"
)

func thousand(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	body := strings.Repeat("A line of the body, which nobody asked for yet.\n", 200)
	for i := range 1000 {
		name := fmt.Sprintf("skill-%03d", i)
		put(b, dir, fmt.Sprintf("category-%d/%s/SKILL.md", i%10, name), text(name, "Does one of a thousand things. Use when it is asked for.", body))
	}
	return dir
}

func BenchmarkOpen1000(b *testing.B) {
	dir := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		if got := len(open(b, dir).List()); got != 1000 {
			b.Fatal(got)
		}
	}
}

// BenchmarkListUnchanged1000 includes the look that is due four times a second.
func BenchmarkListUnchanged1000(b *testing.B) {
	l := open(b, thousand(b))
	b.ReportAllocs()
	for b.Loop() {
		l.List()
	}
}

func BenchmarkLook1000(b *testing.B) {
	l := open(b, thousand(b))
	b.ReportAllocs()
	for b.Loop() {
		l.look()
	}
}

func BenchmarkLoad(b *testing.B) {
	l := open(b, thousand(b))
	b.ReportAllocs()
	for b.Loop() {
		load(b, l, "skill-500")
	}
}

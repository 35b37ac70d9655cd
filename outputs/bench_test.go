package outputs

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// BenchmarkSession stores a session of six events, three of which change its manifest.
func BenchmarkSession(b *testing.B) {
	f := keep(b, troupe.NewMemoryStore(), b.TempDir(), Options{})
	n := 0
	for b.Loop() {
		n++
		appendTo(b, f, id(n), 1, begun("hi")...)
		appendTo(b, f, id(n), 3, &troupe.ModelReplied{Message: &troupe.Message{}})
		appendTo(b, f, id(n), 4, &troupe.ArtifactSaved{Path: "{session-folder}/a.md"})
		appendTo(b, f, id(n), 5, &troupe.ModelReplied{Message: &troupe.Message{}})
		appendTo(b, f, id(n), 6, ended())
	}
}

// BenchmarkQuietEvent stores an event that does not change the manifest.
func BenchmarkQuietEvent(b *testing.B) {
	f := keep(b, troupe.NewMemoryStore(), b.TempDir(), Options{})
	appendTo(b, f, id(1), 1, begun("hi")...)
	seq := int64(3)
	for b.Loop() {
		appendTo(b, f, id(1), seq, &troupe.ModelReplied{Message: &troupe.Message{}})
		seq++
	}
}

func BenchmarkFindAmong1000(b *testing.B) {
	f := keep(b, troupe.NewMemoryStore(), b.TempDir(), Options{})
	for n := range 1000 {
		appendTo(b, f, id(n), 1, append(begun("hi"), ended())...)
	}
	for b.Loop() {
		if _, err := f.Find(b.Context(), Filter{Limit: 10}); err != nil {
			b.Fatal(err)
		}
	}
}

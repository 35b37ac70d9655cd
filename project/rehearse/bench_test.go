package rehearse_test

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/project/rehearse"
)

// BenchmarkATree plays every command of the published tree that has most of them.
func BenchmarkATree(b *testing.B) {
	dir := corpus.Path(b, "bmad/v6-alpha5-installed")
	for b.Loop() {
		catalog, theatre := open(b, dir)
		list, _ := catalog.Definitions()
		var scenes []rehearse.Scene
		for _, d := range list {
			for _, c := range d.Commands {
				scenes = append(scenes, rehearse.Scene{Agent: d, Command: c})
			}
		}
		if _, err := theatre.PlayAll(b.Context(), scenes); err != nil {
			b.Fatal(err)
		}
	}
}

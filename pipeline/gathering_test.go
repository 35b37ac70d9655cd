package pipeline

import (
	"fmt"
	"slices"
	"testing"
)

func TestFilesThatSayMoreComeFirst(t *testing.T) {
	words := []string{"todo", "app", "the"}
	for name, want := range map[string]int{
		"a.txt": 0, "docs/a.txt": -1, "docs/x/a.txt": -2, "README.md": 6, "docs/readme": 5, "go.mod": 5, "web/Package.json": 4,
		"main.go": 3, "cmd/Server.ts": 2, "maintain.go": 0, "todo.go": 4, "src/Todo/todo.go": 2, "app.go": 3, "the.txt": 0, "todo/main.go": 6,
	} {
		if got := interest(name, words); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestAFileMapIsBounded(t *testing.T) {
	var g gathering
	for i := range maxMapped + 2 {
		g.add(fmt.Sprint(i), 1)
	}
	for range maxLeftNamed + 5 {
		g.leaveOut("x", "is a link")
	}
	g.Excerpts = make([]Excerpt, maxMapped-1)
	g.conclude()
	if len(g.Files) != maxMapped || g.more != 2 || len(g.LeftOut) != maxLeftNamed+3 {
		t.Errorf("%d files, %d more, %d left out", len(g.Files), g.more, len(g.LeftOut))
	}
	if got, want := g.LeftOut[maxLeftNamed:], []string{"2 more files", "1 files are listed without an excerpt", "dot-files and keys are never shown"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	whole := gathering{FileMap: FileMap{Files: make([]FileEntry, 1), Excerpts: make([]Excerpt, 1)}}
	if whole.conclude(); len(whole.LeftOut) != 1 {
		t.Errorf("got %q", whole.LeftOut)
	}
}

func TestDirectoriesOfOthersAreKnownByName(t *testing.T) {
	if !isGenerated("vendor") || !isGenerated("node_modules") || isGenerated("src") {
		t.Error("the wrong directories are left out")
	}
}

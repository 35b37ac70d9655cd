package pipeline

import (
	"path/filepath"
	"testing"
)

// Stopped between what is noted of a document and its writing, the document is known to be as
// it was; one that somebody has changed since it was written is not.
func TestADocumentThatWasNotWrittenIsStillOutdated(t *testing.T) {
	s := &workshop{Repository: Repository{Data: t.TempDir()}}
	was, now := planOfSteps(PlanStep{ID: "1", Title: "Old"}), planOfSteps(PlanStep{ID: "1", Title: "New"})
	if err := s.writeDocumented("s", &documented{Plan: *now, Edition: 1, Path: "plan.md", Before: hashOf("old"), Was: was}); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(s.planFile("s"), now.YAML()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text       string // none is a document that is not there
		isOutdated bool
	}{{"", true}, {"old", true}, {"new", false}, {"by hand", false}} {
		if c.text != "" {
			if err := replaceFile(filepath.Join(s.folder("s"), DocumentsDir, "plan.md"), []byte(c.text)); err != nil {
				t.Fatal(err)
			}
		}
		read, err := s.readEdited("s")
		if err != nil || !read.Edited || (read.Outdated != nil) != c.isOutdated || c.isOutdated && (read.Outdated.Was.Steps[0].Title != "Old" || read.Outdated.Edition != 2) {
			t.Errorf("%q: %+v %v", c.text, read, err)
		}
	}
}

package bundle

import "testing"

// Files of a source tree name each other by where an installer would put them, in
// every spelling, and with or without the project.
func TestPathsOfAnInstallationAreFoundInTheSources(t *testing.T) {
	dir := project(t)
	put(t, dir, "src/bmm/tasks/review.md", "Review it.")
	b := bundleIn(t, find(t, dir, Config{}), "src/bmm")
	for _, name := range []string{
		"{project-root}/bmad/bmm/tasks/review.md",
		"{project_root}/_bmad/bmm/tasks/review.md",
		"bmad/bmm/tasks/review.md",
		"{bundle-root}/tasks/review.md",
	} {
		ws, err := b.files()
		if err != nil {
			t.Fatal(err)
		}
		loc, err := ws.Resolve(b.herePath(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text, err := ws.ReadFile(loc); err != nil || text != "Review it." {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// In an installed tree, files name each other as seen from the project, which is
// itself closed.
func TestReferencesInARealTreeAreReadWithoutAGrantOfTheProject(t *testing.T) {
	project := corpus.Path(t, "bmad/v6-alpha5-installed")
	ws := openWith(t, Config{Roots: []Root{
		{Name: ProjectRoot, Dir: project},
		{Name: BundleRoot, Dir: filepath.Join(project, "bmad/bmm"), Access: ReadOnly},
		{Name: CoreRoot, Dir: filepath.Join(project, "bmad/core"), Access: ReadOnly},
	}})
	references := regexp.MustCompile(`\{project[-_]root\}/[\w./{}-]+\.(md|yaml|xml|csv)\b`)
	outcomes := make(map[string]int)
	err := filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, ref := range references.FindAllString(string(content), -1) {
			outcomes[outcomeOfReading(ws, ref)]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(outcomes)
	if outcomes["read from {bundle-root}"] < 50 || outcomes["read from {core-root}"] < 50 {
		t.Errorf("few references were read: %v", outcomes)
	}
	if outcomes["read from {project-root}"] > 0 || outcomes["unexpected"] > 0 {
		t.Errorf("the project is open: %v", outcomes)
	}
}

func outcomeOfReading(ws *Workspace, name string) string {
	loc, err := ws.Resolve(name)
	if err == nil {
		_, err = ws.ReadFile(loc)
	}
	_, unknown := errors.AsType[*UnknownVariable](err)
	switch {
	case err == nil:
		return "read from {" + loc.Root() + "}"
	case unknown:
		return "unknown variable"
	case errors.Is(err, ErrNotFound):
		return "not found"
	case errors.Is(err, ErrDenied):
		return "denied"
	}
	return "unexpected"
}

package troupe_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every message in the page on troubleshooting is one that the program writes: it is
// there in the code.
func TestTroubleshootingQuotesWhatTheProgramSays(t *testing.T) {
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == "tools" || path == "bench" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			data, err := os.ReadFile(path)
			code.Write(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 25 {
		t.Errorf("only %d messages", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(code.String(), row[1]) {
			t.Errorf("nothing says %q", row[1])
		}
	}
}

// Whatever the catalogue of failures says is on the page.
func TestTroubleshootingHasTheWholeCatalogue(t *testing.T) {
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := os.ReadFile("model/problem/problem.go")
	if err != nil {
		t.Fatal(err)
	}
	sentences := regexp.MustCompile(`Sentence(?:: | = )"([^"]+)"`).FindAllStringSubmatch(string(catalogue), -1)
	if len(sentences) < 35 {
		t.Errorf("only %d sentences", len(sentences))
	}
	for _, s := range sentences {
		if !strings.Contains(string(page), "| `"+s[1]+"` |") {
			t.Errorf("docs/troubleshooting.md has nothing on %q", s[1])
		}
	}
}

package skill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes a file that was last changed an hour ago.
func put(t testing.TB, dir, name, content string) {
	t.Helper()
	putAt(t, dir, name, content, time.Now().Add(-time.Hour))
}

func putAt(t testing.TB, dir, name, content string, modified time.Time) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, modified, modified); err != nil {
		t.Fatal(err)
	}
}

// text is a skill file.
func text(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body
}

func open(t testing.TB, roots ...string) *Library {
	t.Helper()
	l, err := Open(Config{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func load(t testing.TB, l *Library, name string) *Document {
	t.Helper()
	doc, err := l.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func names(skills []Skill) string {
	var list []string
	for _, s := range skills {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

// summary shows findings without messages.
func summary(findings []Finding, dir string) string {
	var b strings.Builder
	for _, f := range findings {
		file, err := filepath.Rel(dir, f.File)
		if err != nil {
			file = f.File
		}
		fmt.Fprintf(&b, "%s %s %s:%d\n", f.Severity, f.Code, filepath.ToSlash(file), f.Line)
	}
	return b.String()
}

package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestANewSkillCanBeUsedAsItIs(t *testing.T) {
	t.Attr("FR", "FR-012c")
	dir := filepath.Join(t.TempDir(), "not", "there")
	for _, d := range []Draft{
		{Name: "flaky-tests"},
		{Name: "überprüfung", Description: "Says: \"check\" it # twice\n---\nname: evil", Category: "Quality: all"},
	} {
		file, err := New(dir, d)
		if err != nil || file != d.Name+"/SKILL.md" {
			t.Fatal(file, err)
		}
	}
	l := open(t, dir)
	if found := l.Lint([]string{"read_file"}); len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	if got := names(l.List()); got != "flaky-tests überprüfung" {
		t.Errorf("skills %s", got)
	}
	if s, _ := l.Find("überprüfung"); s.Description != `Says: "check" it # twice --- name: evil` || s.Category != "quality: all" {
		t.Errorf("%+v", s)
	}
	for _, section := range []string{"# Flaky tests\n", "## Purpose\n", "## Methodology\n", "## Examples\n"} {
		if !strings.Contains(load(t, l, "flaky-tests").Content, section) {
			t.Errorf("there is no %s", section)
		}
	}
}

func TestNewNeverOverwrites(t *testing.T) {
	t.Attr("FR", "FR-012c")
	dir, outside := t.TempDir(), t.TempDir()
	put(t, dir, "mine/SKILL.md", "mine")
	if _, err := New(dir, Draft{Name: "mine"}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if content, _ := os.ReadFile(filepath.Join(dir, "mine", "SKILL.md")); string(content) != "mine" {
		t.Errorf("it became %q", content)
	}
	for _, d := range []Draft{{Name: "../out"}, {Name: "a/b"}, {Name: "Upper"}, {}, {Name: "long", Description: strings.Repeat("x", 1025)}} {
		if file, err := New(dir, d); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, err := New(dir, Draft{Name: "link"}); err == nil {
		t.Error("a link was followed")
	}
	if found, _ := os.ReadDir(outside); len(found) > 0 {
		t.Errorf("written outside: %v", found)
	}
}

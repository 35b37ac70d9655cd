package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSkillsOfAllFormsAreFound(t *testing.T) {
	t.Attr("FR", "FR-012 FR-012a FR-014")
	dir := t.TempDir()
	put(t, dir, "pdf/SKILL.md", text("pdf", "Fills forms.", "Body"))
	put(t, dir, "pdf/reference.md", "not a skill of its own")
	put(t, dir, "pdf/inner/SKILL.md", text("inner", "Belongs to pdf.", ""))
	put(t, dir, "testing/flaky/SKILL.md", text("flaky", "Flaky tests.", ""))
	put(t, dir, "testing/go/race.md", "label: race\ndescription: Data races.\n\n## Purpose\n")
	put(t, dir, "review.md", "---\nlabel: Code Review\ndescription: Reviews.\ncategory: Quality\n---\n")
	put(t, dir, "lower/skill.md", text("lower", "A small name.", ""))
	put(t, dir, "README.md", "What is in here.")
	put(t, dir, "notes.txt", "nothing")
	put(t, dir, ".git/x.md", "label: x\ndescription: y\n")
	l := open(t, dir)
	if found := l.Findings(); len(found) > 0 {
		t.Errorf("findings %v", found)
	}
	var got []string
	for _, s := range l.List() {
		got = append(got, s.Name+" "+s.Category+" "+s.Path)
	}
	want := []string{
		"Code Review quality {skills}/review.md", "flaky testing {skills}/testing/flaky/SKILL.md", "lower  {skills}/lower/skill.md",
		"pdf  {skills}/pdf/SKILL.md", "race testing/go {skills}/testing/go/race.md",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got := strings.Join(l.Categories(), " "); got != "quality testing testing/go" {
		t.Errorf("categories %s", got)
	}
	if s, ok := l.Find("race"); !ok || s.Description != "Data races." {
		t.Errorf("%+v, %v", s, ok)
	}
	if _, ok := l.Find("inner"); ok {
		t.Error("a file of a skill was taken for another skill")
	}
}

func TestABrokenFileTakesNothingElseDown(t *testing.T) {
	t.Attr("FR", "FR-012")
	dir := t.TempDir()
	put(t, dir, "good/SKILL.md", text("good", "Works.", ""))
	put(t, dir, "broken/SKILL.md", "---\nname: \"x\n---\n")
	put(t, dir, "bomb/SKILL.md", "---\na: &a [x, x]\nb: &b [*a, *a]\n---\n")
	put(t, dir, "bare.md", "no header at all")
	put(t, dir, "huge/SKILL.md", "---\n"+strings.Repeat("# on and on\n", 10_000))
	if err := os.MkdirAll(filepath.Join(dir, "odd", "x.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"away": os.TempDir(), "away.md": "/etc/hostname", "loop": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	l := open(t, dir)
	if got := names(l.List()); got != "good" {
		t.Errorf("skills %s", got)
	}
	const want = `warning unreadable away:1
warning unreadable away.md:1
error skill-front-matter bare.md:1
error refused-yaml bomb/SKILL.md:2
error invalid-yaml broken/SKILL.md:3
error unreadable huge/SKILL.md:1
warning unreadable loop:1
`
	if got := summary(l.Findings(), dir); got != want {
		t.Errorf("findings\n%s", got)
	}
}

func TestTheFirstRootWins(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	put(t, one, "a/SKILL.md", text("a", "First.", "one"))
	put(t, two, "a/SKILL.md", text("a", "Second.", "two"))
	put(t, two, "b/SKILL.md", text("b", "Only here.", ""))
	missing := filepath.Join(one, "later")
	l := open(t, one, missing, two)
	if doc := load(t, l, "a"); doc.Content != "one" {
		t.Errorf("%+v", doc)
	}
	if b, _ := l.Find("b"); b.Path != "{skills-3}/b/SKILL.md" {
		t.Errorf("%+v", b)
	}
	if got := summary(l.Findings(), two); got != "warning duplicate-skill a/SKILL.md:1\n" {
		t.Errorf("findings\n%s", got)
	}
	if roots := l.Roots(); len(roots) != 2 || roots[0].Name != "skills" || roots[1].Name != "skills-3" {
		t.Errorf("roots %v", roots)
	}
}

func TestARootIsADirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "x")
	if _, err := Open(Config{Roots: []string{filepath.Join(dir, "file")}}); err == nil {
		t.Error("a file was opened as a root")
	}
	put(t, dir, "pdf/SKILL.md", text("pdf", "Itself.", "See {skill-root}/x.md"))
	put(t, dir, "pdf/x.md", "x")
	doc := load(t, open(t, filepath.Join(dir, "pdf")), "pdf")
	if doc.Content != "See {skills}/x.md" || len(doc.Resources) != 1 || doc.Resources[0] != "{skills}/x.md" {
		t.Errorf("a root that is a skill: %+v", doc)
	}
}

func TestAnUnknownSkillIsNotFound(t *testing.T) {
	if _, err := open(t, t.TempDir()).Load(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestASkillThatIsSwitchedOffIsNobodys(t *testing.T) {
	root := t.TempDir()
	put(t, root, "notes/SKILL.md", text("notes", "Takes notes.", ""))
	put(t, root, "plain/SKILL.md", text("plain", "Says it plainly.", ""))
	off := ""
	l, err := Open(Config{Roots: []string{root}, IsOff: func(name string) bool { return name == off }})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.List()); n != 2 {
		t.Fatalf("%d skills", n)
	}
	off = "notes"
	_, found := l.Find("notes")
	_, loaded := l.Load(t.Context(), "notes")
	if list := l.List(); len(list) != 1 || list[0].Name != "plain" || found || !errors.Is(loaded, ErrNotFound) || strings.Contains(l.Overview(0).Text, "notes") {
		t.Errorf("notes is switched off: %v, found %v, loaded %v", list, found, loaded)
	}
	if list := l.Off(); len(list) != 1 || list[0].Name != "notes" {
		t.Errorf("off: %v", list)
	}
}

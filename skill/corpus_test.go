package skill

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// Published skills are found wanting if, and only if, the reference validator of
// the standard says so, and have the names and descriptions that it reads.
//
// Two things would differ on purpose, and none of these skills has them: label and
// category, which Troupe knows and the validator does not; and aliases, which the
// validator reads and Troupe refuses.
func TestPublishedSkillsAreJudgedAsTheReferenceValidatorDoes(t *testing.T) {
	t.Attr("FR", "FR-012 FR-012a")
	dir := corpus.Path(t, "skills")
	l := open(t, dir)
	wanting := make(map[string]string)
	for _, f := range l.Findings() {
		wanting[f.File] += f.Code + " "
	}
	byPath := make(map[string]Skill)
	for _, s := range l.List() {
		byPath[strings.TrimPrefix(s.Path, "{skills}/")] = s
	}
	expected, err := os.Open(filepath.Join(dir, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer expected.Close()
	count, bad := 0, 0
	lines := bufio.NewScanner(expected)
	for lines.Scan() {
		var want struct {
			File, Name, Description string
			Errors                  []string `json:"skills_ref_errors"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		count++
		bad += min(1, len(want.Errors))
		file := strings.TrimPrefix(want.File, "skills/")
		if found := wanting[filepath.ToSlash(filepath.Join(dir, file))]; (found != "") != (len(want.Errors) > 0) {
			t.Errorf("%s: found %q, and the validator says %q", file, found, want.Errors)
		}
		if got := byPath[file]; got.Name != want.Name || got.Description != strings.Join(strings.Fields(want.Description), " ") {
			t.Errorf("%s: %+v", file, got)
		}
	}
	if lines.Err() != nil || count < 200 || count != len(byPath) {
		t.Errorf("%d skills, %d found: %v", count, len(byPath), lines.Err())
	}
	t.Logf("%d skills, %d of them wanting", count, bad)
}

func TestPublishedSkillsLoad(t *testing.T) {
	t.Attr("FR", "FR-012b FR-013")
	l := open(t, corpus.Path(t, "skills"))
	for _, s := range l.List() {
		if doc := load(t, l, s.Name); doc.Content == "" || strings.HasPrefix(doc.Content, "---") || strings.Contains(doc.Content, "\nname: "+s.Name+"\n") {
			t.Errorf("%s: %.80q", s.Name, doc.Content)
		}
	}
}

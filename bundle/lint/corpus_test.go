package lint

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe/internal/corpus"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The findings of published trees are all known, and every error among them was
// looked at: the file that is missing is missing, or the YAML is none.
func TestLintOfPublishedTreesHasNoFalseErrors(t *testing.T) {
	golden, err := txtar.ParseFile("testdata/corpus.golden")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range golden.Files {
		t.Run(f.Name, func(t *testing.T) {
			start := time.Now()
			report := lint(t, corpus.Path(t, "bmad/"+f.Name), Options{})
			if *update {
				golden.Files[i].Data = []byte(summary(report))
				if err := os.WriteFile("testdata/corpus.golden", txtar.Format(golden), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(f.Data), summary(report)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			t.Logf("%d agents, %d workflows, %d tasks, %d skills, %d errors, %d warnings in %v", report.Agents, report.Workflows,
				report.Tasks, report.Skills, report.Errors(), len(report.Findings)-report.Errors(), time.Since(start).Round(time.Millisecond))
		})
	}
}

// Skills are found wanting if, and only if, the reference validator says so.
func TestLintAgreesWithTheReferenceValidatorOfSkills(t *testing.T) {
	root := corpus.Path(t, "skills")
	wanting := make(map[string]bool)
	for _, f := range lint(t, root, Options{}).Findings {
		if strings.HasPrefix(f.Code, "skill-") {
			wanting[f.File] = true
		}
	}
	expected, err := os.Open(filepath.Join(root, "expected.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer expected.Close()
	count := 0
	lines := bufio.NewScanner(expected)
	for lines.Scan() {
		var skill struct {
			File   string
			Errors []string `json:"skills_ref_errors"`
		}
		if err := json.Unmarshal(lines.Bytes(), &skill); err != nil {
			t.Fatal(err)
		}
		count++
		if file := strings.TrimPrefix(skill.File, "skills/"); wanting[file] != (len(skill.Errors) > 0) {
			t.Errorf("%s: found wanting is %v, and the validator says %q", file, wanting[file], skill.Errors)
		}
	}
	if lines.Err() != nil || count < 200 {
		t.Errorf("%d skills: %v", count, lines.Err())
	}
}

func BenchmarkLint(b *testing.B) {
	for _, tree := range []string{"v4", "v6-alpha0-source", "v6-alpha5-installed", "v6.0.4-source"} {
		b.Run(tree, func(b *testing.B) {
			dir := corpus.Path(b, "bmad/"+tree)
			b.ReportAllocs()
			for b.Loop() {
				lint(b, dir, Options{})
			}
		})
	}
}

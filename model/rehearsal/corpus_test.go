package rehearsal

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

func slurp(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// realWorkflow is what execute_workflow would return for a workflow of the corpus, read without a YAML parser: the
// values at the top level are all that a rehearsal needs.
func realWorkflow(t *testing.T, dir string) map[string]any {
	t.Helper()
	config := map[string]any{"user_name": "Robin", "date": "2025-01-02", "output_folder": "{project-root}/docs"}
	for line := range strings.Lines(slurp(t, filepath.Join(dir, "workflow.yaml"))) {
		if m := valueLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && config[m[1]] == nil {
			config[m[1]] = m[2]
		}
	}
	instructions, _ := config["instructions"].(string)
	template := ""
	if name, _ := config["template"].(string); strings.HasSuffix(name, ".md") {
		template = slurp(t, filepath.Join(dir, filepath.Base(name)))
	}
	name, _ := config["name"].(string)
	return workflow(name, slurp(t, filepath.Join(dir, filepath.Base(instructions))), template, config)
}

func TestRealWorkflowsReachTheirEnd(t *testing.T) {
	modules := filepath.Join(corpus.Path(t, "bmad/v6-alpha0-source"), "src", "modules")
	for _, dir := range []string{
		"bmm/workflows/1-analysis/product-brief",
		"cis/workflows/brainstorming",
		"cis/workflows/storytelling",
	} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			play := func() (*stage, *dialogue) {
				s := &stage{workflows: map[string]map[string]any{intakePath: realWorkflow(t, filepath.Join(modules, dir))}}
				d := open(t, prompt, s.tools()...)
				last, ended := d.rehearse("*intake", 60)
				if !ended {
					t.Fatalf("it still asks:\n%s", last)
				}
				mustContain(t, last, "is complete", "Saved: {project-root}/docs/")
				return s, d
			}
			s, d := play()
			document := s.saved[s.order[0]]
			mustLack(t, document, "{{")
			again, _ := play()
			if !maps.Equal(s.saved, again.saved) {
				t.Error("a second rehearsal with the same answers wrote something else")
			}
			t.Logf("%d replies, %d saves, %d bytes in %s", len(d.replies), s.saves, len(document), s.order[0])
		})
	}
}

func isStepFileWorkflow(name string) bool {
	base := name[strings.LastIndex(name, "/")+1:]
	return strings.Contains(name, "/workflows/") && strings.HasPrefix(base, "workflow") && strings.HasSuffix(base, ".md") && !strings.Contains(base, "guide")
}

// TestEveryRealInstructionEnds plays every instruction file of the corpus, and every step-file workflow.
func TestEveryRealInstructionEnds(t *testing.T) {
	const turns = 150
	for _, tree := range []string{"v6-alpha0-source", "v6-alpha5-installed", "v6.0.4-source"} {
		t.Run(tree, func(t *testing.T) {
			t.Parallel()
			dir := corpus.Path(t, "bmad/"+tree)
			files := map[string]string{}
			var plays []string
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				name := "{bundle-root}/" + filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator)))
				if ext := filepath.Ext(path); ext == ".md" || ext == ".xml" {
					files[name] = slurp(t, path)
					_, inside, _ := strings.Cut(strings.Replace(name, "/modules/", "/", 1), "/src/")
					files["{project-root}/bmad/"+inside] = files[name]
					files["{project-root}/_bmad/"+inside] = files[name]
				}
				if strings.HasPrefix(filepath.Base(path), "instructions") || isStepFileWorkflow(name) {
					plays = append(plays, name)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			ended, questions, longest := 0, 0, 0
			for _, name := range slices.Sorted(slices.Values(plays)) {
				installed := name[:strings.LastIndex(name, "/")]
				s := &stage{files: files, workflows: map[string]map[string]any{}}
				s.workflows[intakePath] = workflow("intake", files[name], "", map[string]any{"installed_path": installed})
				first := "*intake"
				if !strings.Contains(name, "/instructions") {
					first = "*play"
				}
				d := open(t, prompt+"*play - Play it\n  Exec: "+name+"\n", s.tools()...)
				last, ok := d.rehearse(first, turns)
				questions += len(d.replies) - 1
				longest = max(longest, len(d.replies))
				if ok && (strings.Contains(last, "is complete") || strings.Contains(last, " ended early, ")) {
					ended++
				} else {
					t.Errorf("%s did not end: %s", name, last)
				}
			}
			t.Logf("%d of %d reach their end; %d questions in all, at most %d replies", ended, len(plays), questions, longest)
		})
	}
}

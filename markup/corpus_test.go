package markup

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A sample is one file of the corpus. Its name is relative to the corpus.
type sample struct{ name, src string }

// samples returns the files below a directory of the corpus whose names satisfy match, or skips the test.
func samples(t *testing.T, dir string, match func(name string) bool) []sample {
	t.Helper()
	root := corpus.Path(t, ".")
	var found []sample
	err := fs.WalkDir(os.DirFS(root), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !match(name) {
			return err
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		found = append(found, sample{name, string(src)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file of %s matches", dir)
	}
	return found
}

const (
	alpha0 = "bmad/v6-alpha0-source"
	alpha5 = "bmad/v6-alpha5-installed"
	v604   = "bmad/v6.0.4-source"
)

func isMarkup(name string) bool { return path.Ext(name) == ".md" || path.Ext(name) == ".xml" }
func isInstructions(name string) bool {
	return isMarkup(name) && strings.HasPrefix(path.Base(name), "instructions")
}
func isTask(name string) bool { return isMarkup(name) && strings.Contains(name, "/tasks/") }
func isAgent(name string) bool {
	return isMarkup(name) && path.Base(path.Dir(name)) == "agents" && path.Base(name) != "README.md"
}

func TestCorpusParses(t *testing.T) {
	kept := map[string]bool{".md": true, ".xml": true, ".txt": true, ".yaml": true}
	files := samples(t, "bmad", func(name string) bool { return kept[path.Ext(name)] })
	files = append(files, samples(t, "attacks", func(name string) bool { return path.Ext(name) == ".txt" })...)
	for _, f := range files {
		checkTree(t, f.src, Options{})
		checkTree(t, f.src, Options{Known: IsTaskTag})
		if _, err := Parse([]byte(f.src), Options{}); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	t.Logf("%d files", len(files))
}

func TestCorpusTagCounts(t *testing.T) {
	if n := len(samples(t, alpha0, isAgent)); n != 19 {
		t.Errorf("%d agents", n)
	}
	if n := len(samples(t, alpha0, func(name string) bool { return path.Base(name) == "workflow.yaml" })); n != 29 {
		t.Errorf("%d workflows", n)
	}
	files := samples(t, alpha0, isInstructions)
	if len(files) != 38 {
		t.Errorf("%d instructions", len(files))
	}
	bare, wrapped := map[string]int{}, map[string]int{}
	for _, f := range files {
		counts := bare
		for n := range mustParse(t, f.src, Options{}).Root.Descendants() {
			switch {
			case n.Kind == Element:
				counts[n.Name]++
			case strings.HasPrefix(n.Raw(), "```xml") && n.Kind == Aside:
				counts = wrapped
			}
		}
	}
	// The published counts leave out the eight files that stand in a fence as a whole. They also leave out two
	// steps with a template-output each, which a fence that was never closed hides from a plain search.
	for name, want := range map[string][2]int{
		"action": {611, 179}, "template-output": {473 + 2, 31}, "step": {314 + 2, 67}, "ask": {241, 15},
		"critical": {140, 31}, "check": {135, 35}, "goto": {27, 3}, "elicit-required": {31, 2},
		"invoke-workflow": {8, 3}, "invoke-task": {4, 5},
	} {
		if got := [2]int{bare[name], wrapped[name]}; got != want {
			t.Errorf("%s: %v bare and wrapped, want %v", name, got, want)
		}
	}
}

func TestCorpusStepsAreAllFound(t *testing.T) {
	plain := regexp.MustCompile(`(?m)^\s*(?:</step>\s*)?<step\s`)
	hidden := regexp.MustCompile("(?ms)^ *```xml\n<!-- Intent-based.*?^ *```$") // an example that shows a step
	for _, dir := range []string{alpha0, alpha5, v604} {
		for _, f := range samples(t, dir, isInstructions) {
			steps := mustParse(t, f.src, Options{Known: IsInstructionTag}).Root.Named("step")
			want := len(plain.FindAllString(hidden.ReplaceAllString(f.src, ""), -1))
			if len(steps) != want {
				t.Errorf("%s: %d steps, a plain search finds %d", f.name, len(steps), want)
			}
			for _, s := range steps {
				if n, ok := s.Attr("n"); !ok || s.Unclosed || !strings.Contains(s.Raw(), n) {
					t.Errorf("%s:%d: step is not whole", f.name, s.Line)
				}
			}
		}
	}
}

func TestCorpusCommandsAreAllFound(t *testing.T) {
	command := regexp.MustCompile(`<(?:c|item) (cmd="[^>]*")>`)
	attr := regexp.MustCompile(`([\w-]+)="([^"]*)"`)
	mention := regexp.MustCompile(`(?:run-workflow|workflow|exec|action|data|tmpl)="`)
	total, handled, mentioned := 0, 0, 0
	for _, f := range slices.Concat(samples(t, alpha0, isAgent), samples(t, alpha5, isAgent)) {
		doc := mustParse(t, f.src, Options{Known: IsAgentTag})
		commands := slices.Concat(doc.Root.All("agent", "cmds", "c"), doc.Root.All("agent", "menu", "item"))
		plain := command.FindAllStringSubmatch(f.src, -1)
		if len(commands) != len(plain) || len(plain) == 0 {
			t.Errorf("%s: %d commands, a plain search finds %d", f.name, len(commands), len(plain))
			continue
		}
		for i, c := range commands {
			var attrs [][2]string
			for _, a := range attr.FindAllStringSubmatch(plain[i][1], -1) {
				attrs = append(attrs, [2]string{a[1], a[2]})
			}
			var got [][2]string
			for _, a := range c.Attrs {
				got = append(got, [2]string{a.Name, a.Raw})
			}
			if !slices.Equal(got, attrs) || c.Text() == "" {
				t.Errorf("%s:%d: attributes %v, want %v", f.name, c.Line, got, attrs)
			}
			handled += len(attrs) - 1
		}
		total += len(commands)
		mentioned += len(mention.FindAllString(f.src, -1))
	}
	if total != 103+107 || mentioned <= handled {
		t.Errorf("%d commands; %d handlers, %d with those that are only mentioned", total, handled, mentioned)
	}
	t.Logf("%d commands with %d handlers; a search without scope finds %d more", total, handled, mentioned-handled)
}

func TestCorpusAgentsAreWhole(t *testing.T) {
	for _, f := range slices.Concat(samples(t, alpha0, isAgent), samples(t, alpha5, isAgent)) {
		doc := mustParse(t, f.src, Options{})
		agents := doc.Root.All("agent")
		if len(agents) != 1 || len(doc.Root.Named("agent")) != 1 || len(doc.Problems) > 0 {
			t.Errorf("%s: %d agents, problems %v", f.name, len(agents), doc.Problems)
			continue
		}
		for _, name := range []string{"role", "identity", "communication_style"} {
			if agents[0].Find("persona", name).Text() == "" {
				t.Errorf("%s: no %s", f.name, name)
			}
		}
		for n := range doc.Root.Descendants() {
			if n.Kind == Element && !IsAgentTag(n.Name) {
				t.Errorf("%s:%d: <%s> is not in the set of agent tags", f.name, n.Line, n.Name)
			}
		}
	}
}

func TestCorpusNamesAreKnown(t *testing.T) {
	unknown := map[string]bool{}
	for _, dir := range []string{alpha0, alpha5, v604} {
		for _, f := range samples(t, dir, func(name string) bool { return isInstructions(name) || isTask(name) }) {
			known := IsInstructionTag
			if isTask(f.name) {
				known = IsTaskTag
			}
			for n := range mustParse(t, f.src, Options{}).Root.Descendants() {
				if n.Kind == Element && !known(n.Name) {
					unknown[n.Name] = true
				}
			}
		}
	}
	want := []string{"cmds", "epic", "menu", "narrative-workflow-critical", "narrative-workflow-recommended", "story"}
	if got := slices.Sorted(maps.Keys(unknown)); !slices.Equal(got, want) {
		t.Errorf("unknown names %q, want only the placeholders %q", got, want)
	}
}

func TestCorpusFencesAndFrontMatter(t *testing.T) {
	for _, f := range samples(t, "bmad/v4/bmad-core/agents", isMarkup) {
		fences := Fences([]byte(f.src))
		if len(fences) != 1 || fences[0].Language != "yaml" || !fences[0].Closed || !strings.Contains(string(fences[0].Content), "\npersona:\n") {
			t.Errorf("%s: fences %v", f.name, fences)
		}
	}
	steps, without := 0, 0
	for _, f := range samples(t, v604, func(name string) bool { return strings.HasPrefix(path.Base(name), "step-") && isMarkup(name) }) {
		steps++
		if yaml, _, _ := FrontMatter([]byte(f.src)); yaml == nil {
			without++
		}
	}
	if steps != 117 || without != 56 {
		t.Errorf("%d of %d steps have no front matter", without, steps)
	}
}

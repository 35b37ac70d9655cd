package rehearse_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/project/rehearse"
)

// A shelf is the files of a published tree by their names, read by rules of its own: it
// knows nothing of how bundles are read.
type shelf map[string]string

func newShelf(t *testing.T, dir string) shelf {
	t.Helper()
	s := shelf{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = fs.ReadFile(os.DirFS(dir), name)
			s[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// spelled is what stands before the part of a path that all spellings have in common.
var spelled = regexp.MustCompile(`^(?:\{[\w.-]+\}/|\.{1,2}/)*(?:_bmad|\.bmad|bmad|src/modules)?/?`)

// named returns the files that a path can mean: those whose names end as it does.
func (s shelf) named(written string) []string {
	written = strings.Replace(written, "{core-root}/", "core/", 1)
	tail := "/" + strings.TrimPrefix(spelled.ReplaceAllString(strings.TrimSpace(written), ""), "/")
	var found []string
	for name := range s {
		if strings.HasSuffix("/"+name, tail) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

var (
	frontStep  = regexp.MustCompile(`(?m)^nextStep(?:File)?: *['"]?([^'"\s]+)`)
	plainStep  = regexp.MustCompile(`(?m)<step\s+n=["'][^"']+["']([^>]*)>`)
	firstStep  = regexp.MustCompile(`(step-0?1[\w-]*\.md)`)
	conditions = regexp.MustCompile(`\b(?:if|optional|for-each|repeat)=`)
)

// lastStep follows the front matter of step files from one on, and returns the last.
func (s shelf) lastStep(file string) string {
	for range 30 {
		m := frontStep.FindStringSubmatch(s[file])
		if m == nil {
			return file
		}
		next := path.Join(path.Dir(file), path.Base(m[1]))
		if s[next] == "" || next == file {
			return file
		}
		file = next
	}
	return file
}

// judge says why a report cannot be true, empty if it can.
func (s shelf) judge(r *rehearse.Report, c bundle.Command) string {
	target := c.Target
	if c.Kind == bundle.KindSkill {
		target = "/" + target + "/SKILL.md"
	}
	isFile := c.Kind == bundle.KindSkill || path.Ext(c.Target) != "" && !strings.ContainsAny(c.Target, " \n") && c.Kind != bundle.KindAction
	there := s.named(target)
	switch {
	case r.Result == rehearse.Unbegun:
		if c.Target != "todo" {
			return "it is written"
		}
	case r.Result == rehearse.DeadEnd:
		return s.judgeDeadEnds(r, len(there) == 0 && isFile)
	case r.Result == rehearse.Early:
		if r.Why == "" {
			return "it does not say why"
		}
	case !isFile:
	case s.movedTo(r, c):
	case len(there) == 0:
		return "there is no " + target
	case !slices.ContainsFunc(there, func(name string) bool { return slices.Contains(r.Read, name) }):
		return fmt.Sprintf("%s was not read, but %q", target, r.Read)
	case c.Kind != bundle.KindValidate:
		return cmp.Or(s.judgeTemplate(r, c), s.judgeComplete(r, path.Dir(there[0])))
	}
	return ""
}

var outputFile = regexp.MustCompile(`(?m)^    filename: *["']?([^"'\s]+)`)

// judgeTemplate wants a template that a command names to have been read, and the file to
// have been written that it is for.
func (s shelf) judgeTemplate(r *rehearse.Report, c bundle.Command) string {
	if c.Template == "" {
		return ""
	}
	there := s.named(c.Template)
	i := slices.IndexFunc(there, func(name string) bool { return slices.Contains(r.Read, name) })
	if i < 0 {
		return fmt.Sprintf("the template %s was not read, but %q", c.Template, r.Read)
	}
	m := outputFile.FindStringSubmatch(s[there[i]])
	if m != nil && !strings.Contains(m[1], "{") && !slices.Contains(r.Written, "{project-root}/"+m[1]) {
		return fmt.Sprintf("%s was not written, but %q", m[1], r.Written)
	}
	return ""
}

// beside returns the file that a relative name means in one of the files that were read.
func (s shelf) beside(read []string, name string) string {
	for _, file := range read {
		for _, dir := range []string{path.Dir(file), path.Dir(path.Dir(file))} {
			if at := path.Join(dir, name); s[at] != "" {
				return at
			}
		}
	}
	return ""
}

// movedTo says whether a file was read in the place of one that has moved: x/workflow.md
// for x.md, or a skill of a shorter name.
func (s shelf) movedTo(r *rehearse.Report, c bundle.Command) bool {
	stem := strings.TrimSuffix(path.Base(c.Target), path.Ext(c.Target))
	return slices.ContainsFunc(r.Read, func(name string) bool {
		return path.Base(path.Dir(name)) == stem || c.Kind == bundle.KindSkill && strings.HasPrefix(stem, path.Base(path.Dir(name)))
	})
}

// judgeDeadEnds wants each dead end to be about a file that the tree does not have.
func (s shelf) judgeDeadEnds(r *rehearse.Report, isMissing bool) string {
	for _, why := range r.DeadEnds {
		m := missing.FindStringSubmatch(why)
		if m == nil && !isMissing {
			return "a dead end that is none: " + why
		}
		switch {
		case m == nil:
		case strings.HasPrefix(m[1], "."):
			if found := s.beside(r.Read, m[1]); found != "" {
				return fmt.Sprintf("%s is there: %s", m[1], found)
			}
		default:
			if found := s.named(m[1]); len(found) > 0 {
				return fmt.Sprintf("%s is there: %q", m[1], found)
			}
		}
	}
	return ""
}

// judgeComplete wants all steps to have been played that nobody is asked about: those of
// the instructions in the command's own directory by their number, and step files to the
// last one.
func (s shelf) judgeComplete(r *rehearse.Report, home string) string {
	unconditional, last := 0, ""
	for _, name := range r.Read {
		count := 0
		for _, m := range plainStep.FindAllStringSubmatch(s[name], -1) {
			if !conditions.MatchString(m[1]) {
				count++
			}
		}
		if path.Dir(name) == home && strings.HasPrefix(path.Base(name), "instructions") && !strings.Contains(s[name], "<goto") {
			unconditional = max(unconditional, count)
		}
		if firstStep.MatchString(path.Base(name)) {
			last = s.lastStep(name)
		}
	}
	if r.Steps < unconditional {
		return fmt.Sprintf("%d steps were played of %d", r.Steps, unconditional)
	}
	if last != "" && !slices.Contains(r.Read, last) && len(r.Read) < 30 {
		return fmt.Sprintf("the last step %s was not read, but %q", last, r.Read)
	}
	return ""
}

// What a rehearsal says of all published trees is true by rules that know nothing of how
// it came to say it.
func TestRehearsalsOfPublishedTreesAreTrue(t *testing.T) {
	trees := []string{
		"installed-4.44", "v4", "installed-6.0.0-alpha.0", "v6-alpha5-installed", "v6-alpha15-compiled", "installed-6.0.4", "installed-6.1.0",
		"installed-6.2.2", "installed-6.3.0", "installed-6.5.0", "installed-6.12.0",
	}
	if testing.Short() || raceEnabled {
		trees = trees[:3]
		t.Log("the other trees are left to runs without the race detector")
	}
	for _, tree := range trees {
		t.Run(tree, func(t *testing.T) {
			dir := corpus.Path(t, "bmad/"+tree)
			files := newShelf(t, dir)
			catalog, theatre := open(t, dir)
			definitions, _ := catalog.Definitions()
			var scenes []rehearse.Scene
			for _, d := range definitions {
				for _, c := range d.Commands {
					scenes = append(scenes, rehearse.Scene{Agent: d, Command: c})
				}
			}
			reports, err := theatre.PlayAll(t.Context(), scenes)
			if err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			for i := range reports {
				count[reports[i].Result]++
				if why := files.judge(&reports[i], scenes[i].Command); why != "" {
					t.Errorf("%s %s is said to be %s: %s", reports[i].Agent, reports[i].Command, reports[i].Result, why)
				}
			}
			t.Log(count)
		})
	}
}

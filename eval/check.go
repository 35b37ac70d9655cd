package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/answer"
	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/words"
)

// kinds are the keys that a check has set.
func (c *Check) kinds() (set []string) {
	for _, k := range []struct {
		name string
		is   bool
	}{
		{"text", c.Text != nil}, {"contains", c.Contains != ""}, {"not_contains", c.NotContains != ""}, {"pattern", c.Pattern != ""}, {"not_pattern", c.NotPattern != ""},
		{"schema", c.Schema != nil}, {"schema_file", c.SchemaFile != ""}, {"tools", c.Tools != nil}, {"no_tools", c.NoTools != nil},
		{"file", c.File != nil}, {"budget", c.Budget != nil}, {"stop", c.Stop != ""}, {"judge", c.Judge != nil},
	} {
		if k.is {
			set = append(set, k.name)
		}
	}
	return set
}

// Kind is the check's one key.
func (c *Check) Kind() string { return c.kinds()[0] }

// prepare makes a check ready to be used.
func (c *Check) prepare(dir string) (err error) {
	switch kinds := c.kinds(); {
	case len(kinds) == 0:
		return errors.New("a check says what must be true: text, contains, not_contains, pattern, not_pattern, schema, schema_file, tools, no_tools, file, budget, stop or judge")
	case len(kinds) > 1:
		return fmt.Errorf("a check has one key, not %s: write one check for each", strings.Join(kinds, " and "))
	}
	switch {
	case c.Pattern != "":
		c.pattern, err = regexp.Compile(c.Pattern)
	case c.NotPattern != "":
		c.pattern, err = regexp.Compile(c.NotPattern)
	case c.File != nil:
		if _, err := path.Match(c.File.Name, "x"); err != nil || c.File.Name == "" {
			return errors.New("file: name is a pattern such as decision-*.md")
		}
		if c.File.Pattern != "" {
			c.File.pattern, err = regexp.Compile(c.File.Pattern)
		}
	case c.Judge != nil && strings.TrimSpace(c.Judge.Rubric) == "" && c.Judge.Agent == "":
		return errors.New("judge: a rubric says what a good answer is")
	case c.Schema != nil || c.SchemaFile != "":
		err = c.compile(dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Kind(), err)
	}
	return nil
}

func (c *Check) compile(dir string) error {
	data, err := json.Marshal(c.Schema)
	if c.SchemaFile != "" {
		data, err = os.ReadFile(filepath.Join(dir, c.SchemaFile))
	}
	if err != nil {
		return err
	}
	c.schema, err = argcheck.Compile(data)
	return err
}

// verdict says what is wrong, empty if nothing is. Judges are asked elsewhere.
func (c *Check) verdict(p *Played) string {
	switch {
	case c.Text != nil:
		if got, want := strings.TrimSpace(p.Answer), strings.TrimSpace(*c.Text); got != want {
			return fmt.Sprintf("the answer is %q, not %q", shortened(got), shortened(want))
		}
	case c.Contains != "":
		if !strings.Contains(p.Answer, c.Contains) {
			return fmt.Sprintf("the answer does not contain %q: %q", c.Contains, shortened(p.Answer))
		}
	case c.NotContains != "":
		if strings.Contains(p.Answer, c.NotContains) {
			return fmt.Sprintf("the answer contains %q", c.NotContains)
		}
	case c.Pattern != "":
		if !c.pattern.MatchString(p.Answer) {
			return fmt.Sprintf("the answer does not match %s: %q", c.Pattern, shortened(p.Answer))
		}
	case c.NotPattern != "":
		if found := c.pattern.FindString(p.Answer); found != "" {
			return fmt.Sprintf("the answer matches %s: %q", c.NotPattern, shortened(found))
		}
	case c.schema != nil:
		return c.fits(p.Answer)
	case c.Tools != nil:
		return inOrder(c.Tools, p.Tools)
	case c.NoTools != nil:
		for _, tool := range c.NoTools {
			if slices.ContainsFunc(p.Tools, func(called string) bool { return called == tool }) {
				return tool + " was called"
			}
		}
	case c.File != nil:
		return c.File.verdict(p)
	case c.Budget != nil:
		return c.Budget.verdict(p)
	case c.Stop != "":
		if p.Stop != c.Stop {
			return fmt.Sprintf("it stopped with %q, not %q", p.Stop, c.Stop)
		}
	}
	return ""
}

// maxShown is how much of a text a reason shows, in runes.
const maxShown = 300

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

// fits checks the one JSON value in an answer.
func (c *Check) fits(text string) string {
	if _, err := answer.Read(text, c.schema); err != nil {
		return err.Error()
	}
	return ""
}

// inOrder looks for tools among those that were called, in order.
func inOrder(wanted, called []string) string {
	rest := called
	for _, tool := range wanted {
		i := slices.Index(rest, tool)
		if i < 0 {
			return fmt.Sprintf("%s was not called, or not in this order: %s; called were %s", tool, strings.Join(wanted, ", "), orNothing(called))
		}
		rest = rest[i+1:]
	}
	return ""
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func (f *FileCheck) verdict(p *Played) string {
	var names []string
	for name, content := range p.Files {
		names = append(names, name)
		if ok, _ := path.Match(f.Name, path.Base(name)); !ok {
			continue
		}
		switch {
		case f.Contains != "" && !strings.Contains(content, f.Contains):
			return fmt.Sprintf("%s does not contain %q", name, f.Contains)
		case f.pattern != nil && !f.pattern.MatchString(content):
			return fmt.Sprintf("%s does not match %s", name, f.Pattern)
		}
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("no file %s was saved; saved were %s", f.Name, orNothing(names))
}

func (b *Budget) verdict(p *Played) string {
	var over []string
	add := func(is bool, format string, args ...any) {
		if is {
			over = append(over, fmt.Sprintf(format, args...))
		}
	}
	s := p.Spent
	add(b.Cost > 0 && s.Cost > b.Cost, "it cost $%.4f, more than %s", s.Cost, words.Dollars(b.Cost))
	add(b.Tokens > 0 && s.Usage.Total() > b.Tokens, "it took %d tokens, more than %d", s.Usage.Total(), b.Tokens)
	add(b.Turns > 0 && s.Turns > b.Turns, "it took %d turns, more than %d", s.Turns, b.Turns)
	add(b.ToolCalls > 0 && s.ToolCalls > b.ToolCalls, "it called tools %d times, more than %d", s.ToolCalls, b.ToolCalls)
	add(b.Time > 0 && p.Time > b.Time, "it took %v, longer than %v", p.Time, b.Time)
	return strings.Join(over, "; ")
}

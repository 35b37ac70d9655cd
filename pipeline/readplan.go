package pipeline

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A stepError is about one step of a plan, by its index.
type stepError struct {
	step int
	text string
}

func (e *stepError) Error() string { return "plan: " + e.text }

// ReadPlan reads a plan from YAML and says what is wrong with it: at which line, and what
// to do about it.
func ReadPlan(data []byte) (*Plan, error) {
	text := string(data)
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, brokenYAML(text, err)
	}
	var p Plan
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil && document.Kind != 0 { // of nothing there is no end
		return nil, wrongFields(err)
	}
	var second yaml.Node
	if decoder.Decode(&second) == nil {
		return nil, fmt.Errorf("plan: line %d: the plan ends at '---'. Take that line out", second.Line)
	}
	err := p.Check()
	if wrong, ok := errors.AsType[*stepError](err); ok {
		if line := stepLine(&document, wrong.step); line > 0 {
			return nil, fmt.Errorf("plan: line %d: %s", line, wrong.text)
		}
	}
	return &p, err
}

// stepLine is the line at which a step begins, 0 where that is not known.
func stepLine(document *yaml.Node, step int) int {
	if len(document.Content) == 0 {
		return 0
	}
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if steps := fields[i+1].Content; fields[i].Value == "steps" && step < len(steps) {
			return steps[step].Line
		}
	}
	return 0
}

// maxLinesTried bounds how long a broken line is looked for.
const maxLinesTried = 2000

// brokenYAML says which line cannot be read. The parser names the line at which the part
// begins that it was reading, which may be far above: the true one is that after the most
// lines that can be read.
func brokenYAML(text string, err error) error {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > maxLinesTried {
		return fmt.Errorf("plan: %w", err)
	}
	broken := 1
	for n := len(lines) - 1; n > 0; n-- {
		if yaml.Unmarshal([]byte(strings.Join(lines[:n], "")), &yaml.Node{}) == nil {
			broken = n + 1
			break
		}
	}
	line := strings.TrimRight(lines[broken-1], "\r\n")
	return fmt.Errorf("plan: line %d: %q cannot be read. %s", broken, clipText(line, 80), yamlRemedy(line, err.Error()))
}

var (
	twoColons   = regexp.MustCompile(`^\s*(?:- )?[\w-]+:\s+[^"'|>\[{].*:(?:\s|$)`)
	oddStart    = regexp.MustCompile("^\\s*(?:- )?[\\w-]+:\\s+[@`%*&!{}\\],]")
	dashAtOnce  = regexp.MustCompile(`^\s*-[^\s-]`)
	openBracket = regexp.MustCompile(`[\[{][^\]}]*$`)
)

// yamlRemedy says what to do about a line that cannot be read.
func yamlRemedy(line, problem string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(indent, "\t"):
		return "Indent it with spaces, not with a tab"
	case strings.Count(line, `"`)%2 == 1:
		return "A quote is opened in it and not closed"
	case twoColons.MatchString(line):
		return "A text with a colon in it needs quotes: title: \"First: the beginning\""
	case oddStart.MatchString(line):
		return "A text that begins with such a sign needs quotes"
	case dashAtOnce.MatchString(line):
		return "After the dash of a step comes a space"
	case openBracket.MatchString(line):
		return "A bracket is opened in it and not closed"
	case strings.Contains(problem, "indicator"), strings.Contains(problem, "expected key"), strings.Contains(problem, "mapping values"), strings.Contains(problem, "could not find"):
		return "Indent it as far as the fields of the step above it"
	}
	return "The parser says: " + strings.TrimPrefix(problem, "yaml: ")
}

var (
	unknownField = regexp.MustCompile(`^line (\d+): field (.*) not found in type pipeline\.(Plan|PlanStep)$`)
	wrongType    = regexp.MustCompile("^line (\\d+): cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.*)$")
)

// wrongFields says what is wrong with a plan that is YAML, and none of ours.
func wrongFields(err error) error {
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return fmt.Errorf("plan: %w", err)
	}
	var said []string
	for _, problem := range wrong.Errors {
		if m := unknownField.FindStringSubmatch(problem); m != nil {
			fields := "a step has id, title, goal, files, depends_on, acceptance, checks and status"
			if m[3] == "Plan" {
				fields = "a plan has steps"
			}
			problem = fmt.Sprintf("line %s: there is no field %q; %s", m[1], m[2], fields)
		} else if m := wrongType.FindStringSubmatch(problem); m != nil {
			problem = "line " + m[1] + ": " + wanted(m[3], m[4])
		}
		said = append(said, problem)
	}
	return errors.New("plan: " + strings.Join(said, "; "))
}

// wanted says what belongs in a field in place of a value.
func wanted(value, kind string) string {
	given := "this"
	if value != "" {
		given = strconv.Quote(value)
	}
	switch kind {
	case "[]string":
		return fmt.Sprintf("a list is wanted, and %s is none: write it in brackets", given)
	case "int":
		return fmt.Sprintf("a number is wanted, and %s is none", given)
	case "string":
		return fmt.Sprintf("a text is wanted, and %s is none: write it in quotes", given)
	case "pipeline.Plan":
		return "a plan begins with the line 'steps:', and its steps stand below it"
	case "pipeline.PlanStep", "[]pipeline.PlanStep":
		return "each step begins with a dash and has fields: - title: What is to be done"
	}
	return fmt.Sprintf("%s does not belong here", given)
}

package laxyaml

import (
	"regexp"
	"strings"
)

var (
	// proseItem is an item of a list, or a key, with a text behind it.
	proseItem = regexp.MustCompile(`^( *)(- +(?:[\w .-]+: +)?|[\w.-]+: +)([^\s"'|>{\[&*!].*)$`)
	// proseLine is a line that goes on with a text: it is numbered, or begins with what
	// begins nothing in YAML.
	proseLine = regexp.MustCompile("^ +(?:\\d+[.)] |[`(*•→✅❌⚠]|[A-Z][^:]*$)")
)

// foldProse joins the lines of a text that its author has indented below an item without
// saying that it is one:
//
//   - STEP 3: Read these files in order:
//     1. Read `a.md` (first)
//     2. Read `b.md`
//
// The text is one value, with its line breaks, and the numbers of lines stay.
func foldProse(src []byte) (folded []byte, changed []int) {
	lines := strings.SplitAfter(string(src), "\n")
	for i := 0; i < len(lines); i++ {
		m := proseItem.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && indentOf(lines[end]) > len(m[1]) && proseLine.MatchString(strings.TrimRight(lines[end], "\r\n")) {
			end++
		}
		if end == i+1 {
			continue
		}
		text := m[3]
		for j := i + 1; j < end; j++ {
			text += "\n" + strings.TrimSpace(lines[j])
			lines[j] = "\n"
		}
		lines[i] = m[1] + m[2] + quoted(text) + "\n"
		changed = append(changed, i+1)
		i = end - 1
	}
	return []byte(strings.Join(lines, "")), changed
}

// quoted writes a text in double quotes on one line.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

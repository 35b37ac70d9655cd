package checks

import (
	"fmt"
	"slices"
	"strings"
)

// maxFeedback is how much an agent is told of one failure, in bytes.
const maxFeedback = 16 << 10

// Feedback says what went wrong, with the lines of code that are meant. Read returns a
// file as it is now, empty where there is none.
func (o *Outcome) Feedback(read func(path string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The check %q (%s) failed with exit code %d.\n", o.Name, o.Command, o.Exit)
	if len(o.Failing) > 0 {
		fmt.Fprintf(&b, "Tests that fail: %s\n", strings.Join(o.Failing[:min(len(o.Failing), 30)], ", "))
	}
	for _, d := range o.Diagnostics {
		fmt.Fprintf(&b, "\n%s\n", d)
		if b.Len() < maxFeedback/2 {
			b.WriteString(around(read(d.Path), d.Line))
		}
	}
	fmt.Fprintf(&b, "\nOutput:\n%s", o.Excerpt)
	text := b.String()
	if len(text) > maxFeedback {
		text = strings.ToValidUTF8(text[:maxFeedback], "") + "\n[cut]"
	}
	return text
}

// around shows a line and the ones before and after it.
func around(content string, line int) string {
	lines := strings.Split(content, "\n")
	if content == "" || line < 1 || line > len(lines) {
		return ""
	}
	var b strings.Builder
	for i := max(line-1, 1); i <= min(line+1, len(lines)); i++ {
		text := lines[i-1]
		fmt.Fprintf(&b, "%6d\t%s\n", i, strings.ToValidUTF8(text[:min(len(text), 200)], ""))
	}
	return b.String()
}

// Newly returns the tests that fail now and did not before, not even now and then. Where
// names are not known, a check that passed before and fails now is one.
func Newly(now, before Outcome) []string {
	if now.OK {
		return nil
	}
	if before.OK && len(before.Flaky) == 0 || len(now.Failing) == 0 && now.Exit != before.Exit {
		if len(now.Failing) == 0 {
			return []string{now.Name}
		}
		return now.Failing
	}
	known := map[string]bool{}
	for _, name := range slices.Concat(before.Failing, before.Flaky) {
		known[name] = true
	}
	var fresh []string
	for _, name := range now.Failing {
		if _, test := splitGoTest(name); !known[name] && !(test != "" && known[test]) { // deliveries begun earlier know names alone
			fresh = append(fresh, name)
		}
	}
	if len(now.Failing) == 0 && len(before.Failing)+len(before.Flaky) > 0 { // it does not even come to its tests
		fresh = append(fresh, now.Name)
	}
	return fresh
}

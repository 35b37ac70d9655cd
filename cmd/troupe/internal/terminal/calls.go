package terminal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// Calls follows tool calls, so that an outcome can be shown with what was asked.
// The zero Calls is ready for use.
type Calls struct{ open []openCall }

type openCall struct {
	id, line string
	since    time.Time
}

// maxSubject is how much of a call's arguments is shown, in cells.
const maxSubject = 70

// Note takes an event into account. Of a call that has ended it returns a line that
// says so.
func (c *Calls) Note(e *troupe.Event) (line string, ended bool) {
	switch b := e.Body.(type) {
	case *troupe.ToolCalled:
		line := b.Tool
		if subject := subjectOf(string(b.Arguments)); subject != "" {
			line += " " + subject
		}
		if e.Parent != "" {
			line = e.Agent + ": " + line
		}
		c.open = slices.DeleteFunc(c.open, func(o openCall) bool { return o.id == e.Run+b.CallID }) // one that asked, and is called again
		c.open = append(c.open, openCall{e.Run + b.CallID, OneLine(line, maxSubject+30), time.Now()})
	case *troupe.ToolReturned:
		i := slices.IndexFunc(c.open, func(o openCall) bool { return o.id == e.Run+b.CallID })
		if i < 0 {
			return "", false // one that an earlier run left open
		}
		line := c.open[i].line
		c.open = slices.Delete(c.open, i, i+1)
		if b.Class != "" {
			line = "✗ " + line + ": " + strings.ReplaceAll(string(b.Class), "_", " ")
			if b.Error != "" {
				line += ": " + OneLine(b.Error, 200)
			}
		}
		return line + " · " + Duration(b.Duration.Duration()), true
	}
	return "", false
}

// Open lists the calls that have not ended, with their time where that is long.
func (c *Calls) Open() []string {
	lines := make([]string, len(c.open))
	for i := range c.open {
		lines[i] = c.open[i].line
		if took := time.Since(c.open[i].since); took >= shownFrom {
			lines[i] += " · " + Seconds(took)
		}
	}
	return lines
}

// subjectOf returns what a call is about: the argument that names something, or
// all arguments where none is known to.
func subjectOf(arguments string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(arguments), &fields); err != nil {
		return OneLine(arguments, maxSubject)
	}
	for _, name := range []string{"file_path", "workflow_path", "path", "agent_id", "name", "query", "url"} {
		if text, ok := fields[name].(string); ok {
			return OneLine(text, maxSubject)
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, fmt.Sprintf("%s=%v", name, fields[name]))
	}
	return OneLine(strings.Join(all, " "), maxSubject)
}

// Duration shows a duration as people read it: two digits and a unit.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

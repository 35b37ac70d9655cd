package flows

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe/project/internal/config"
)

// Plan draws a flow as a tree. Details says more of an agent on its line.
func (m *Maker) Plan(name string, details func(agent string) string) string {
	flow := m.Flows[name]
	root := m.plan(name, "", &flow, details)
	var b strings.Builder
	root.draw(&b, "", "")
	return b.String()
}

// A branch is a line of a plan with what stands below it.
type branch struct {
	text string
	next []branch
}

func (t *branch) draw(b *strings.Builder, first, rest string) {
	b.WriteString(first + t.text + "\n")
	for i := range t.next {
		if i == len(t.next)-1 {
			t.next[i].draw(b, rest+"└─ ", rest+"   ")
		} else {
			t.next[i].draw(b, rest+"├─ ", rest+"│  ")
		}
	}
}

func (m *Maker) plan(name, role string, f *config.Flow, details func(string) string) branch {
	t := branch{text: fmt.Sprintf("%s%s (%s)", role, name, manner(f))}
	agent := func(role, id string) {
		t.next = append(t.next, branch{text: role + withDetails(id, details)})
	}
	if f.Agent != "" {
		agent("", f.Agent)
	}
	if f.Manager != "" {
		agent("manager: ", f.Manager)
	}
	for _, id := range f.Team {
		agent("", id)
	}
	role = ""
	if f.Kind() == "agent" {
		role = "as a tool: "
	}
	for i, part := range members(f) {
		inner := InnerName(name, i, part)
		other, isFlow := m.Flows[part.Name]
		switch {
		case part.Flow != nil:
			t.next = append(t.next, m.plan(inner, role, part.Flow, details))
		case isFlow:
			t.next = append(t.next, m.plan(inner, role, &other, details))
		default:
			agent(role, part.Name)
		}
	}
	if f.Check != "" {
		agent("check: ", f.Check)
	}
	return t
}

func withDetails(id string, details func(string) string) string {
	if more := details(id); more != "" {
		return id + "  " + more
	}
	return id
}

// manner says how a flow runs its parts.
func manner(f *config.Flow) string {
	text := strings.ReplaceAll(f.Kind(), "_", " ")
	add := func(condition bool, format string, args ...any) {
		if condition {
			text += ", " + fmt.Sprintf(format, args...)
		}
	}
	switch f.Kind() {
	case "sequence":
		add(f.ContinueOnError, "goes on when a part fails")
	case "parallel":
		add(f.Quorum == 1, "until one has succeeded")
		add(f.Quorum > 1, "until %d have succeeded", f.Quorum)
		add(f.MaxParallel > 0, "%d at a time", f.MaxParallel)
	case "team":
		add(true, "the first begins")
		add(f.MaxHandoffs > 0, "at most %d handoffs", f.MaxHandoffs)
	case "group_chat":
		add(f.Manager == "", "in turn")
		add(f.Plan, "with a plan")
		add(f.Turns > 0, "%d turns", f.Turns)
	case "loop":
		add(f.Until != "", "until the answer has %q", f.Until)
		add(f.MaxRounds > 0, "at most %d rounds", f.MaxRounds)
	case "agent":
		text = "an agent with experts"
	}
	return text
}

package troupetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// A Check examines the request that a [Turn] is to answer. It runs on the agent's
// goroutine, so it may call tb.Errorf but not tb.Fatal.
type Check func(tb testing.TB, req *troupe.Request)

// LastUser expects the latest message of the user to contain text.
func LastUser(text string) Check {
	return latest("message of the user", text, func(m *troupe.Message) bool { return m.Role == troupe.RoleUser })
}

// ToolResult expects the latest result of a tool to contain text.
func ToolResult(tool, text string) Check {
	return latest("result of "+tool, text, func(m *troupe.Message) bool { return m.Role == troupe.RoleTool && m.Tool == tool })
}

func latest(what, text string, is func(*troupe.Message) bool) Check {
	return func(tb testing.TB, req *troupe.Request) {
		tb.Helper()
		for _, m := range slices.Backward(req.Messages) {
			if is(m) {
				if !strings.Contains(m.Text, text) {
					tb.Errorf("the latest %s is %q, which does not contain %q", what, clip(m.Text), text)
				}
				return
			}
		}
		tb.Errorf("there is no %s in the request:\n%s", what, outline(req.Messages))
	}
}

// System expects the system message to contain text.
func System(text string) Check {
	return func(tb testing.TB, req *troupe.Request) {
		tb.Helper()
		if system := systemOf(req); !strings.Contains(system, text) {
			tb.Errorf("the system message is %q, which does not contain %q", clip(system), text)
		}
	}
}

// HasTool expects the request to offer a tool of this name.
func HasTool(name string) Check {
	return func(tb testing.TB, req *troupe.Request) {
		tb.Helper()
		if offered := toolNames(req); !slices.Contains(offered, name) {
			tb.Errorf("the tool %s is not offered; offered are %q", name, offered)
		}
	}
}

// NoTools expects the request to offer no tool at all.
func NoTools() Check {
	return func(tb testing.TB, req *troupe.Request) {
		tb.Helper()
		if offered := toolNames(req); len(offered) > 0 {
			tb.Errorf("no tool should be offered, and %q are", offered)
		}
	}
}

func toolNames(req *troupe.Request) []string {
	var names []string
	for _, spec := range req.Tools.Specs() {
		names = append(names, spec.Name)
	}
	return names
}

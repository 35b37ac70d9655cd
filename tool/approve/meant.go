package approve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/suggest"
)

// meant says why a rule can never match a call of the tools: because of a name that none of
// them has. A rule for several tools may look at an argument that only some of them have,
// and a pattern may be there for tools that are to come.
func (r *Rule) meant(tools []troupe.Tool) error {
	var names []string
	var fitting []*shape
	for _, tool := range tools {
		spec := tool.Spec()
		names = append(names, spec.Name)
		if matches(r.Tool, spec.Name) {
			fitting = append(fitting, shapeOf(&spec))
		}
	}
	isPattern := strings.ContainsAny(r.Tool, "*?")
	if len(fitting) == 0 {
		if isPattern {
			return nil
		}
		slices.Sort(names)
		return fmt.Errorf("there is no tool %s%s; there are %s", r.Tool, suggest.Hint(r.Tool, names), strings.Join(slices.Compact(names), ", "))
	}
	for _, argument := range slices.Sorted(maps.Keys(r.Where)) {
		if slices.ContainsFunc(fitting, func(s *shape) bool { return s.open || s.Properties[argument] != nil }) {
			continue
		}
		known := map[string]bool{}
		for _, s := range fitting {
			for name := range s.Properties {
				known[name] = true
			}
		}
		has := slices.Sorted(maps.Keys(known))
		hint := suggest.Hint(argument, has)
		if len(has) > 0 {
			hint += "; there are " + strings.Join(has, ", ")
		}
		if isPattern {
			return fmt.Errorf("no tool that %s means has an argument %s%s", r.Tool, argument, hint)
		}
		return fmt.Errorf("the tool %s has no argument %s%s", r.Tool, argument, hint)
	}
	return nil
}

// shapeOf returns what matters of a tool's schema. One that cannot be read is open.
func shapeOf(spec *troupe.ToolSpec) *shape {
	if len(spec.Input) == 0 {
		return &shape{} // a tool that takes no arguments
	}
	var schema *shape
	if json.Unmarshal(spec.Input, &schema) != nil || schema == nil {
		return &shape{open: true}
	}
	return schema
}

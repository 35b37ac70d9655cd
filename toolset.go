package troupe

import (
	"fmt"
	"strings"
)

// A ToolSet is the tools that an agent shows to its model, in the agent's order.
// It does not change: providers keep their encoding of it.
type ToolSet struct {
	specs   []ToolSpec
	tools   []Tool
	names   string // for messages to the model
	size    int
	encoded encoding
}

// NewToolSet checks the tools' names and schemas. It is for those who call a
// [Model] directly; an [Agent] makes its own.
func NewToolSet(tools ...Tool) (*ToolSet, error) {
	set := &ToolSet{tools: tools, specs: make([]ToolSpec, len(tools))}
	names := make([]string, len(tools))
	for i, tool := range tools {
		spec, err := checkedSpec(tool)
		if err != nil {
			return nil, err
		}
		if set.index(spec.Name) >= 0 {
			return nil, fmt.Errorf("tool %s is there twice", spec.Name)
		}
		set.specs[i] = spec
		names[i] = spec.Name
		set.size += len(spec.Name) + len(spec.Description) + len(spec.Input) + 40
	}
	set.names = strings.Join(names, ", ")
	return set, nil
}

// Specs returns the tools' descriptions. The caller must not change them.
func (s *ToolSet) Specs() []ToolSpec {
	if s == nil {
		return nil
	}
	return s.specs
}

// Len is the number of tools; a nil ToolSet has none.
func (s *ToolSet) Len() int { return len(s.Specs()) }

// Encoded returns the provider's encoding of the set, as [Message.Encoded] does.
func (s *ToolSet) Encoded(by any, encode func(*ToolSet) []byte) []byte {
	if data, ok := s.encoded.get(by); ok {
		return data
	}
	return s.encoded.set(by, encode(s))
}

// spec returns what a tool says of itself now, ready to check arguments with.
func (s *ToolSet) spec(i int) (*ToolSpec, error) {
	known := &s.specs[i]
	now := s.tools[i].Spec()
	if sameBytes(now.Input, known.Input) || len(now.Input) == 0 && sameBytes(known.Input, noArguments) {
		return known, nil
	}
	checked, err := checkedSpec(s.tools[i])
	if err != nil {
		return nil, err
	}
	return &checked, nil
}

// list names the tools for a message to the model.
func (s *ToolSet) list() string {
	if s.names == "" {
		return "none"
	}
	return s.names
}

func (s *ToolSet) index(name string) int {
	for i := range s.specs {
		if s.specs[i].Name == name {
			return i
		}
	}
	return -1
}

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Words has a tool that [New] made take its command as one text, too, as models write it:
// "npm test", or a list whose only word that is. The text is cut into words as a shell
// would, without one: what only a shell can do is refused. Put Words around the rules of
// package approve: they see the words that are run, however the model wrote them.
func Words(tool troupe.Tool) troupe.Tool {
	spec := tool.Spec()
	var schema map[string]any
	if json.Unmarshal(spec.Input, &schema) != nil {
		return tool
	}
	properties, _ := schema["properties"].(map[string]any)
	list, ok := properties["command"].(map[string]any)
	if !ok {
		return tool
	}
	one := map[string]any{"type": "string"}
	properties["command"] = map[string]any{"description": list["description"], "anyOf": []any{list, one}}
	delete(list, "description")
	input, err := json.Marshal(schema)
	if err != nil {
		return tool
	}
	spec.Input = input
	return &words{tool, spec}
}

type words struct {
	troupe.Tool
	spec troupe.ToolSpec
}

func (w *words) Spec() troupe.ToolSpec { return w.spec }

func (w *words) Call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	arguments, err := listed(in.Arguments)
	if err != nil {
		return troupe.Result{}, &troupe.ToolError{Class: "invalid_arguments", Message: err.Error()}
	}
	call := *in
	call.Arguments = arguments
	return w.Tool.Call(ctx, &call)
}

// listed returns arguments in which the command is a list of words.
func listed(arguments json.RawMessage) (json.RawMessage, error) {
	var in struct{ Command json.RawMessage }
	if json.Unmarshal(arguments, &in) != nil {
		return arguments, nil // which the tool complains of
	}
	text := ""
	var list []string
	if json.Unmarshal(in.Command, &list) == nil && len(list) == 1 {
		text = list[0]
	} else if json.Unmarshal(in.Command, &text) != nil {
		return arguments, nil
	}
	if list = nil; strings.HasPrefix(strings.TrimSpace(text), "[") && json.Unmarshal([]byte(text), &list) != nil {
		list = nil
	}
	if list == nil {
		var err error
		if list, err = split(text); err != nil {
			return nil, err
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &fields); err != nil {
		return arguments, nil
	}
	if _, exact := fields["command"]; !exact {
		return arguments, nil // Command, which rules refuse
	}
	written, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	fields["command"] = written
	return json.Marshal(fields)
}

// split cuts a command line into words. Quotes and backslashes mean what they mean to a
// shell; what else means something to it is an error, for there is none.
func split(line string) ([]string, error) {
	list := []string{}
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range strings.TrimSpace(line) {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote != '\'' && (r == '$' || r == '`'), quote == 0 && strings.ContainsRune("|&;<>()\n", r):
			return nil, fmt.Errorf("there is no shell here, and %q would need one: give one command at a time, as a list of words, with dir for the directory", r)
		case quote == 0 && (r == ' ' || r == '\t'):
			if inWord {
				list = append(list, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("the quotes in %.200q are not closed; give the command as a list of words", line)
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, nil
}

package openai

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TextCalls says what becomes of a call that a model writes into its text, because
// its server or its template does not know the model's way to call.
type TextCalls int

// What becomes of calls in text. None but calls of tools that were offered are ever
// carried out.
const (
	// TextCallsByModel carries them out if the text is nothing but <tool_call>
	// blocks, and with models known for it as TextCallsAlways does.
	TextCallsByModel TextCalls = iota
	// TextCallsAlways carries out all that can be read: also after other text, and in
	// the other forms that models use, among them a fence with a JSON call.
	TextCallsAlways
	// TextCallsNever leaves them in the text.
	TextCallsNever
)

// writesCalls knows models that are known to write calls into their text.
var writesCalls = regexp.MustCompile(`(?i)qwen|hermes|xlam|functionary|granite|gemma|llama-?3|phi-?[34]|devstral|mistral-nemo`)

// textCalls reads calls that are written into text.
type textCalls struct {
	tools    *troupe.ToolSet
	anywhere bool // not only where the text is nothing else, and in every form
	off      bool
}

func newTextCalls(mode TextCalls, model string, tools *troupe.ToolSet) textCalls {
	return textCalls{
		tools:    tools,
		anywhere: tools.Len() > 0 && (mode == TextCallsAlways || mode == TextCallsByModel && writesCalls.MatchString(model)),
		off:      tools.Len() == 0 || mode == TextCallsNever,
	}
}

const callTag = "<tool_call>"

// callMarks are what calls in text begin with. The first is the only one that is
// looked for in the text of models that are not known to write calls.
var callMarks = []string{callTag, "```json", "```tool_call", "```tool_code", "<function=", "[TOOL_CALLS]", "<|python_tag|>"}

func (c *textCalls) marks() []string {
	switch {
	case c.off:
		return nil
	case c.anywhere:
		return callMarks
	}
	return callMarks[:1]
}

// mayBegin reports whether it takes more text to know if text begins a call.
func (c *textCalls) mayBegin(text string) bool {
	for _, mark := range c.marks() {
		if len(text) < len(mark) && strings.HasPrefix(mark, text) {
			return true
		}
	}
	return false
}

// begins reports whether text begins with a call, as far as can be seen.
func (c *textCalls) begins(text string) bool {
	for _, mark := range c.marks() {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return c.anywhere && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "```\n{"))
}

// find returns where a call begins in text, or else how much of text is certain not
// to be the beginning of one.
func (c *textCalls) find(text string) (at int, found bool) {
	at = len(text)
	for _, mark := range c.marks() {
		if i := strings.Index(text, mark); i >= 0 && i < at {
			at, found = i, true
		}
	}
	if found {
		return at, true
	}
	for _, mark := range c.marks() {
		at = min(at, len(text)-wire.PartOf(text, mark))
	}
	return at, false
}

// callObject is how a call begins that is an object, or a list of them.
var callObject = regexp.MustCompile(`^\s*\[?\s*\{\s*"(name|function|arguments|parameters|type|id)"`)

// hopeless returns how much of text, which began like a call, is certain to be
// something else; 0 if it may yet be one. It is sure once more text would not change
// that.
func (c *textCalls) hopeless(text string) (n int, sure bool) {
	if !c.anywhere || strings.HasPrefix(text, callTag) || strings.HasPrefix(text, "<function=") {
		return 0, true
	}
	body, head := text, 0
	if strings.HasPrefix(text, "```") {
		line := strings.IndexByte(text, '\n')
		if line < 0 {
			return 0, false
		}
		body, head = text[line+1:], line+1
	}
	const enough = 64 // to see the first key
	switch {
	case head == 0 && body[0] != '{':
		return 0, true
	case len(body) < enough:
		return 0, false
	case callObject.MatchString(body[:enough]):
		return 0, true
	}
	return max(head, 1), true
}

var (
	callFence   = regexp.MustCompile("(?s)^```[a-z_]*[ \t]*\r?\n(.*?)\r?\n?```[ \t\r\n]*")
	callElement = regexp.MustCompile(`(?s)^<function=([\w.-]+)>(.*?)</function>\s*`)
	parameter   = regexp.MustCompile(`(?s)<parameter=([\w.-]+)>\r?\n?(.*?)\r?\n?</parameter>`)
	argumentKey = regexp.MustCompile(`(?s)<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// read returns the calls that text is made of. It is false if there is anything else
// in it, or a call of a tool that was not offered.
func (c *textCalls) read(text string) (list []troupe.ToolCall, ok bool) {
	rest := strings.TrimSpace(text)
	if c.off || rest == "" {
		return nil, false
	}
	for rest != "" {
		block, after, found := c.cut(rest)
		if !found {
			return nil, false
		}
		more, ok := c.readBlock(strings.TrimSpace(block))
		if !ok || len(list)+len(more) > maxCalls {
			return nil, false
		}
		list = append(list, more...)
		rest = strings.TrimSpace(after)
	}
	return list, len(list) > 0
}

// cut takes the first call off text.
func (c *textCalls) cut(text string) (block, after string, found bool) {
	if after, ok := strings.CutPrefix(text, callTag); ok {
		block, after, _ = strings.Cut(after, "</tool_call>")
		return block, after, true
	}
	if !c.anywhere {
		return "", "", false
	}
	if m := callFence.FindStringSubmatch(text); m != nil {
		return m[1], text[len(m[0]):], true
	}
	if m := callElement.FindString(text); m != "" {
		return m, text[len(m):], true
	}
	for _, mark := range []string{"[TOOL_CALLS]", "<|python_tag|>"} {
		text = strings.TrimPrefix(text, mark)
	}
	return text, "", strings.HasPrefix(strings.TrimSpace(text), "{") || strings.HasPrefix(strings.TrimSpace(text), "[")
}

// readBlock reads what stands inside the marks of a call.
func (c *textCalls) readBlock(block string) ([]troupe.ToolCall, bool) {
	if m := callElement.FindStringSubmatch(block); m != nil && len(m[0]) == len(block) {
		return c.readElement(m[1], strings.TrimSpace(m[2]), parameter)
	}
	if name, rest, ok := strings.Cut(block, "\n"); ok && argumentKey.MatchString(rest) {
		return c.readElement(strings.TrimSpace(name), rest, argumentKey)
	}
	var list []json.RawMessage
	if strings.HasPrefix(block, "[") {
		if json.Unmarshal([]byte(block), &list) != nil {
			return nil, false
		}
	} else {
		list = []json.RawMessage{json.RawMessage(block)}
	}
	var calls []troupe.ToolCall
	for _, raw := range list {
		call, ok := c.readObject(raw)
		if !ok {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0
}

func (c *textCalls) readObject(raw []byte) (troupe.ToolCall, bool) {
	var object struct {
		Name       string
		Function   json.RawMessage
		Arguments  json.RawMessage
		Parameters json.RawMessage
	}
	if json.Unmarshal(raw, &object) != nil {
		return troupe.ToolCall{}, false
	}
	if object.Name == "" && len(object.Function) > 0 {
		if json.Unmarshal(object.Function, &object.Name) != nil {
			return c.readObject(object.Function)
		}
	}
	if object.Arguments == nil {
		object.Arguments = object.Parameters
	}
	arguments := argumentText(object.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	if c.spec(object.Name) == nil || arguments[0] != '{' || !json.Valid([]byte(arguments)) {
		return troupe.ToolCall{}, false
	}
	return troupe.ToolCall{Name: object.Name, Arguments: arguments}, true
}

// readElement reads a call whose arguments are elements of their own. What a tool
// takes as a string is one; anything else is read as JSON, where it is.
func (c *textCalls) readElement(name, body string, argument *regexp.Regexp) ([]troupe.ToolCall, bool) {
	spec := c.spec(name)
	if spec == nil {
		return nil, false
	}
	if strings.HasPrefix(body, "{") && json.Valid([]byte(body)) {
		return []troupe.ToolCall{{Name: name, Arguments: body}}, true
	}
	if strings.TrimSpace(argument.ReplaceAllString(body, "")) != "" {
		return nil, false
	}
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	_ = json.Unmarshal(spec.Input, &schema) // unknown types are read as JSON
	arguments := map[string]any{}
	for _, m := range argument.FindAllStringSubmatch(body, -1) {
		arguments[m[1]] = m[2]
		if value := json.RawMessage(strings.TrimSpace(m[2])); schema.Properties[m[1]].Type != "string" && json.Valid(value) {
			arguments[m[1]] = value
		}
	}
	data, err := json.Marshal(arguments)
	if err != nil {
		return nil, false
	}
	return []troupe.ToolCall{{Name: name, Arguments: string(data)}}, true
}

// spec returns the offered tool of this name, or nil.
func (c *textCalls) spec(name string) *troupe.ToolSpec {
	specs := c.tools.Specs()
	if i := slices.IndexFunc(specs, func(s troupe.ToolSpec) bool { return s.Name == name }); i >= 0 {
		return &specs[i]
	}
	return nil
}

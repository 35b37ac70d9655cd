package rehearsal

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	quotation  = regexp.MustCompile("\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`|\\B'([^'\n]+)'\\B")
	aNumber    = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
	aDate      = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	aName      = regexp.MustCompile(`\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)*`)
	aTopic     = regexp.MustCompile(`(?i)\b(?:for|about|on|of)\s+(.+?)[.?!]*$`)
	expression = regexp.MustCompile(`[-(]*\d[\d.\s()]*(?:[-+*/^%×÷][\s(-]*\d[\d.\s()]*)+`)
)

// textForms are what a text argument looks like that has one of the words in its name.
var textForms = []struct {
	words string
	form  *regexp.Regexp
}{
	{"url uri link", regexp.MustCompile(`https?://[^\s"'<>]+`)},
	{"email mail", regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]+\w`)},
	{"date day", aDate},
	{"path file filename", regexp.MustCompile(`(?:\{[\w-]+\}|[\w.~-]*)(?:/[\w.{}-]+)+|\b[\w-]+\.[a-z]{1,4}\b`)},
	{"expression formula calculation", expression},
}

// An argumentSchema is what a JSON schema says about an argument, as far as it matters here.
type argumentSchema struct {
	Type       any                        `json:"type"`
	Enum       []any                      `json:"enum"`
	Items      *argumentSchema            `json:"items"`
	Properties map[string]*argumentSchema `json:"properties"`
	Required   []string                   `json:"required"`
}

// allows tells whether one of the types is allowed.
func (a *argumentSchema) allows(types ...string) bool {
	list, isList := a.Type.([]any)
	if !isList {
		list = []any{a.Type}
	}
	return slices.ContainsFunc(list, func(t any) bool { name, _ := t.(string); return slices.Contains(types, name) })
}

// material is a request taken apart. What one argument took is not given to another.
type material struct {
	text                   string
	numbers, quotes, names []string
}

func takeApart(request string) *material {
	m := &material{text: request}
	for _, q := range quotation.FindAllStringSubmatch(request, -1) {
		m.quotes = append(m.quotes, strings.Join(q[1:], ""))
	}
	bare := quotation.ReplaceAllString(request, " ")
	m.numbers = aNumber.FindAllString(strings.NewReplacer("+", " ", "*", " ", "/", " ").Replace(aDate.ReplaceAllString(bare, " ")), -1)
	for _, at := range aName.FindAllStringIndex(bare, -1) {
		name := bare[at[0]:at[1]]
		if before := strings.TrimRight(bare[:at[0]], " "); before == "" || strings.ContainsAny(before[len(before)-1:], ".?!\n") {
			_, name, _ = strings.Cut(name, " ") // a sentence begins with a capital letter whatever its first word is
		}
		if name != "" {
			m.names = append(m.names, name)
		}
	}
	return m
}

// findArguments finds what a tool needs in a request. Missing are the required ones that are not there.
func findArguments(schema json.RawMessage, request string) (arguments map[string]any, missing []string) {
	var object argumentSchema
	arguments = map[string]any{}
	if json.Unmarshal(schema, &object) != nil {
		return arguments, nil
	}
	m := takeApart(request)
	names := slices.Clone(object.Required)
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		if !slices.Contains(names, name) && mentions(request, words(name)) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		property := object.Properties[name]
		if property == nil {
			property = &argumentSchema{}
		}
		if value := m.find(name, property); value != nil {
			arguments[name] = value
		} else if i < len(object.Required) {
			missing = append(missing, name)
		}
	}
	return arguments, missing
}

// find finds one argument by its type and name. It returns nil if nothing fits.
func (m *material) find(name string, schema *argumentSchema) any {
	switch {
	case len(schema.Enum) > 0:
		for _, value := range schema.Enum {
			if text, ok := value.(string); ok && mentions(m.text, text) {
				return value
			}
		}
		return nil
	case schema.allows("number", "integer"):
		return m.number(name, schema.allows("number"))
	case schema.allows("boolean"):
		return mentions(m.text, words(name))
	case schema.allows("object"):
		return map[string]any{}
	case !schema.allows("array"):
		return m.phrase(name)
	case schema.Items != nil && schema.Items.allows("number", "integer"):
		numbers := []any{}
		for value := m.number("", true); value != nil; value = m.number("", true) {
			numbers = append(numbers, value)
		}
		return numbers
	}
	return append(append([]string{}, m.quotes...), m.names...)
}

// number takes the number that stands beside the argument's name, as in "3 days" or "days: 3", else the next one.
func (m *material) number(name string, mayHavePoint bool) any {
	at := -1
	if label := regexp.QuoteMeta(words(name)); label != "" {
		beside := regexp.MustCompile(`(?i)\b` + label + `\s*(?:is|=|:|to)?\s*(` + aNumber.String() + `)|(` + aNumber.String() + `)\s+` + label + `\b`)
		if found := beside.FindStringSubmatch(m.text); found != nil {
			at = slices.Index(m.numbers, found[1]+found[2])
		}
	}
	if at < 0 {
		at = slices.IndexFunc(m.numbers, func(n string) bool { return mayHavePoint || !strings.Contains(n, ".") })
	}
	if at < 0 {
		return nil
	}
	value, err := strconv.ParseFloat(m.numbers[at], 64)
	m.numbers = slices.Delete(m.numbers, at, at+1)
	if err != nil {
		return nil
	}
	return value
}

// phrase finds an argument that is a text: what its name says it looks like, else a quotation, else a name.
func (m *material) phrase(name string) any {
	for _, t := range textForms {
		if slices.ContainsFunc(strings.Fields(words(name)), func(word string) bool { return mentions(t.words, word) }) {
			if found := strings.TrimSpace(t.form.FindString(m.text)); found != "" {
				return found
			}
		}
	}
	for _, list := range []*[]string{&m.quotes, &m.names} {
		if len(*list) > 0 {
			found := (*list)[0]
			*list = (*list)[1:]
			return found
		}
	}
	switch name {
	case "query", "question", "topic", "text", "message", "input", "prompt", "task", "request":
		if found := aTopic.FindStringSubmatch(m.text); found != nil {
			return found[1]
		}
		return m.text
	}
	return nil
}

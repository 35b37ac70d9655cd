package rehearsal

import (
	"maps"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

const (
	maxCalls    = 3       // tools called for one message
	maxSentence = 1 << 10 // how much of a result is repeated, in bytes
)

// converse answers a message to an agent without commands: it calls the tools that the message mentions and says what
// they returned. A message that lacks arguments is put together with the next one.
func (s *scene) converse(said string) {
	request := said
	if s.carried != "" {
		request = s.carried + "\n" + said + "\n\"" + said + "\""
	}
	s.carried = ""
	if s.reportResults() {
		return
	}
	var lacking []string
	for _, tool := range mentioned(s.tools, request) {
		arguments, missing := findArguments(tool.Input, request)
		switch {
		case len(missing) > 0:
			lacking = append(lacking, tool.Name+" needs "+strings.Join(missing, " and "))
		case s.at == len(s.cues):
			s.call(tool.Name, arguments)
		}
	}
	switch {
	case s.over:
	case len(lacking) > 0:
		s.carried = request
		s.say("I cannot do that yet: %s. What shall I use?", strings.Join(lacking, "; "))
	case hello.MatchString(said):
		s.greet()
	default:
		s.say("I understood: %q.", brief(said))
		s.offer()
	}
}

// offer says what the agent can do in a rehearsal.
func (s *scene) offer() {
	if len(s.tools) == 0 {
		s.say("Without a model and without tools that is all I can do: set a model for a real answer.")
		return
	}
	names := make([]string, len(s.tools))
	for i := range s.tools {
		names[i] = s.tools[i].Name
	}
	s.say("Mention one of my tools and I will call it: %s.", strings.Join(names, ", "))
}

// reportResults says what the tools returned that were called for the latest message. It returns false if none was.
func (s *scene) reportResults() bool {
	first := s.at
	for ; s.at < len(s.cues) && s.cues[s.at].tool != ""; s.at++ {
		c := s.cues[s.at]
		if r := readResult(c.text); r.problem != "" {
			s.say("%s could not be used: %s", c.tool, r.problem)
		} else {
			s.say("%s says: %s", c.tool, r.sentence())
		}
	}
	return s.at > first
}

// sentence is the result in words: the fields of an object, or the text as it is.
func (r result) sentence() string {
	text := strings.TrimSpace(r.text)
	if r.fields != nil {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(r.fields)) {
			value, isText := r.fields[name].(string)
			if !isText {
				value = encode(r.fields[name])
			}
			parts = append(parts, words(name)+": "+value)
		}
		text = strings.Join(parts, ", ")
	}
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "") + "…"
	}
	return text
}

// mentioned returns the tools whose names a request mentions, else the one whose description it mentions best.
func mentioned(tools []troupe.ToolSpec, request string) []*troupe.ToolSpec {
	said := map[string]bool{}
	for word := range strings.FieldsSeq(plainWords(request) + operations(request)) {
		said[stem(word)] = true
	}
	var named []*troupe.ToolSpec
	var best *troupe.ToolSpec
	most := 0
	for i := range tools {
		if hits(tools[i].Name, said) > 0 && len(named) < maxCalls {
			named = append(named, &tools[i])
		}
		if n := hits(tools[i].Description, said); n > most {
			best, most = &tools[i], n
		}
	}
	if len(named) == 0 && best != nil {
		named = append(named, best)
	}
	return named
}

// operations names what a request asks for in signs, as in 2+3.
func operations(request string) string {
	found := expression.FindString(aDate.ReplaceAllString(request, ""))
	if found == "" {
		return ""
	}
	names := " calculate calculator calc math arithmetic expression"
	for _, o := range []struct{ signs, names string }{
		{"+", " add sum plus"}, {"-", " subtract minus"}, {"*×", " multiply times"}, {"/÷", " divide"},
	} {
		if strings.ContainsAny(strings.TrimLeft(found, "-("), o.signs) {
			names += o.names
		}
	}
	return names
}

// hits counts the words of a name or description that were said. Words that say little do not count.
func hits(text string, said map[string]bool) int {
	n := 0
	for word := range strings.FieldsSeq(plainWords(text)) {
		if len(word) > 2 && !isFiller(word) && said[stem(word)] {
			n++
		}
	}
	return n
}

func isFiller(word string) bool {
	switch word {
	case "get", "set", "the", "and", "for", "with", "from", "tool", "run", "use", "call", "make", "does", "this", "that", "what",
		"returns", "return", "given", "one", "two", "you", "your", "its", "all", "any", "not", "are", "can", "how", "who", "when",
		"will", "into", "has", "have", "let", "put", "name", "text", "value", "current", "list", "show", "give", "tell", "please":
		return true
	}
	return false
}

// stem makes forms of a word alike: adds, added and adding begin with add.
func stem(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 3 {
			return rest
		}
	}
	return word
}

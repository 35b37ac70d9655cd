package rehearsal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A scene is a conversation that is played again: what was heard so far, and the reply in the making.
type scene struct {
	part    part // what the system prompt says about the agent
	tools   []troupe.ToolSpec
	cues    []cue
	at      int  // the next cue
	last    int  // the latest cue that is the user's, -1 if there is none
	isFirst bool // nothing was said before this reply

	said  strings.Builder // since the latest cue
	calls []troupe.ToolCall
	made  int // calls in earlier replies
	over  bool

	carried string // a request that still lacks arguments
	memory  *memory
}

// A cue is something the script waits for: what the user said, or what a tool returned.
type cue struct{ tool, text string }

func newScene(req *troupe.Request, m *memory) *scene {
	s := &scene{memory: m, tools: req.Tools.Specs(), last: -1, isFirst: true}
	var prompt strings.Builder
	for _, m := range req.Messages {
		switch {
		case m.Role == troupe.RoleAssistant:
			s.isFirst = false
			s.made += len(m.Calls)
		case m.Role == troupe.RoleTool:
			s.cues = append(s.cues, cue{tool: m.Tool, text: m.Text})
		case m.Role == troupe.RoleSystem || m.Pinned || isCritical(m.Text):
			prompt.WriteString(m.Text + "\n\n")
		case !isNotice(m.Text):
			s.last = len(s.cues)
			s.cues = append(s.cues, cue{text: m.Text})
		}
	}
	s.part = m.part(prompt.String())
	return s
}

// isCritical tells what an agent loads before the user speaks.
func isCritical(text string) bool { return strings.HasPrefix(text, "[Critical ") }

// isNotice tells what the engine adds in the user's name.
func isNotice(text string) bool {
	return strings.HasPrefix(text, "[Notice] ") || strings.HasPrefix(text, "[Summary of ") ||
		strings.HasSuffix(text, "earlier messages were dropped to make room.]")
}

// play plays the conversation up to the reply that is asked for.
func (s *scene) play() {
	if len(s.cues) == 0 {
		s.greet()
		return
	}
	for {
		said, ok := s.hear()
		if !ok {
			return
		}
		s.answer(strings.TrimSpace(said))
		if s.over || s.at == len(s.cues) {
			return
		}
	}
}

// say adds a line to the reply, unless it belongs to an earlier one.
func (s *scene) say(format string, args ...any) {
	if !s.isPast() {
		fmt.Fprintf(&s.said, format+"\n", args...)
	}
}

// isPast tells whether the user has spoken since: what is said now was said in an earlier reply.
func (s *scene) isPast() bool { return s.at <= s.last }

// hear returns the next thing the user said. If there is none, the scene is over: the reply waits for it.
func (s *scene) hear() (string, bool) {
	for s.at < len(s.cues) && s.cues[s.at].tool != "" {
		s.at++
	}
	if s.at == len(s.cues) {
		s.over = true
		return "", false
	}
	s.said.Reset()
	s.at++
	return s.cues[s.at-1].text, true
}

// isInterrupted tells whether the user's next words are a command rather than an answer.
func (s *scene) isInterrupted() bool {
	for _, c := range s.cues[s.at:] {
		if c.tool == "" {
			word, _, _ := strings.Cut(strings.TrimSpace(c.text), " ")
			name, isCommand := strings.CutPrefix(word, "*")
			return isCommand && s.part.named(name) != nil
		}
	}
	return false
}

// use calls a tool. If the conversation does not hold the result yet, the scene is over: the reply is the call.
func (s *scene) use(tool string, arguments func() map[string]any) (result, bool) {
	for s.at < len(s.cues) && s.cues[s.at].tool != "" {
		c := s.cues[s.at]
		s.at++
		if c.tool == tool {
			s.said.Reset()
			return s.memory.result(c.text), true
		}
	}
	switch {
	case s.at < len(s.cues):
		return result{problem: "the call was not carried out", isSkipped: true}, true
	case !s.has(tool):
		return result{problem: "the tool " + tool + " is not available", isSkipped: true}, true
	}
	s.call(tool, arguments())
	return result{}, false
}

func (s *scene) call(tool string, arguments map[string]any) {
	s.over = true
	id := "rehearsal_" + strconv.Itoa(s.made+len(s.calls)+1)
	s.calls = append(s.calls, troupe.ToolCall{ID: id, Name: tool, Arguments: encode(arguments)})
}

func (s *scene) has(tool string) bool {
	return slices.ContainsFunc(s.tools, func(t troupe.ToolSpec) bool { return t.Name == tool })
}

// can tells whether the tool can be called, or was called at this point.
func (s *scene) can(tool string) bool {
	return s.has(tool) || s.at < len(s.cues) && s.cues[s.at].tool == tool
}

// A result is what a tool returned. Problem is empty if it succeeded. It is shared, and not
// changed.
type result struct {
	text    string
	fields  map[string]any // nil if the text is not a JSON object
	problem string
	// isSkipped says that the tool could not be called: it may be possible later.
	isSkipped bool
}

func readResult(text string) result {
	r := result{text: text}
	if json.Unmarshal([]byte(text), &r.fields) != nil {
		r.fields = nil
		return r
	}
	success, stated := r.fields["success"].(bool)
	if problem := r.field("error"); !success && (stated || problem != "") {
		r.problem = problem
		if problem == "" {
			r.problem = "the tool gave no reason"
		}
	}
	return r
}

// field returns a field of the result that is a string, else "".
func (r result) field(name string) string {
	text, _ := r.fields[name].(string)
	return text
}

func encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Package approve asks a person before a tool is called.
//
// A call that needs approval ends its run with an input_requested event, which has
// the exact arguments, and whose question shows them decoded, whole and as plain text.
// The session's next input is the answer: if it approves, that very call is made, and
// the model is not asked again; if not, the model is told what the person said.
package approve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A Decision says what becomes of a call.
type Decision string

// The decisions. In a [Rule] there is no default.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// A Rule decides on the calls that it matches.
type Rule struct {
	// Tool is the tool's name. A star in it stands for any characters, a question
	// mark for one.
	Tool string
	// Where says, by their names, what arguments must look like, in the same way. A
	// value that is no string is looked at as JSON. An argument that is not there
	// matches nothing.
	//
	// A pattern with a scheme, such as https://*.example.org/docs/*, matches URLs part by
	// part: the scheme, the host and the path. There a star stays within its part and
	// does not cross a slash; ** does. In the host it stands alone or at the beginning,
	// before a dot. A port that is not the scheme's own has to be named. What follows a
	// question mark is compared with the query; without one, any query will do.
	//
	// A rule that allows matches only what is beyond doubt: no URL with a user in it or an
	// encoded slash, and with a pattern that has no scheme no URL at all and nothing with
	// /../ in it, unless it is a star alone. Rules that ask or deny match what is in doubt:
	// secret* is also about ./secret/a, notes/../secret/a and {session-folder}/secret/a.
	Where map[string]string
	Do    Decision
}

// A Policy decides on calls: the first rule that matches does. Calls that no rule
// matches are allowed, for the agent was given the tool.
type Policy []Rule

// Check says what is wrong with the policy. With tools, which are all that it is for, it
// also reports a rule that can never match: one that names none of them, or an argument that
// they do not have. Where a schema takes further arguments, that cannot be known. Without
// tools a mistyped name passes, and a rule that was to deny a call denies nothing.
func (p Policy) Check(tools ...troupe.Tool) error {
	for i, r := range p {
		if r.Tool == "" {
			return fmt.Errorf("approval rule %d: it names no tool; * means all", i+1)
		}
		if !slices.Contains([]Decision{Allow, Ask, Deny}, r.Do) {
			return fmt.Errorf("approval rule %d: %.20q is not allow, ask or deny", i+1, r.Do)
		}
		for name, pattern := range r.Where {
			if _, err := parseURLPattern(pattern); isURLPattern(pattern) && err != nil {
				return fmt.Errorf("approval rule %d: where %s is %.200q: %w", i+1, name, pattern, err)
			}
		}
		if len(tools) == 0 {
			continue
		}
		if err := r.meant(tools); err != nil {
			return fmt.Errorf("approval rule %d: %w", i+1, err)
		}
	}
	return nil
}

// Decide returns what becomes of a call.
func (p Policy) Decide(tool string, arguments json.RawMessage) Decision {
	var values map[string]json.RawMessage
	for _, r := range p {
		if !matches(r.Tool, tool) {
			continue
		}
		if len(r.Where) > 0 && values == nil && json.Unmarshal(arguments, &values) != nil {
			return Deny // nobody can say what such a call means
		}
		if r.fits(values) {
			return r.Do
		}
	}
	return Allow
}

func (r *Rule) fits(values map[string]json.RawMessage) bool {
	for name, pattern := range r.Where {
		value, ok := values[name]
		if !ok || !r.fitsText(pattern, textOf(value)) {
			return false
		}
	}
	return true
}

func (r *Rule) fitsText(pattern, text string) bool {
	switch {
	case isURLPattern(pattern):
		parsed, err := parseURLPattern(pattern)
		return err == nil && parsed.matches(text, r.Do == Allow)
	case r.Do != Allow:
		return matches(pattern, text) || mayMean(pattern, text)
	case pattern != "*" && pattern != text && (isURL(text) || climbs(text)):
		return false
	}
	return matches(pattern, text)
}

// Tools returns the tools as the policy has them. The policy must have been checked.
// Before any rule is asked, a call is refused whose arguments do not belong to the
// tool's schema, or differ from a name in it only in case. Tools panics if a rule that names
// one of the tools looks at an argument that the tool does not have, which is a mistake in
// the program: such a rule would let every call through. [Policy.Check] with the tools says it
// as an error.
func (p Policy) Tools(tools ...troupe.Tool) []troupe.Tool {
	guarded := make([]troupe.Tool, len(tools))
	for i, tool := range tools {
		spec := tool.Spec()
		for n, r := range p {
			if r.Tool != spec.Name {
				continue
			}
			if err := r.meant([]troupe.Tool{tool}); err != nil {
				panic(fmt.Sprintf("approve.Policy.Tools: approval rule %d: %v", n+1, err))
			}
		}
		guarded[i] = &guard{tool, p}
	}
	return guarded
}

type guard struct {
	troupe.Tool
	policy Policy
}

func (g *guard) Call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	spec := g.Spec()
	if why := g.policy.misfit(&spec, in.Arguments); why != "" {
		return troupe.Result{}, &troupe.ToolError{Class: "invalid_arguments", Message: why}
	}
	decision := g.policy.Decide(spec.Name, in.Arguments)
	switch {
	case decision == Allow:
		return g.Tool.Call(ctx, in)
	case decision == Deny:
		return troupe.Result{}, refused(fmt.Sprintf("%s may not be called with these arguments, and asking would not help", spec.Name))
	case len(in.Answers) == 0:
		return troupe.Result{}, &troupe.InputNeeded{Question: question(spec.Name, in.Arguments), CallAgain: true, Approval: true}
	}
	if answer := in.Answers[0]; !Approved(answer) {
		said := answer.Text
		if said == "" {
			said = "no"
		}
		return troupe.Result{}, refused("the user did not approve the call, but said: " + said)
	}
	call := *in
	call.Answers = in.Answers[1:] // what the tool itself may have asked
	return g.Tool.Call(ctx, &call)
}

func refused(why string) error {
	return &troupe.ToolError{Class: "unauthorized", Message: why}
}

// Approved reports whether an answer approves a call: a decision to do so, or a
// plain yes in a person's own words.
func Approved(answer troupe.Answer) bool {
	return !answer.Denied && (answer.Approved || Approves(answer.Text))
}

// Approves reports whether an answer approves a call. Anything but a plain yes does
// not.
func Approves(answer string) bool {
	answer = strings.ToLower(strings.Trim(answer, " \t\r\n.!"))
	return slices.Contains([]string{"yes", "y", "ok", "approve", "approved", "allow"}, answer)
}

package bundle

import "strings"

// OpeningMark begins the text that asks an agent to speak first. Programs that show a
// conversation leave such a text out.
const OpeningMark = "[Opening]"

// Opening returns the text with which a program has the agent open the conversation,
// where its author has written how: to be given as the first input of a session, in the
// name of nobody. Without an activation, a greeting or a skill's own steps there is
// nothing to carry out, and ok is false.
func (d *Definition) Opening() (text string, ok bool) {
	if len(d.Activation) == 0 && d.Greeting == "" && d.Format != FormatSkill && d.Format != FormatCoach {
		return "", false
	}
	return OpeningMark + " The user has opened the conversation and has not said anything yet. Carry out your activation now: " +
		"greet the user in the language of the configuration, show your commands as your author says, and wait. Do not mention this message.", true
}

// IsOpening says whether a text is one that Opening returned.
func IsOpening(text string) bool { return strings.HasPrefix(text, OpeningMark) }

package pipeline

import (
	"strings"

	"github.com/troupe-dev/troupe/internal/question"
)

// A setback is why what an agent answered came to nothing, said twice: to agents, who
// are told how to do it otherwise, and to people, who see nothing of how agents answer.
// The first is for prompts alone; all that people are shown is made of the second.
type setback struct {
	agent, person string
	// cause is what a person can do something about: see advices.
	cause string
	// detail is what a program printed about it.
	detail string
	// final says that another conversation would not change it.
	final bool
}

// What a step of the plan fails for: the causes of a [StepRecord].
const (
	causeEdits       = "edits"       // its changes did not fit the files
	causeUnreadable  = "unreadable"  // its answers could not be read
	causeTooLong     = "too_long"    // its answers were longer than the model can write
	causeNoAnswer    = "no_answer"   // it used its tools and gave no answer
	causeUnchanged   = "unchanged"   // its answers changed nothing
	causeChecks      = "checks"      // a check fails
	causeBlocked     = "blocked"     // it says that it cannot be done
	causeEnvironment = "environment" // something is missing that only a person can put right
	causeStopped     = "stopped"     // a person has ended it
)

// advices say what a person can do about a step that failed, by its cause.
var advices = map[string]string{
	causeEdits:       "Go on to have the step tried again: say what should be done differently, or choose another model. Or leave the step out of the plan.",
	causeUnreadable:  "Go on to have the step tried again, best with another model. Or leave the step out of the plan.",
	causeTooLong:     "Make smaller steps of this one in the plan, or choose a model that writes longer answers, and go on.",
	causeNoAnswer:    "Say more closely what the step is to do, and go on. Or leave the step out of the plan.",
	causeUnchanged:   "Say what should be done differently, and go on. Or leave the step out of the plan, if there is nothing to do.",
	causeChecks:      "Look at what the check says, say what should be done differently, and go on. Or leave the step out of the plan.",
	causeBlocked:     "Answer what is asked or missing, and go on. Or leave the step out of the plan.",
	causeEnvironment: "Put that right, and go on.",
}

// adviceOnPhase says what a person can do about a phase that failed.
const adviceOnPhase = "Go on to have it tried again: say what should be done differently, or choose another model."

// adviceOnStep says what a person can do about a step that failed.
func adviceOnStep(s *StepRecord) string {
	if s.Cause == "" { // it failed in an earlier run
		return advices[causeEdits]
	}
	return advices[s.Cause]
}

// byBoth is a setback that agents and people are told in the same words.
func byBoth(cause, text string) *setback { return &setback{agent: text, person: text, cause: cause} }

// quotedAnswer is what an agent said instead of what was asked for, to be shown to a
// person: nothing where that is data.
func quotedAnswer(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if isData(text) {
		return ""
	}
	return "; it said: " + clipText(text, 200)
}

// causeOfText is what a person can do something about where an agent has said this instead of what was
// asked for: it may want to know something.
func causeOfText(text string) string {
	if _, _, asks := question.In(text); asks && !isData(text) {
		return causeBlocked
	}
	return causeUnreadable
}

// isData says of a text that it is nothing that an agent says to people: data, or the
// beginning of such.
func isData(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || strings.ContainsAny(text[:1], "{[<`")
}

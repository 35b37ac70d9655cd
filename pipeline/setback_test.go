package pipeline

import (
	"regexp"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

// ForAgents finds what only an agent can make sense of: orders that it is given, and how
// its answers are written.
var ForAgents = regexp.MustCompile(`(?i)\b(you|your|json|artifacts?|metadata|outputs?|schema|pointer|search text|code block)\b|type "|\bedit \d|/outputs/|/next_phase|^/\w|required, but missing|answer again|send the|bring them back|\w_\w`)

var forAgents = ForAgents

// inShort is what people are told of a setback, and whether it is the end.
func inShort(s *setback) string {
	switch {
	case s == nil:
		return ""
	case s.final:
		return s.person + ", final"
	}
	return s.person
}

// What people are told of an answer that cannot be used has nothing of how it is written.
func TestPeopleAreToldWhyAnAnswerCannotBeUsed(t *testing.T) {
	requirements, _ := ContractOf("requirements")
	for text, want := range map[string]string{
		"I have written the stories.": notAsAsked,
		`{"status": "success", "phase": "requirements", "outputs": {"user_stories": []}, "next_phase": {"ready": true}}`: "it says nothing usable about user stories",
		`{"status": "success", "phase": "requirements", "outputs": {"user_stories": ["a", "b`:                            "it breaks off before its end",
		`{"status": 7, "phase": "requirements"}`:                                                                         notAsAsked,
	} {
		parsed, _ := requirements.Parse(text)
		if parsed.plain != want || !strings.HasSuffix(parsed.forPeople(), want) || forAgents.MatchString(parsed.forPeople()) || !forAgents.MatchString(parsed.Correction) {
			t.Errorf("of %s a person is told %q, an agent %q", text, parsed.forPeople(), parsed.Correction)
		}
	}
	planning, _ := ContractOf("planning")
	if parsed, _ := planning.Parse(`{"status": "success", "phase": "planning", "outputs": {"total_steps": 0, "steps": []}, "artifacts": [], "next_phase": {"ready": true}}`); parsed.plain != noSteps {
		t.Errorf("of an empty plan a person is told %q", parsed.plain)
	}
	for _, reason := range []answer.Reason{answer.Cut, answer.LeftOut, answer.Ambiguous, answer.TooLong} {
		if got := plainWords(nil, reason); got == notAsAsked || forAgents.MatchString(got) {
			t.Errorf("of %v a person is told %q", reason, got)
		}
	}
}

// What an agent said is shown to people where it is words.
func TestWhatAnAgentSaidIsQuotedWhereItIsWords(t *testing.T) {
	for text, want := range map[string]string{
		"Which database\n is meant?": "; it said: Which database is meant?", `{"status": "succ`: "", "```json\n{": "", "": "", "<think>": "", "[1]": "",
	} {
		if got := quotedAnswer(text); got != want {
			t.Errorf("of %q: %q", text, got)
		}
	}
}

// Whoever is asked something in place of an answer is told to answer.
func TestAQuestionInPlaceOfAnAnswerIsToBeAnswered(t *testing.T) {
	for text, want := range map[string]string{
		"Which database\n is meant?": causeBlocked, "I have written the file.": causeUnreadable, `{"question": "which?"}`: causeUnreadable, "": causeUnreadable,
	} {
		if got := causeOfText(text); got != want {
			t.Errorf("of %q: %q", text, got)
		}
	}
}

// Every cause that a step can fail for has advice, except that somebody wanted it so.
func TestThereIsAdviceOnEveryCause(t *testing.T) {
	for _, cause := range []string{"", causeEdits, causeUnreadable, causeTooLong, causeNoAnswer, causeUnchanged, causeChecks, causeBlocked, causeEnvironment, causeStopped} {
		got := adviceOnStep(&StepRecord{State: StepFailed, Cause: cause})
		if (got == "") != (cause == causeStopped) || forAgents.MatchString(got) {
			t.Errorf("%q: %q", cause, got)
		}
	}
}

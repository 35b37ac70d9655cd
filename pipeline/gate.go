package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
)

const toolGate = "gate"

// What becomes of a delivery at a gate.
const (
	decisionGoOn  = "go_on"
	decisionAgain = "again" // the phase is run once more, with guidance
	decisionStop  = "stop"
	// decisionWithout goes on without what was asked about: see [gateDependencies].
	decisionWithout = "without"
	// decisionKeep goes on with the plan that was there before: see [gateRequest.Kept].
	decisionKeep = "keep"
)

type gateRequest struct {
	Phase        string   `json:"phase"`
	Next         string   `json:"next,omitempty"`
	Status       string   `json:"status"`
	Ready        bool     `json:"ready"`
	Blockers     []string `json:"blockers,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
	Errors       []string `json:"errors,omitempty"`
	Artifacts    []Saved  `json:"artifacts,omitempty"`
	// Warnings are what a person should know who decides; Subject is what the phase answered.
	Warnings []string   `json:"warnings,omitempty"`
	Subject  []gatePart `json:"subject,omitempty"`
	// Said is what the agent answered, where that was no output of the phase: it may well
	// be a question.
	Said string `json:"said,omitempty"`
	// Rounds is how often the phase may be run again.
	Rounds int `json:"rounds"`
	// Question is the whole question, where it is not about a phase's result. Kind is
	// then what it is about: plan, step, diff, review, environment or dependencies.
	Question string `json:"question,omitempty"`
	Kind     string `json:"kind,omitempty"`
	// Title is what the step is called that it is about.
	Title string `json:"title,omitempty"`
	// Lacking says why there is nothing to go on with; then nobody can say "go on", unless
	// there was a plan before, which Kept has so many steps of.
	Lacking string `json:"lacking,omitempty"`
	Kept    int    `json:"kept,omitempty"`
}

// What a question of a delivery into a repository is about.
const (
	gatePlan        = "plan"        // the steps, before they are carried out
	gateStep        = "step"        // one step that was carried out
	gateDiff        = "diff"        // the whole change
	gateReview      = "review"      // what a review found, before it is put right
	gateEnvironment = "environment" // something that only a person can put right
	// gateDependencies is whether the setup may run again, with other dependencies.
	gateDependencies = "dependencies"
)

type gateResult struct {
	Decision string `json:"decision"`
	Guidance string `json:"guidance,omitempty"`
}

// gateTool returns the tool that asks a person whether the delivery passes a gate.
// It does nothing else, so that the question and its answer are all of its effect.
func gateTool() troupe.Tool {
	return troupe.NewToolWithCall(toolGate, "Asks whether the delivery goes on after a phase.",
		func(_ context.Context, call *troupe.Invocation, in gateRequest) (gateResult, error) {
			if len(call.Answers) == 0 {
				return gateResult{}, &troupe.InputNeeded{Question: in.question(), CallAgain: true}
			}
			said := call.Answers[len(call.Answers)-1]
			verdict := in.decide(said)
			if in.Kind == gateEnvironment && verdict.Decision == decisionAgain {
				// There is nobody to guide, and a sentence is no order to stop.
				return gateResult{}, &troupe.InputNeeded{Question: fmt.Sprintf("%.80q is neither \"go on\" nor \"stop\".\n\n%s", said.Text, in.question()), CallAgain: true}
			}
			if in.Lacking != "" && verdict.Decision == decisionGoOn {
				if in.Kept > 0 {
					return gateResult{Decision: decisionKeep}, nil
				}
				return gateResult{}, &troupe.InputNeeded{Question: "There is nothing to go on with.\n\n" + in.question(), CallAgain: true}
			}
			return verdict, nil
		}, troupe.RepeatSafe())
}

// decide reads an answer. Where guidance can no longer be followed, what is not a
// yes is a stop.
func (g *gateRequest) decide(said troupe.Answer) gateResult {
	answer := said.Text
	word := strings.ToLower(strings.Trim(answer, " \t\r\n.!\"'"))
	switch {
	case g.Kind == gateDependencies && (said.Denied && answer == "" || slices.Contains([]string{"no", "n", "skip", "without"}, word)):
		return gateResult{Decision: decisionWithout}
	case said.Denied && answer == "":
		return gateResult{Decision: decisionStop}
	case said.Approved:
		return gateResult{Decision: decisionGoOn}
	}
	switch {
	case slices.Contains([]string{"yes", "y", "ok", "go on", "go", "continue", "approve", "approved", "pass"}, word):
		return gateResult{Decision: decisionGoOn}
	case g.Rounds <= 0 && g.Kind != gateEnvironment || slices.Contains([]string{"stop", "no", "n", "end", "quit", "abort", "cancel"}, word):
		return gateResult{Decision: decisionStop}
	}
	return gateResult{Decision: decisionAgain, Guidance: strings.TrimSpace(answer)}
}

// question says why the gate asks, what the phase wrote and what can be answered.
func (g *gateRequest) question() string {
	if g.Question != "" {
		return g.Question
	}
	var b strings.Builder
	state := "is done and waits for approval"
	if g.Status == "failed" {
		state = "failed"
	} else if !g.Ready || len(g.Blockers) > 0 {
		state = "is not ready for what comes next"
	}
	fmt.Fprintf(&b, "%s %s.\n", phaseTitle(g.Phase), state)
	parts := []gatePart{{"Against going on", g.Blockers}, {"Required first", g.Requirements}, {"What went wrong", g.Errors}, {"To be aware of", g.Warnings}}
	for _, part := range slices.Concat(parts, g.Subject, []gatePart{{"Documents", g.documents()}}) {
		if len(part.Lines) > 0 {
			fmt.Fprintf(&b, "\n%s:\n- %s\n", part.Title, strings.Join(part.Lines, "\n- "))
		}
	}
	for _, a := range g.Artifacts {
		if a.Diff != "" {
			fmt.Fprintf(&b, "\n%s\n", fenced("diff", strings.TrimSuffix(a.Diff, "\n")))
		}
	}
	if g.Said != "" {
		fmt.Fprintf(&b, "\nIt said:\n> %s\n", strings.ReplaceAll(g.Said, "\n", "\n> "))
	}
	b.WriteString("\n" + g.choices())
	return b.String()
}

// choices says what can be answered.
func (g *gateRequest) choices() string {
	again := fmt.Sprintf("say what %s should do differently; it is then run once more.", lowerTitle(g.Phase))
	switch {
	case g.Lacking != "" && g.Kept > 0 && g.Rounds > 0:
		return fmt.Sprintf("Answer \"go on\" to carry out the plan that is there, with %s, \"stop\" to end here, or %s", counted(g.Kept, "step", "steps"), again)
	case g.Lacking != "" && g.Kept > 0:
		return fmt.Sprintf("Answer \"go on\" to carry out the plan that is there, with %s; anything else ends the delivery here.", counted(g.Kept, "step", "steps"))
	case g.Lacking != "" && g.Rounds > 0:
		return "Answer \"stop\" to end here, or " + again
	case g.Lacking != "":
		return "Answer \"stop\": the delivery ends here."
	}
	next := "finish"
	if g.Next != "" {
		next = "go on with " + lowerTitle(g.Next)
	}
	if g.Rounds > 0 {
		return fmt.Sprintf("Answer \"go on\" to %s, \"stop\" to end here, or %s", next, again)
	}
	return fmt.Sprintf("Answer \"go on\" to %s; anything else ends the delivery here.", next)
}

// phaseTitle is what people call a phase.
func phaseTitle(name string) string {
	if name == phaseQA {
		return "Checking"
	}
	name = strings.NewReplacer("-", " ", "_", " ").Replace(name)
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return ""
	}
	return strings.ToUpper(string(first)) + name[size:]
}

func lowerTitle(phase string) string { return strings.ToLower(phaseTitle(phase)) }

// documents says what became of the documents that the phase wrote.
func (g *gateRequest) documents() []string {
	var lines []string
	for _, a := range g.Artifacts {
		line := fmt.Sprintf("%s (%s, %d bytes)", a.Path, a.Change, a.Size)
		if a.State == StateFailed {
			line = fmt.Sprintf("%s could not be kept: %s", a.Path, a.Error)
		}
		lines = append(lines, line)
	}
	return lines
}

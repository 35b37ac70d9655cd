package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/answer"
)

// A Level says how an answer became an [Output].
type Level string

// The levels, from the best to the last resort.
const (
	LevelStrict    Level = "strict"    // the whole text is the JSON asked for
	LevelExtracted Level = "extracted" // it was the only JSON in the text that fits
	LevelRepaired  Level = "repaired"  // its syntax had to be repaired
	LevelCorrected Level = "corrected" // the model was asked to correct it and did; Parse never says so
	LevelMarkdown  Level = "markdown"  // read from headings that name the outputs
	LevelRaw       Level = "raw"       // not understood; the text is kept
)

// Parsed is an answer as it was understood.
type Parsed struct {
	Output Output
	Level  Level
	// Problems are the contract's warnings about the output. Where Level is markdown or
	// raw, they say what is wrong with the JSON in the text, or that there is none.
	Problems []Problem
	// Notes say, step by step, what was tried and what came of it.
	Notes []string
	// Correction is what to tell the model, once, before markdown or raw text is made
	// do with. It is empty where the answer was read as JSON.
	Correction string
	// JSON is the answer as it was read, nil where Level is markdown or raw.
	JSON json.RawMessage

	isCut bool   // the text breaks off, so that nothing in it is to be acted on
	plain string // what is wrong with the text, for people; empty where it was read as JSON
}

// forPeople says why an answer is asked for again.
func (p *Parsed) forPeople() string {
	return "its answer could not be used and is asked for again: " + cmp.Or(p.plain, notAsAsked)
}

// notAsAsked is what people are told of an answer whose form alone is wrong.
const notAsAsked = "it is not in the form that was asked for"

// noSteps is what people are told of a plan that plans nothing.
const noSteps = "it has no steps, so there is nothing to carry out"

// plainWords says to people why nothing was read from a text: Problems and Correction say
// it to agents, by the fields of the JSON.
func plainWords(problems []Problem, reason answer.Reason) string {
	switch reason {
	case answer.Cut:
		return "it breaks off before its end"
	case answer.LeftOut:
		return "it leaves things out"
	case answer.Ambiguous:
		return "it holds several different results, and it cannot be told which one is meant"
	case answer.TooLong:
		return "it is too long"
	}
	var missing []string
	for _, p := range problems {
		if p.Critical && p.Pointer == planContent {
			return noSteps
		}
		name, ok := strings.CutPrefix(p.Pointer, "/outputs/")
		name, _, _ = strings.Cut(name, "/")
		if name = strings.ReplaceAll(name, "_", " "); ok && p.Critical && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return notAsAsked
	}
	return "it says nothing usable about " + strings.Join(missing, ", ")
}

// An AmbiguityError says that a text holds different values that all fit, so that
// any of them could be the answer.
type AmbiguityError struct {
	Phase string
}

// Error names the phase.
func (e *AmbiguityError) Error() string {
	return fmt.Sprintf("parse answer of %s: it holds different JSON values that all fit", e.Phase)
}

// Parse reads the text that the agent of the phase answered with.
//
// The first of these that gives an answer with all that is critical is taken: the
// whole text as JSON; the only JSON object in the text that fits; the same after its
// syntax was mended, if there is one way only to do that and nothing that the schema
// requires is missing after it; headings that name the outputs, with status partial.
// Else the text is kept as {"text": ...} in the outputs, with status partial, the gate
// closed and the reason among the errors. JSON that breaks off is never made whole.
//
// The only error is an [*AmbiguityError]. The text kept raw comes with it.
func (c *Contract) Parse(text string) (Parsed, error) {
	value, err := answer.Read(text, critical{c})
	if err == nil && value.How == answer.Mended && !value.SpareCommas {
		if lost := c.lost(value.JSON); lost != nil {
			parsed := Parsed{Problems: lost}
			parsed.note("repaired: what the schema requires is missing after a repair of its syntax")
			parsed.keepRaw(c, text, answer.Broken)
			return parsed, nil
		}
	}
	if err == nil {
		return c.parsed(value), nil
	}
	failure, _ := errors.AsType[*answer.Error](err)
	parsed := Parsed{Problems: c.problemsIn(failure)}
	parsed.note("no JSON was read: " + failure.Error())
	if failure.Reason == answer.Ambiguous {
		parsed.keepRaw(c, text, failure.Reason)
		return parsed, &AmbiguityError{Phase: c.phase}
	}
	if output, ok := c.readMarkdown(answer.WithoutThoughts(text)); ok && failure.Reason != answer.Cut {
		parsed.Output, parsed.Level = output, LevelMarkdown
		parsed.note("markdown: headings name outputs")
		parsed.Correction, parsed.plain = c.correction(parsed.Problems, failure.Reason), plainWords(parsed.Problems, failure.Reason)
		return parsed, nil
	}
	parsed.note("markdown: no headings name the outputs that are needed")
	parsed.keepRaw(c, text, failure.Reason)
	return parsed, nil
}

// parsed returns a value that was read.
func (c *Contract) parsed(value answer.Value) Parsed {
	p := Parsed{Problems: c.warnings(value.JSON), JSON: value.JSON}
	for _, w := range value.Warnings {
		p.Problems = append(p.Problems, Problem{Pointer: w.Pointer, Message: w.Message})
	}
	switch value.How {
	case answer.Whole:
		p.Level = LevelStrict
		p.note("strict: the whole text is the JSON asked for")
	case answer.Embedded:
		p.Level = LevelExtracted
		p.note("extracted: the only JSON in the text that fits")
	case answer.Mended:
		p.Level = LevelRepaired
		p.note("repaired: the syntax of the object")
	}
	_ = p.Output.UnmarshalJSON(value.JSON) // what fits is an object
	return p
}

// parseCut is Parse for a text that its provider cut off: nothing of it is used,
// whatever it looks like.
func (c *Contract) parseCut(text string) Parsed {
	failure := answer.CutOff(text)
	parsed := Parsed{Problems: c.problemsIn(failure)}
	parsed.note("no JSON was read: the answer was cut off")
	parsed.keepRaw(c, text, failure.Reason)
	return parsed
}

func (p *Parsed) note(text string) { p.Notes = append(p.Notes, text) }

func (p *Parsed) keepRaw(c *Contract, text string, reason answer.Reason) {
	kept, _ := json.Marshal(map[string]string{"text": text}) // of strings it cannot fail
	p.Level, p.isCut = LevelRaw, reason == answer.Cut
	p.Output = Output{Status: "partial", Phase: c.phase, Outputs: kept, Artifacts: []Artifact{}}
	for _, problem := range p.Problems {
		if problem.Critical {
			p.Output.Errors = append(p.Output.Errors, TextItem(problem.String()))
		}
	}
	p.note("raw: the text is kept as it is")
	p.Correction, p.plain = c.correction(p.Problems, reason), plainWords(p.Problems, reason)
}

// problemsIn says why a text that nothing was read from is not an answer: what is wrong
// with its syntax, and with the largest value in it that is sound.
func (c *Contract) problemsIn(failure *answer.Error) (problems []Problem) {
	for _, p := range failure.Problems {
		problem := Problem{Pointer: p.Pointer, Message: p.Message, Critical: true}
		if failure.Reason == answer.Cut && p.Pointer != "" { // where it breaks off is no field that lacks something
			problem = Problem{Message: p.String(), Critical: true}
		}
		problems = append(problems, problem)
	}
	if failure.Nearest == nil || failure.Reason == answer.Cut {
		return problems
	}
	for _, p := range c.Check(failure.Nearest) {
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems
}

// correction returns the request to answer again.
func (c *Contract) correction(problems []Problem, reason answer.Reason) string {
	failure := &answer.Error{Reason: reason}
	for _, p := range problems {
		failure.Problems = append(failure.Problems, answer.Problem{Pointer: p.Pointer, Message: p.Message})
	}
	return answer.Correction(failure, fmt.Sprintf("the output of the phase %q", c.phase))
}

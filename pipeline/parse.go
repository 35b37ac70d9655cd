package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
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
// whole text as JSON; the only JSON object in the text that fits; the same after one
// repair of its syntax; headings that name the outputs, with status partial. Else the
// text is kept as {"text": ...} in the outputs, with status partial, the gate closed
// and the reason among the errors.
//
// The only error is an [*AmbiguityError]. The text kept raw comes with it.
func (c *Contract) Parse(text string) (Parsed, error) {
	r, err := read(text, c.fits)
	parsed := Parsed{Level: r.level, Notes: r.notes}
	if err != nil {
		err.Phase = c.phase
		parsed.Problems = []Problem{{Message: "it holds different JSON values that all fit; only one may be there", Critical: true}}
		parsed.keepRaw(c, text)
		return parsed, err
	}
	if r.value != nil {
		parsed.Problems = c.warnings(r.value)
		_ = parsed.Output.UnmarshalJSON(r.value) // what fits is an object
		if r.isCut {
			parsed.markCut()
		}
		return parsed, nil
	}
	parsed.Problems = c.problemsIn(r)
	if output, ok := c.readMarkdown(withoutThoughts(text)); ok {
		parsed.Output, parsed.Level = output, LevelMarkdown
		parsed.note("markdown: headings name outputs")
		parsed.Correction = c.correction(parsed.Problems)
		return parsed, nil
	}
	parsed.note("markdown: no headings name the outputs that are needed")
	parsed.keepRaw(c, text)
	return parsed, nil
}

func (p *Parsed) note(text string) { p.Notes = append(p.Notes, text) }

// markCut makes an answer of which a part is missing partial, whatever it says of itself.
func (p *Parsed) markCut() {
	const cut = "it is not whole: it breaks off, or leaves something out"
	if p.Output.Status == troupe.StatusSuccess {
		p.Output.Status = troupe.StatusPartial
	}
	p.Output.Errors = append(p.Output.Errors, TextItem(cut))
	p.Problems = append(p.Problems, Problem{Message: cut})
}

func (p *Parsed) keepRaw(c *Contract, text string) {
	kept, _ := json.Marshal(map[string]string{"text": text}) // of strings it cannot fail
	p.Level = LevelRaw
	p.Output = Output{Status: troupe.StatusPartial, Phase: c.phase, Outputs: kept, Artifacts: []Artifact{}}
	for _, problem := range p.Problems {
		if problem.Critical {
			p.Output.Errors = append(p.Output.Errors, TextItem(problem.String()))
		}
	}
	p.note("raw: the text is kept as it is")
	p.Correction = c.correction(p.Problems)
}

// problemsIn says why a text that nothing was read from is not an answer: by the first
// object whose syntax is broken, and by the largest that is sound or could be mended.
func (c *Contract) problemsIn(r reading) (problems []Problem) {
	if r.unsound != nil {
		problems = c.Check(r.unsound)
	}
	if r.largest != nil {
		problems = append(problems, c.Check(r.largest)...)
	}
	if problems == nil {
		problems = []Problem{{Message: "it holds no JSON object that could be read", Critical: true}}
	}
	return problems
}

// correction returns the request to answer again.
func (c *Contract) correction(problems []Problem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your last answer cannot be used as the output of the phase %q:\n", c.phase)
	for _, p := range problems {
		fmt.Fprintf(&b, "- %s\n", p)
	}
	b.WriteString("Answer again with the whole corrected JSON object and nothing else: no code block, no explanation. Keep what was right.")
	return b.String()
}

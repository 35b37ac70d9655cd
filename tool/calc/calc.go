// Package calc gives agents the tool calculator, which works out arithmetic expressions.
//
// Numbers are fractions of big integers, so integers and decimals are exact;
// roots, logarithms and the like are float64. How long an expression is, how
// deeply it is nested and how many digits a number has are bounded, and so is the
// time that any expression takes.
package calc

import (
	"context"
	_ "embed"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed calculator.md
var description string

type request struct {
	Expression string `json:"expression" jsonschema:"such as (1200 - 350) * 0.19 or sqrt(2)^3"`
}

type result struct {
	Result string `json:"result"`
	Exact  bool   `json:"exact" jsonschema:"false where the result is rounded"`
}

// New returns the tool calculator.
func New() troupe.Tool {
	return troupe.NewTool("calculator", strings.TrimSpace(description), func(_ context.Context, in request) (result, error) {
		v, err := evaluate(in.Expression)
		if err != nil {
			return result{}, &troupe.ToolError{Class: "invalid_arguments", Err: err}
		}
		text, exact := v.format()
		return result{Result: text, Exact: exact}, nil
	}, troupe.ReadOnly())
}

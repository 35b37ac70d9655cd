package approve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
)

type transfer struct {
	Amount int    `json:"amount"`
	To     string `json:"to,omitempty"`
}

func payTool() troupe.Tool {
	return troupe.NewTool("pay", "Pays.", func(context.Context, transfer) (string, error) { return "paid", nil })
}

// openTool takes whatever it is given.
func openTool(t *testing.T, name string) troupe.Tool {
	t.Helper()
	tool, err := troupe.NewRawTool(troupe.ToolSpec{Name: name, Input: json.RawMessage(`{"type":"object","properties":{"a":{}},"additionalProperties":true}`)},
		func(context.Context, *troupe.Invocation) (troupe.Result, error) { return troupe.Result{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// A rule that a mistyped name keeps from ever matching would allow what it was to deny.
func TestARuleThatCanNeverMatchIsRefused(t *testing.T) {
	where := func(name string) map[string]string { return map[string]string{name: "*"} }
	for _, c := range []struct {
		rule   approve.Rule
		want   string // empty where nothing is wrong
		panics bool
	}{
		{approve.Rule{Tool: "pay", Where: where("amount"), Do: approve.Deny}, "", false},
		{approve.Rule{Tool: "pay", Where: where("amuont"), Do: approve.Deny}, "approval rule 2: the tool pay has no argument amuont; did you mean amount?; there are amount, to", true},
		{approve.Rule{Tool: "pay", Where: where("Amount"), Do: approve.Ask}, "has no argument Amount; did you mean amount?", true},
		{approve.Rule{Tool: "pay", Where: where("amuont"), Do: approve.Allow}, "has no argument amuont", true},
		{approve.Rule{Tool: "pya", Do: approve.Deny}, "approval rule 2: there is no tool pya; did you mean pay?; there are pay, wild", false},
		{approve.Rule{Tool: "p*", Where: where("amuont"), Do: approve.Deny}, "no tool that p* means has an argument amuont; did you mean amount?", false},
		{approve.Rule{Tool: "*", Where: where("amuont"), Do: approve.Deny}, "", false}, // the other one may have it
		{approve.Rule{Tool: "wild", Where: where("b"), Do: approve.Deny}, "", false},
		{approve.Rule{Tool: "delete_*", Do: approve.Deny}, "", false},
	} {
		policy := approve.Policy{{Tool: "*", Where: where("amount"), Do: approve.Ask}, c.rule}
		if err := policy.Check(); err != nil {
			t.Errorf("%+v without tools: %v", c.rule, err)
		}
		err := policy.Check(payTool(), openTool(t, "wild"))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v is told as %v", c.rule, err)
		}
		func() {
			defer func() {
				r := recover()
				if (r != nil) != c.panics || r != nil && !strings.Contains(fmt.Sprint(r), c.want) {
					t.Errorf("%+v: Tools panics with %v", c.rule, r)
				}
			}()
			policy.Tools(payTool(), openTool(t, "wild"))
		}()
	}
}

package project

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/approve"
)

// What a server's tool takes is known when the server is asked. A rule that does not fit it
// lets nothing through.
func TestARuleThatDoesNotFitAServersToolStopsItsCalls(t *testing.T) {
	tool := func(name string) troupe.Tool {
		return troupe.NewTool(name, "x", func(context.Context, struct {
			Amount int `json:"amount"`
		}) (string, error) {
			return "paid", nil
		})
	}
	p := &Project{log: slog.New(slog.DiscardHandler)}
	for argument, fits := range map[string]bool{"amount": true, "amuont": false} {
		p.approve = approve.Policy{{Tool: "bank__pay", Where: map[string]string{argument: "5"}, Do: approve.Deny}, {Tool: "read_file", Where: map[string]string{"file_path": "x"}, Do: approve.Deny}}
		_, err := p.guard(tool("bank__pay"))[0].Call(t.Context(), &troupe.Invocation{Arguments: []byte(`{"amount":7}`)})
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "bank__pay has no argument amuont; did you mean amount?") {
			t.Errorf("where %s: %v", argument, err)
		}
		// Two tools of one name may have different arguments: the rule is about one of them.
		if _, err := p.guard(tool("read_file"))[0].Call(t.Context(), &troupe.Invocation{Arguments: []byte(`{"amount":7}`)}); err != nil {
			t.Error(err)
		}
	}
}

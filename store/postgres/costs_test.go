package postgres

import (
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// What was spent before there were sums is in them.
func TestAnOlderStoreKnowsWhatWasSpent(t *testing.T) {
	server := shared.Server(t)
	address := server.Schema()
	s := openAt(t, address)
	paid := func(text string, cost float64) troupe.Body {
		return &troupe.ModelReplied{Message: &troupe.Message{Role: troupe.RoleAssistant, Text: text}, Cost: cost, Model: "m", Purpose: "summary", Context: troupe.ContextUse{System: 1, Window: 5}}
	}
	call := paid("", 1.5e-7).(*troupe.ModelReplied)
	call.Message.Opaque = []byte(`{"cost":9,"latency_ms":1,"first_token_ms":1,"context":{}}`)
	mustAppend(t, s, eventsOf(id(1), 1, paid("\x00", 0.25), paid(`"cost":7,"latency_ms":1`, 0.5), said("free"), paid("free", 0), call)...)
	mustAppend(t, s, eventsOf(id(2), 1, paid("", 4), &troupe.SessionForked{From: id(1), After: 1})...)
	s.Close()
	server.SQL(t, "postgres", "DROP TABLE "+s.schema+".spent; ALTER TABLE "+s.schema+".owners DROP COLUMN queues")
	server.SQL(t, "postgres", "UPDATE "+s.schema+".troupe_version SET version = 6")
	n := 0
	for got, err := range openAt(t, address).Costs(t.Context(), time.Time{}) {
		n++
		if want := (troupe.DayCost{Day: "2024-02-29", Agent: "alex", Cost: 0.75 + 1.5e-7}); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	if n != 1 {
		t.Errorf("there are %d sums", n)
	}
}

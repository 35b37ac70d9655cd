package project_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// A list of sessions costs as many statements whether it is short or long, once the server knows what
// is in them.
func TestAListOfSessionsIsNotPaidForBySession(t *testing.T) {
	server := postgrestest.Start(t, "shared_preload_libraries=pg_stat_statements")
	server.SQL(t, "postgres", "CREATE EXTENSION pg_stat_statements SCHEMA public")
	address := server.Schema()
	_, schema, _ := strings.Cut(address, "schema=")
	f := launch(t, address, 1)
	f.ask("POST", "/api/sessions", `{"agent":"mira"}`)
	f.ask("POST", "/api/sessions/{id}/messages", `{"text":"*help"}`)
	f.settle()
	server.Multiply(t, schema, f.session, 100)
	list := func(limit int) {
		t.Helper()
		answer := f.send("GET", fmt.Sprintf("/api/sessions?limit=%d", limit), "")
		defer answer.Body.Close()
		var found []struct{ ID string }
		if data, err := io.ReadAll(answer.Body); err != nil || json.Unmarshal(data, &found) != nil || len(found) != limit {
			t.Fatalf("%d sessions, %v: %.200s", len(found), err, data)
		}
	}
	// statements counts those that read sessions, what is in them and what is kept of them, beside what a process
	// does by itself from time to time.
	statements := func(act func()) int {
		t.Helper()
		server.SQL(t, "postgres", "SELECT public.pg_stat_statements_reset()")
		act()
		out := server.SQL(t, "postgres", `SELECT coalesce(sum(calls), 0) FROM public.pg_stat_statements WHERE query ~ 'FROM (shelf|events|sessions)' AND query !~ 'owner = |indexed|pg_stat'`)
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := statements(func() { list(80) })
	few, many := statements(func() { list(5) }), statements(func() { list(80) })
	if many > few+2 {
		t.Errorf("a list of 80 sessions takes %d statements, one of 5 %d", many, few)
	}
	t.Logf("80 sessions for the first time: %d statements; then %d, and 5 sessions %d", first, many, few)
}

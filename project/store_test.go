package project_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// sessionsInStore is how many sessions the store of a test has: TROUPE_SESSIONS says
// another number.
func sessionsInStore(t *testing.T) int {
	if text := os.Getenv("TROUPE_SESSIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 3000
}

// What a start costs does not depend on how many sessions there are: it looks at those
// that were used last, by an index, and never at all of them.
func TestTheCostOfAStartDoesNotGrowWithTheSessions(t *testing.T) {
	server := postgrestest.Start(t)
	address := server.Schema()
	_, schema, _ := strings.Cut(address, "schema=")
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, project.Name), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = fmt.Fprintf(file, "\nstore: %s\n", address)
	}
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	start := func(act func(*project.Project, *troupe.Engine)) time.Duration {
		began := time.Now()
		p, err := project.Open(dir, project.Options{Model: "rehearsal"})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		engine, err := p.Engine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Server(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if act != nil {
			act(p, engine)
		}
		return took
	}
	var session string
	start(func(p *project.Project, engine *troupe.Engine) {
		player, err := p.Agent(t.Context(), "mira")
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range engine.Run(t.Context(), player, troupe.Input{Text: "*help"}) {
			if err != nil {
				t.Fatal(err)
			}
			session = e.Session
		}
	})
	few := start(nil)
	n := sessionsInStore(t)
	server.Multiply(t, schema, session, n)
	read := func() string {
		// What was counted is written down when a connection is given up.
		return server.SQL(t, "postgres", "SELECT pg_stat_clear_snapshot(), seq_tup_read FROM pg_stat_user_tables WHERE relname = 'sessions' AND schemaname = '"+schema+"'")
	}
	before := read()
	many := start(nil)
	if after := read(); after != before {
		t.Errorf("rows of sessions that were read one after the other: %s, and before the start %s", after, before)
	}
	t.Logf("a start took %s with 1 session and %s with %d", few, many, n+1)
	start(func(p *project.Project, _ *troupe.Engine) {
		s, err := p.Server(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		request := httptest.NewRequest("GET", "/api/sessions?limit=50", nil)
		request.Host, request.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
		request.Header.Set("Authorization", "Bearer "+s.Token())
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, request)
		if answer.Code != 200 || strings.Count(answer.Body.String(), `"id"`) < 50 {
			t.Errorf("listing answers %d: %.300s", answer.Code, answer.Body)
		}
		t.Logf("a list of 50 took %s", time.Since(began))
	})
}

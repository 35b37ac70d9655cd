package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/work"
)

// as returns an address for a role that may do nothing but connect, which it makes.
func as(t *testing.T, server *postgrestest.Server, address, role string) string {
	t.Helper()
	server.SQL(t, "postgres", "CREATE ROLE "+role+" LOGIN PASSWORD 'hunter2'")
	return strings.Replace(address, "troupe:only%20for%20tests", role+":hunter2", 1)
}

// Whoever may not make the tables is told the same by those who look and those who open.
func TestARoleThatMayNotMakeTheSchemaIsToldWhatToGrant(t *testing.T) {
	server := shared.Server(t)
	address := as(t, server, server.Schema(), "nomaker")
	_, schema, _ := strings.Cut(address, "schema=")
	opened := refusal(t, address, Options{})
	_, examined := Examine(t.Context(), address)
	if examined == nil || opened.Error() != "open store: "+examined.Error() {
		t.Errorf("doctor says %v\nserve says  %v", examined, opened)
	}
	if want := `GRANT CREATE ON DATABASE "postgres" TO "nomaker"`; !strings.Contains(opened.Error(), want) {
		t.Errorf("%v; want %s", opened, want)
	}
	if err := refusal(t, address, Options{ReadOnly: true}); !errors.Is(err, ErrNoStore) {
		t.Errorf("to read where nothing is: %v", err)
	}
	// A schema of its own is enough.
	server.SQL(t, "postgres", "CREATE SCHEMA "+schema+" AUTHORIZATION nomaker")
	if _, err := Examine(t.Context(), address); err != nil {
		t.Error(err)
	}
	mustAppend(t, openAt(t, address), eventsOf(id(1), 1, said("hi"))...)
}

func TestARoleWithoutRightsOnTheTablesIsToldWhatToGrant(t *testing.T) {
	server := shared.Server(t)
	address := server.Schema()
	_, schema, _ := strings.Cut(address, "schema=")
	mustAppend(t, openAt(t, address), eventsOf(id(1), 1, said("hi"))...)
	guest := as(t, server, address, "stranger")
	grant := `GRANT "troupe" TO "stranger"`
	for _, step := range []struct {
		rights          string
		reads, examined bool
	}{
		{"", false, false},
		{"GRANT USAGE ON SCHEMA " + schema + " TO stranger", false, false},
		{"GRANT SELECT ON ALL TABLES IN SCHEMA " + schema + " TO stranger", true, false},
		{"GRANT ALL ON ALL TABLES IN SCHEMA " + schema + " TO stranger", true, false}, // and who makes those of the next month?
		{grant, true, true},
	} {
		if step.rights != "" {
			server.SQL(t, "postgres", step.rights)
		}
		for what, c := range map[string]struct {
			works bool
			act   func() error
		}{
			"write": {step.examined, func() error { return tried(Open(t.Context(), guest, Options{})) }},
			"read":  {step.reads, func() error { return tried(Open(t.Context(), guest, Options{ReadOnly: true})) }},
			"look":  {step.examined, func() error { _, err := Examine(t.Context(), guest); return err }},
		} {
			err := c.act()
			if c.works != (err == nil) || err != nil && (!strings.Contains(err.Error(), grant) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%q, to %s: %v", step.rights, what, err)
			}
		}
	}
}

func tried(s *Store, err error) error {
	if err == nil {
		err = s.Close()
	}
	return err
}

// What an ordinary role may not see is said, and everything else is looked at all the same.
func TestARoleThatMayNotSeeStandbysIsToldSo(t *testing.T) {
	server := postgrestest.Start(t)
	address := as(t, server, server.Address("postgres"), "plain")
	server.SQL(t, "postgres", "GRANT CREATE ON DATABASE postgres TO plain")
	s := openAt(t, address)
	if err := s.AddJob(t.Context(), work.Job{Session: id(1), Step: "a"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	server.SQL(t, "postgres", "UPDATE troupe.jobs SET since = since - interval '2 minutes'")
	server.Standby(t)
	for server.SQL(t, "postgres", "SELECT count(*) FROM pg_stat_replication WHERE sync_state IS NOT NULL") == "0" {
	}
	d, err := Examine(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(d.Problems())
	for _, want := range []string{`user "plain" may not see whether commits wait for it`, `GRANT pg_monitor TO "plain"`, "1 run has waited"} {
		if !strings.Contains(text, want) {
			t.Errorf("the problems are %s; want %s", text, want)
		}
	}
	server.SQL(t, "postgres", "GRANT pg_monitor TO plain")
	if d, err := Examine(t.Context(), address); err != nil || !strings.Contains(fmt.Sprint(d.Problems()), "no standby is synchronous") {
		t.Errorf("%v, %v", d.Problems(), err)
	}
}

// Members of the role that a schema belongs to make its tables for all of them, whoever comes first.
func TestAMemberMakesTheTablesOfTheOwner(t *testing.T) {
	server := shared.Server(t)
	owner := as(t, server, server.Schema(), "owning")
	member := strings.Replace(owner, "owning:", "belonging:", 1)
	_, schema, _ := strings.Cut(owner, "schema=")
	server.SQL(t, "postgres", "CREATE ROLE belonging LOGIN PASSWORD 'hunter2'; GRANT owning TO belonging; CREATE SCHEMA "+schema+" AUTHORIZATION owning")
	first := openAt(t, member)
	mustAppend(t, first, eventsOf(id(1), 1, said("hi"))...)
	if err := first.makeMonth(t.Context(), 203001); err != nil {
		t.Fatal(err)
	}
	rows, err := first.pool.Query(t.Context(), "SELECT tablename || ' is of ' || tableowner FROM pg_tables WHERE schemaname = $1 AND tableowner <> 'owning'", schema)
	if err != nil {
		t.Fatal(err)
	}
	if others, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(others) > 0 {
		t.Errorf("%q, %v", others, err)
	}
	mustAppend(t, openAt(t, owner), eventsOf(id(2), 1, said("hi"))...)
}

// Tables that a member made for itself are told to be given to the owner.
func TestTablesOfAMemberAreToBeGivenToItsOwner(t *testing.T) {
	server := shared.Server(t)
	owner := as(t, server, server.Schema(), "landlord")
	member := strings.Replace(owner, "landlord:", "tenant:", 1)
	_, schema, _ := strings.Cut(owner, "schema=")
	server.SQL(t, "postgres", "CREATE ROLE tenant LOGIN PASSWORD 'hunter2'; CREATE SCHEMA "+schema+" AUTHORIZATION tenant")
	openAt(t, member)
	server.SQL(t, "postgres", "ALTER SCHEMA "+schema+" OWNER TO landlord; GRANT landlord TO tenant")
	advice := `REASSIGN OWNED BY "tenant" TO "landlord"`
	if err := refusal(t, owner, Options{}); !strings.Contains(err.Error(), advice) {
		t.Errorf("%v; want %s", err, advice)
	}
	server.SQL(t, "postgres", "SET ROLE tenant; "+advice)
	openAt(t, owner)
}

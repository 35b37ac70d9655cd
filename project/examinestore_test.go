package project_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store/postgres"
)

// checksOf returns what doctor says of a part of a project, one line for each check.
func checksOf(t *testing.T, dir, name string) (lines []string) {
	t.Helper()
	for _, c := range project.Diagnose(t.Context(), dir, project.Options{LookupEnv: keys}) {
		if c.Name == name {
			lines = append(lines, fmt.Sprintf("%s %s → %s", c.Status, c.Message, c.Fix))
		}
	}
	return lines
}

// Whatever is wrong with a store is said once, with what to do about it, and nothing dangerous.
func TestDoctorSaysOnceWhatIsWrongWithTheStore(t *testing.T) {
	bucket, database := serveObjects(t), postgrestest.Start(t)
	good := database.Schema()
	files := "files: s3://files/troupe?endpoint=" + url.QueryEscape(bucket.URL)
	database.SQL(t, "postgres", "CREATE ROLE guest LOGIN PASSWORD 'hunter2'")
	for name, c := range map[string]struct{ store, want string }{
		"well":             {good, "ok PostgreSQL"},
		"a wrong password": {strings.Replace(good, "only%20for%20tests", "hunter2", 1), `broken postgres://`},
		"nobody answers":   {"postgres://u:hunter2@127.0.0.1:1/d", "broken the database cannot be reached"},
		"no rights":        {strings.Replace(good, "troupe:only%20for%20tests", "guest:hunter2", 1), "GRANT CREATE ON DATABASE"},
	} {
		dir := write(t, fmt.Sprintf("model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nstore: %s\n%s\n", c.store, files))
		var broken int
		lines := checksOf(t, dir, "store")
		for _, line := range lines {
			if strings.HasPrefix(line, "broken") {
				broken++
			}
			if strings.Contains(line, "backup") || strings.Contains(line, "hunter2") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if all := strings.Join(lines, "\n"); broken > 1 || (broken == 0) != (name == "well") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %s", name, all)
		}
		if got := checksOf(t, dir, "files"); len(got) != 1 || !strings.HasPrefix(got[0], "ok bucket files at ") {
			t.Errorf("%s: files are %q", name, got)
		}
	}
	bucket.Close()
	dir := write(t, fmt.Sprintf("model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nstore: %s\n%s\n", good, files))
	if got := checksOf(t, dir, "files"); len(got) != 1 || !strings.HasPrefix(got[0], "broken bucket files at ") {
		t.Errorf("of one that is away: %q", got)
	}
	if got := checksOf(t, write(t, "model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nstore: .\n"), "store"); len(got) != 1 || strings.Contains(got[0], "backup") {
		t.Errorf("of a directory: %q", got)
	}
}

// A bucket that is away is the bucket, not the database, and is said once.
func TestABucketThatIsAwayIsNotTheDatabase(t *testing.T) {
	bucket, database := serveObjects(t), postgrestest.Start(t)
	dir := t.TempDir()
	if _, _, err := project.Init(dir); err != nil {
		t.Fatal(err)
	}
	addTo(t, dir, fmt.Sprintf("\nstore: %s\nfiles: s3://files/troupe?endpoint=%s\n", database.Schema(), url.QueryEscape(bucket.URL)))
	p := open(t, dir, project.Options{Model: "rehearsal", LookupEnv: keys})
	e, a := engine(t, p), agent(t, p, "mira")
	var session string
	for _, text := range []string{"*decide", "a", "b", "c", "d"} {
		if text == "d" { // with which a file is saved
			bucket.Close()
		}
		outcome, err := troupe.Collect(e.Run(t.Context(), a, troupe.Input{Session: session, Text: text}))
		session = outcome.Session
		if err == nil {
			continue
		}
		if got := err.Error(); strings.Contains(got, "database") || strings.Contains(got, "postgres://") || strings.Count(got, "is out of reach") != 1 {
			t.Error(got)
		}
		t.Log(err)
		return
	}
	t.Error("nothing failed")
}

// addTo adds lines to the troupe.yaml of a directory.
func addTo(t *testing.T, dir, lines string) {
	t.Helper()
	name := filepath.Join(dir, project.Name)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(text, lines...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whether anybody takes up what servers put on record is said by queue.
func TestDoctorSaysWhichQueuesHaveWorkers(t *testing.T) {
	address := postgrestest.Start(t).Schema()
	dir := write(t, fmt.Sprintf("model: rehearsal\nagents: {clerk: {instructions: You answer.}}\nengine: workers\nqueues: [{name: slow, agents: [clerk]}]\nstore: %s\n", address))
	none, noneSlow := "warning no worker is there for runs that fit no queue: ", "warning no worker is there for runs of queue slow: "
	expect := func(when string, want ...string) {
		t.Helper()
		got := checksOf(t, dir, "workers")
		for i := range want {
			if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q; want %q", when, got, want)
				return
			}
		}
	}
	expect("before there is a store", none, noneSlow)
	p := open(t, dir, project.Options{})
	engine(t, p)
	expect("with a server", none, noneSlow)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Work(ctx, "slow", 1) }()
	for { // until it is on record
		d, err := postgres.Examine(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		if d.Workers["slow"] == 1 {
			break
		}
	}
	expect("with a worker", none, "ok 1 worker for runs of queue slow")
	stop()
	<-ended
	expect("when it has ended", none, noneSlow)
}

// The name of a store that is none may have a password in it.
func TestAPlaceThatIsNoStoreIsNotShown(t *testing.T) {
	p := open(t, write(t, "model: rehearsal\nagents: {clerk: {instructions: You answer.}}\n"), project.Options{})
	for _, name := range []string{"mysql://troupe:hunter2@host/d", "postgres:/troupe:hunter2@host/d", "postgress://troupe:hunter2@host/d"} {
		if _, err := p.OpenPlace(t.Context(), name, true); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "is no store") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package project_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
	"github.com/troupe-dev/troupe/project"
)

// What nothing has happened in for long is deleted with its files, and nothing else.
func TestOldSessionsAreDeletedWithTheirFiles(t *testing.T) {
	for name, store := range map[string]string{"file": "", "PostgreSQL": "store: " + postgrestest.Start(t).Schema() + "\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			yaml := "model: rehearsal\nretention: 720h\nagents: {clerk: {instructions: You answer.}}\n" + store
			if err := os.WriteFile(filepath.Join(dir, project.Name), []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := project.Open(dir, project.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			engine, err := p.Engine(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			step, err := p.Step(t.Context(), "clerk")
			if err != nil {
				t.Fatal(err)
			}
			run := func() string {
				outcome, err := troupe.Collect(engine.Run(t.Context(), step, troupe.Input{Text: "hello"}))
				if err != nil {
					t.Fatal(err)
				}
				return filepath.Join(dir, "data", "agent-outputs", outcome.Session)
			}
			old := run()
			between := time.Now()
			if err := os.Chtimes(old, between.Add(-time.Hour), between.Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
			young := run()
			if n, err := p.Prune(t.Context(), between); n != 1 || err != nil {
				t.Errorf("%d deleted, %v", n, err)
			}
			if _, err := os.Stat(old); !os.IsNotExist(err) {
				t.Errorf("the files of the old session: %v", err)
			}
			if _, err := os.Stat(young); err != nil {
				t.Errorf("the files of the young session: %v", err)
			}
			if n, err := p.Prune(t.Context(), between); n != 0 || err != nil {
				t.Errorf("again: %d deleted, %v", n, err)
			}
		})
	}
}

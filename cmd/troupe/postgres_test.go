package main

import (
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// Everything is as it is with a file, where the store is a database.
func TestScriptsOnPostgreSQL(t *testing.T) {
	server := postgrestest.Start(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/postgres",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", hurry)
			env.Setenv("DATABASE_URL", server.Schema())
			env.Setenv("PORT", strconv.Itoa(server.Port))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "project": writeProject, "session": latestSession},
	})
}

package main

import (
	"errors"
	"flag"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/troupe-dev/troupe/internal/corpus"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/troupetest"
)

var update = flag.Bool("update", false, "rewrite what scripts expect")

// hurry keeps the race detector from sleeping for a second whenever a process ends.
const hurry = "atexit_sleep_ms=0"

// raceDetector says that the tests run with it.
var raceDetector bool

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pipeline.SandboxArgument {
		os.Exit(pipeline.SandboxMain())
	}
	testscript.Main(quick{m}, map[string]func(){"troupe": main})
}

// quick is a test run whose processes are the program as people have it, not this test
// program: with the race detector that takes half a second to start and several times as
// long for all it does, and hundreds are started. Races are looked for in the packages; TROUPE_RACE_PROGRAM=1 has
// them looked for in the processes, too.
type quick struct{ tests *testing.M }

func (q quick) Run() int {
	if !raceDetector || os.Getenv("TROUPE_RACE_PROGRAM") != "" {
		return q.tests.Run()
	}
	dir, err := os.MkdirTemp("", "troupe-program")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", dir, ".").CombinedOutput(); err != nil {
		log.Fatalf("build troupe: %v\n%s", err, out)
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		log.Fatal(err)
	}
	return q.tests.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", hurry)
			env.Setenv("TROUPE_LOOK_FOR_OLLAMA", "no")
			env.Setenv("EXAMPLES", filepath.Join(corpus.ModuleRoot(t), "examples"))
			for name, value := range map[string]string{"XDG_CACHE_HOME": filepath.Join(env.WorkDir, ".cache"), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
				"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_CEILING_DIRECTORIES": filepath.Dir(env.WorkDir)} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"project": writeProject,
			"session": latestSession,
			"serve":   func(ts *testscript.TestScript, _ bool, args []string) { serve(t, ts, args) },
			"speak":   func(ts *testscript.TestScript, _ bool, args []string) { speak(t, ts, args) },

			"writehost": writeHost,
		},
	})
}

// latestSession puts the id of a project's newest session folder into a variable:
// session NAME PROJECT
func latestSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: session NAME PROJECT")
	}
	folders, err := os.ReadDir(ts.MkAbs(filepath.Join(args[1], "data", "agent-outputs")))
	ts.Check(err)
	var newest string
	var made time.Time
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), ".") {
			continue // what is on its way to its place, or away
		}
		info, err := os.Stat(ts.MkAbs(filepath.Join(args[1], "data", "agent-outputs", f.Name(), "manifest.json")))
		ts.Check(err)
		if info.ModTime().After(made) {
			newest, made = f.Name(), info.ModTime()
		}
	}
	ts.Setenv(args[0], newest)
}

// exits runs a command that must end with an exit code: exits 3 troupe lint
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d\n[stdout]\n%s[stderr]\n%s", code, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// writeProject writes the project of troupe init, without running it: project DIR
func writeProject(ts *testscript.TestScript, _ bool, args []string) {
	_, _, err := project.Init(ts.MkAbs(args[0]))
	ts.Check(err)
}

// serve starts a model server that answers with texts, and puts its URL into
// $SERVER: serve 'Hello there.' 'Goodbye.'
func serve(t *testing.T, ts *testscript.TestScript, texts []string) {
	var plan []troupetest.Exchange
	for _, text := range texts {
		plan = append(plan, troupetest.ServeText(text))
	}
	ts.Setenv("SERVER", troupetest.NewServer(t, plan...).URL)
}

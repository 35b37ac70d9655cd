package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// standIn starts a worker whose program for Temporal is a script, in a directory that the script can write to.
func standIn(t *testing.T, script string) (worker *process, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program for Temporal is a shell script here")
	}
	dir, programs := write(t, oneClerk+"engine: temporal\nstore: postgres://127.0.0.1:1/none\n"), t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, temporalProgram), []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return start(t, dir, []string{"PATH=" + programs + ":" + os.Getenv("PATH")}, nil, "worker"), dir
}

func exists(name ...string) bool {
	_, err := os.Stat(filepath.Join(name...))
	return err == nil
}

// The program for Temporal hears that the worker is gone, however that ended.
func TestTheProgramForTemporalOutlivesNoWorker(t *testing.T) {
	worker, dir := standIn(t, "echo \"$@\" > began\ncat > /dev/null\n: > ended\n")
	until(t, "the program has begun", func() bool { return exists(dir, "began") })
	worker.Process.Kill()
	worker.Wait()
	until(t, "the program hears of it", func() bool { return exists(dir, "ended") })
	args, err := os.ReadFile(filepath.Join(dir, "began"))
	if err != nil || !strings.Contains(string(args), "worker -until-eof ") {
		t.Errorf("it was called with %s, %v", args, err)
	}
}

// A worker whose program is killed says so.
func TestAWorkerSaysThatItsProgramWasKilled(t *testing.T) {
	worker, _ := standIn(t, "kill -9 $$\n")
	if code, told := worker.code(), strings.TrimSpace(worker.err.String()); code != exitFailed || told != "troupe: troupe-temporal ended: signal: killed" {
		t.Errorf("it ended with %d: %s", code, told)
	}
}

// One that is told to end ends quietly, as a server does.
func TestAWorkerWithTemporalEndsQuietly(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		worker, dir := standIn(t, "trap 'exit 0' INT\n: > began\nwhile :; do sleep 0.01; done\n")
		until(t, "the program has begun", func() bool { return exists(dir, "began") })
		worker.Process.Signal(signal)
		if code := worker.code(); code != exitDone || worker.err.Len() > 0 {
			t.Errorf("%v: it ended with %d: %s", signal, code, &worker.err)
		}
	}
}

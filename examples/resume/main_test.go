package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// With the variable set, the test binary is the program.
func TestMain(m *testing.M) {
	if path := os.Getenv("TROUPE_EXAMPLE_STORE"); path != "" {
		if err := run(os.Stdout, path); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheSecondProcessGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "troupe.db")
	program := func() (string, int) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TROUPE_EXAMPLE_STORE="+path)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := program(); out != "the card is charged\nthe process dies\n" || code != 1 {
		t.Fatalf("the first process ended with %d and printed:\n%s", code, out)
	}
	if out, code := program(); out != "the order is shipped\nanswered\n" || code != 0 {
		t.Errorf("the second process ended with %d and printed:\n%s", code, out)
	}
}

//go:build unix

package mcp_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCloseEndsTheProcessAndWhatItStarted(t *testing.T) {
	for _, mode := range []string{"plain", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			s := open(t, rogueConfig(t, mode))
			text, err := use(t, s, "rogue__fork", nil)
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s.Close()
			for isRunning(child) { // a kill takes a moment
				if time.Since(began) > time.Minute {
					t.Fatal("what the server started is still running")
				}
				runtime.Gosched()
			}
		})
	}
}

// isRunning reports whether a process runs; one that nobody waits for does not.
func isRunning(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || !strings.Contains(string(state), ") Z ")
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The example does what it says, with no key.
func TestQuickstart(t *testing.T) {
	cmd := exec.Command("go", "run", ".")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "OPENAI_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`tool:  add {"a":19.5,"b":22.5}`, "42 (ok)", "clerk: ", "answered after 2 turns"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

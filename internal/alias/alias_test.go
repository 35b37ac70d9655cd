package alias_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/alias"
)

func TestTheProgramIsFoundAndItsExitCodePassedOn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	var out, complaints strings.Builder
	if code := alias.Run("test-phase", nil, nil, &out, &complaints); code != 1 || !strings.HasPrefix(complaints.String(), "bmad-test-phase: it needs the program troupe") {
		t.Errorf("code %d: %s", code, &complaints)
	}
	script := "#!/bin/sh\necho \"$@\"\nread line\necho \"$line\" >&2\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "troupe"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	complaints.Reset()
	code := alias.Run("validate-schema", []string{"qa", "a b"}, strings.NewReader("input\n"), &out, &complaints)
	if code != 3 || out.String() != "validate-schema qa a b\n" || complaints.String() != "input\n" {
		t.Errorf("code %d, %q, %q", code, out.String(), complaints.String())
	}
}

package approve_test

import (
	"encoding/json"
	"testing"

	"github.com/troupe-dev/troupe/tool/approve"
)

// A file has many names. None of them talks a rule round.
func TestARuleHoldsHoweverAFileIsNamed(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		allow, ask    bool // whether a rule matches that allows, and one that asks
	}{
		{"secret*", "secret/a.md", true, true},
		{"secret*", "./secret/a.md", false, true},
		{"secret*", "notes/../secret/a.md", false, true},
		{"secret*", ".//secret/a.md", false, true},
		{"secret*", "{session-folder}/secret/a.md", false, true},
		{"secret*", "{{session_folder}}/./secret/a.md", false, true},
		{"secret*", "/srv/outputs/1/secret/a.md", false, true},
		{"secret*", "../1/secret/a.md", false, true},
		{"secret*", "~/secret/a.md", false, true},
		{"secret*", "file:///srv/secret/a.md", false, true},
		{"./secret*", "secret/a.md", false, true},
		{"secret/a.md", "secret/b/../a.md", false, true},
		{"secret/*", "secret/../notes.md", false, true},
		{"notes/*", "notes/a/b.md", true, true},
		{"notes/*", "notes/./a.md", true, true},
		{"notes/*", "notes/../secret.md", false, true},
		{"notes/*", `notes\..\secret.md`, false, false},
		{"notes/*", "notes/..", false, true},
		{"notes/*", "notes/a..b/..c.md", true, true},
		{"notes/../*", "notes/../a.md", false, true},
		{"notes/../a.md", "notes/../a.md", true, true},
		{"*", "notes/../a.md", true, true},
		{"secret*", "notes/secret.md", false, false},
		{"secret*", "a text: ../secret", false, false},
		{"git diff *", "git diff ../other", true, true},
		{"rm *", "/bin/rm -r x", false, true},
	} {
		arguments, err := json.Marshal(map[string]string{"path": c.path})
		if err != nil {
			t.Fatal(err)
		}
		for do, want := range map[approve.Decision]bool{approve.Allow: c.allow, approve.Ask: c.ask, approve.Deny: c.ask} {
			otherwise := approve.Deny
			if do == approve.Deny {
				otherwise = approve.Allow
			}
			policy := approve.Policy{{Tool: "write_file", Where: map[string]string{"path": c.pattern}, Do: do}, {Tool: "*", Do: otherwise}}
			if got := policy.Decide("write_file", arguments) == do; got != want {
				t.Errorf("%s %s matches %s: %t", do, c.pattern, c.path, got)
			}
		}
	}
}

package eval

import (
	"path"
	"testing"
)

// A case is played on another day: files that are named for theirs are found by a pattern.
func TestFilesOfACaseHaveNoDate(t *testing.T) {
	for name, want := range map[string]string{
		"decision.md":                      "decision.md",
		"decision-2026-11-16.md":           "decision-*.md",
		"2026_11_16 notes.txt":             "* notes.txt",
		"report-20261116.csv":              "report-*.csv",
		"report-20261116-114502.csv":       "report-*.csv",
		"log-2026-11-16T11-45-02Z.md":      "log-*.md",
		"2026-11-16-to-2026-11-30.md":      "*-to-*.md",
		"iso-20022.md":                     "iso-20022.md",
		"part-1234-5678.md":                "part-1234-5678.md",
		"plan [draft] 2026-11-16 what?.md": `plan \[draft] * what\?.md`,
	} {
		if got := undated(name); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		if ok, err := path.Match(undated(name), name); !ok || err != nil {
			t.Errorf("%s is not what %s looks for: %v", name, undated(name), err)
		}
	}
}

//go:build unix

package main

import (
	"strings"
	"testing"
)

// What is told of a full disk names it first, says what to do, and has the error itself.
func TestOnlyClearWordsAboutAFullDiskAreTaken(t *testing.T) {
	const (
		limit   = "troupe: The file with the conversations cannot be written: nothing was.\n"
		cause   = "troupe: A quota or a limit on the size of files is reached, or the disk fails.\n"
		next    = "troupe: Make room or raise the limit, and resume the run.\n"
		details = "troupe: details: session s: the file cannot be written: a quota is reached\n"
	)
	for _, clear := range []string{
		limit + cause + next + details,
		"troupe: The disk is full: nothing was written.\ntroupe: Make room, and resume the run.\ntroupe: details: the disk is full: nothing was written\n",
		limit + cause + next + details + "troupe: write a.md: file too large\n",
	} {
		if !isClear.MatchString(clear) {
			t.Errorf("refused:\n%s", clear)
		}
	}
	for why, unclear := range map[string]string{
		"nothing":                   "",
		"no details":                limit + cause + next,
		"nothing to do":             limit + details,
		"something else first":      cause + limit + next + details,
		"details of something else": limit + cause + next + "troupe: details: index out of range\n",
		"another trouble behind it": limit + cause + next + details + "troupe: index out of range\n",
		"too much between them":     limit + cause + next + next + details,
		"a line of no program":      limit + cause + next + details + "panic: cannot be written\n",
		"no end of the line":        strings.TrimSuffix(limit+cause+next+details, "\n"),
	} {
		if isClear.MatchString(unclear) {
			t.Errorf("%s is taken:\n%s", why, unclear)
		}
	}
}

// The number of its version is all that an event of a saved file is shown with and stored without.
func TestASavedFileIsComparedWithoutItsVersion(t *testing.T) {
	const stored = `{"seq":7,"kind":"artifact_saved","body":{"path":"a \"body\":{\"version\":1, b.md","bytes":3}}`
	for shown, want := range map[string]string{
		strings.Replace(stored, `"body":{`, `"body":{"version":12,`, 1): stored,
		stored: stored,
		strings.Replace(stored, `"bytes":3`, `"bytes":3,"version":1`, 1): strings.Replace(stored, `"bytes":3`, `"bytes":3,"version":1`, 1),
	} {
		if got := string(asStored([]byte(shown))); got != want {
			t.Errorf("%s\nis taken for\n%s", shown, got)
		}
	}
}

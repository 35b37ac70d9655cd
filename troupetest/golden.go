package troupetest

import (
	"flag"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// UpdateFlag declares the flag -update for the test binary, unless it is declared
// already, and returns a function that says whether it is set. A test package that
// plays transcripts calls it once, because flags must be declared before tests
// begin and a library that declares one of its own accord is in everybody's way:
//
//	var updating = troupetest.UpdateFlag()
func UpdateFlag() func() bool {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite the files that tests compare with")
	}
	return updating
}

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// difference shows the lines that differ, without those that the texts have in
// common at the beginning and at the end.
func difference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", start+1)
	for _, line := range a[start : len(a)-end] {
		out.WriteString("-" + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, line := range b[start : len(b)-end] {
		out.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}

// setSection replaces a section of an archive, or adds it.
func setSection(archive *txtar.Archive, name, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

package files

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The types of artifacts, which are those of a session's manifest.
const (
	typeDocument = "document"
	typeData     = "data"
	typeReport   = "report"
	typeArtifact = "artifact"
)

// reportName tells reports from other documents by a word in their names.
var reportName = regexp.MustCompile(`(?i)(^|[^a-z])(reports?|reviews?|audits?|assessments?|findings|retrospectives?)([^a-z]|$)`)

// artifactType guesses what a file is from its name.
func artifactType(name string) string {
	base := path.Base(name)
	switch strings.ToLower(path.Ext(base)) {
	case ".md", ".markdown", ".txt", ".rst", ".adoc", ".html", ".htm":
		if reportName.MatchString(base) {
			return typeReport
		}
		return typeDocument
	case ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".yaml", ".yml", ".xml", ".toml":
		return typeData
	}
	return typeArtifact
}

// maxDescription bounds a description, in bytes.
const maxDescription = 120

// describe says what a file is about: a document by the first heading near its
// beginning, anything else by its name.
func describe(name, content string) string {
	beginning := 4 << 10
	if kind := artifactType(name); kind != typeDocument && kind != typeReport {
		beginning = 0
	}
	for line := range strings.Lines(content[:min(len(content), beginning)]) {
		heading := strings.TrimLeft(line, "#")
		if level := len(line) - len(heading); level == 0 || level > 6 || !strings.HasPrefix(heading, " ") {
			continue
		}
		if heading = strings.TrimSpace(strings.ToValidUTF8(heading, "")); heading != "" {
			return cut(heading, maxDescription)
		}
	}
	return cut(path.Base(name), maxDescription)
}

// cut returns at most n bytes of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

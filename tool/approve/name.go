package approve

import (
	"path"
	"slices"
	"strings"
)

// maxName is how long a text may be that names a file.
const maxName = 4 << 10

// climbs reports whether a text, read as the name of a file, leaves a directory that it
// has named.
func climbs(text string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// mayMean reports whether a text, read as the name of a file, may be another name of what a
// pattern is about: one with a dot or a detour in it, or one that begins at a root, whose end
// counts then.
func mayMean(pattern, text string) bool {
	if text == "" || len(text) > maxName || !strings.Contains(pattern+text, "/") {
		return false
	}
	isRooted := isURL(text) || strings.ContainsAny(text[:1], "/~{") || strings.HasPrefix(path.Clean(text), "../")
	pattern, text = strings.TrimPrefix(pattern, "./"), path.Clean(text)
	for isFound := true; isFound; _, text, isFound = strings.Cut(text, "/") {
		if matches(pattern, text) {
			return true
		}
		if !isRooted {
			return false
		}
	}
	return false
}

package workspace

import "strings"

// maxName bounds the name of a variable, and with it the work spent on a brace
// that opens none.
const maxName = 64

// configSource is the variable that {config_source}:key begins with.
const configSource = "config-source"

// A reference is a variable named in a text: {name}, {{name}} or {config_source}:key.
type reference struct {
	name    string
	key     string // in {config_source}:key
	written string
	double  bool // written with two braces
}

// cutReference cuts text around the first reference in it. ${name} and ${{name}}
// are not ours: they belong to shells, JavaScript and the like.
func cutReference(text string) (before string, ref reference, after string, found bool) {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			return text, reference{}, "", false
		}
		at += next
		if at > 0 && text[at-1] == '$' {
			for at < len(text) && text[at] == '{' {
				at++
			}
			continue
		}
		if ref, ok := readReference(text[at:]); ok {
			return text[:at], ref, text[at+len(ref.written):], true
		}
		at++
	}
}

// readReference reads the reference that s begins with. s begins with a brace.
func readReference(s string) (reference, bool) {
	braces := 1
	if strings.HasPrefix(s, "{{") {
		braces = 2
	}
	name := s[braces:]
	if len(name) > maxName+1 {
		name = name[:maxName+1]
	}
	name, _, closed := strings.Cut(name, "}")
	if !closed || !isName(name) {
		return reference{}, false
	}
	end := braces + len(name) + braces
	if !strings.HasPrefix(s[braces+len(name):], "}}"[:braces]) {
		return reference{}, false
	}
	ref := reference{name: name, double: braces == 2}
	if rest, ok := strings.CutPrefix(s[end:], ":"); ok && foldName(name) == configSource {
		if ref.key = leadingWord(rest); ref.key != "" {
			end += 1 + len(ref.key)
		}
	}
	ref.written = s[:end]
	return ref, true
}

// isName says whether s can be the name of a variable.
func isName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' || s[0] == '.' || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for _, c := range []byte(s) {
		if !isWordByte(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func leadingWord(s string) string {
	n := 0
	for n < len(s) && n < maxName && isWordByte(s[n]) {
		n++
	}
	return s[:n]
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// foldName gives all spellings of an engine variable one form: SESSION_ID and
// session_id are session-id.
func foldName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

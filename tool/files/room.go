package files

import "unicode/utf8"

// room is how much of a result may be content. The engine passes on 1 MiB of a
// result; what it cuts off would be the end of the JSON. The rest is for the path,
// which is up to six times as long in JSON as it was, and the other fields.
const room = 1<<20 - 8*maxPath

// fitting returns how many bytes of s, whole characters, take at most n bytes in JSON.
func fitting(s string, n int) int {
	if len(s) <= n/6 {
		return len(s)
	}
	for i, r := range s {
		if n -= encodedLen(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// encodedSize is how many bytes s takes in JSON.
func encodedSize(s string) int {
	n := 0
	for _, r := range s {
		n += encodedLen(r)
	}
	return n
}

func encodedLen(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < ' ' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}

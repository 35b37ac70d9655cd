// Package sessionid knows what the ids of sessions look like.
package sessionid

// Is reports whether id has the form of a session's: a UUID in lower case. Such an id is
// also safe as the name of a directory.
func Is(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return true
}

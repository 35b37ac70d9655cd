package observe

import "strings"

// withoutFields leaves out the values of what has the name of a secret:
//
//	"password": "..."   password='...'   password=...   Authorization: Bearer ...
//
// and the same in JSON that is a string of other JSON, however deep. After a colon
// or a blank, a value without quotes is left out only if it does not look like a
// word, since people write about passwords: too.
func withoutFields(text string) string {
	e := eraser{text: text}
	wordsUntil := 0 // there are only words up to here
	for i := 0; ; i++ {
		next := strings.IndexAny(text[i:], ":=")
		if next < 0 {
			return e.rest()
		}
		i += next
		if !endsInSecretName(text[:i]) {
			continue
		}
		from, to := quotedValue(text, i+1)
		if from < 0 {
			from, to = bareValue(text, i, wordsUntil)
			wordsUntil = max(wordsUntil, to)
		}
		if to > from {
			e.erase(from, to)
			i = to - 1
		}
	}
}

// bareValue returns where the secret without quotes is that follows the separator at
// i. It is empty, and ends where words end, if there are only words. That there are
// no others up to wordsUntil is known.
func bareValue(text string, i, wordsUntil int) (start, end int) {
	start = i + 1
	assigned := text[i] == '=' && i > 0 && inToken(text[i-1]) && start < len(text) && strings.IndexByte("$*%=", text[start]) < 0
	for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
		start, assigned = start+1, false
	}
	scheme := schemeLength(text[start:])
	start += scheme
	sure := assigned || scheme > 0
	if !sure && start < wordsUntil {
		return start, start
	}
	end = start + bareLength(text[start:])
	if !sure && !looksRandom(text[start:end]) {
		return end, end
	}
	return start, end
}

// secretNames are how names of secrets end, in lower case, without _ and -.
var secretNames = [...]string{
	"password", "passwd", "passphrase", "pwd", "secret", "credential", "credentials", "token", "authorization",
	"apikey", "accesskey", "privatekey", "secretkey", "signingkey", "encryptionkey",
}

// endsInSecretName reports whether text ends in the name of a secret, in quotes or
// not, and blanks.
func endsInSecretName(text string) bool {
	text = strings.TrimRight(text[max(0, len(text)-40):], " \t")
	if n := len(text); n > 0 && (text[n-1] == '"' || text[n-1] == '\'') {
		text = strings.TrimRight(text[:n-1], `\`)
	}
	return isSecretName(text)
}

// isSecretName reports whether a name ends as those of secrets do.
func isSecretName(name string) bool {
	var room [32]byte
	tail := room[:0]
	for _, c := range []byte(name[max(0, len(name)-len(room)):]) {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != '_' && c != '-' {
			tail = append(tail, c)
		}
	}
	for _, secret := range secretNames {
		if strings.HasSuffix(string(tail), secret) {
			return true
		}
	}
	return false
}

// quotedValue returns where the value in quotes is that follows at from, after
// blanks, and -1 if there is none. A value that was cut off ends with the text.
func quotedValue(text string, from int) (start, end int) {
	for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	depth := countBackslashes(text[from:])
	start = from + depth + 1
	if start > len(text) || text[start-1] != '"' && text[start-1] != '\'' {
		return -1, -1
	}
	quote := text[start-1]
	for end = start; end < len(text); end++ {
		n := countBackslashes(text[end:])
		if end+n == len(text) {
			break
		}
		// At each level of JSON in JSON, a quote that ends a string has as many
		// backslashes as the one that began it, and a backslash in it is doubled.
		if text[end+n] == quote && n%(2*(depth+1)) == depth {
			return start, end + n - depth
		}
		end += n
	}
	return start, len(text)
}

func countBackslashes(text string) int { return len(text) - len(strings.TrimLeft(text, `\`)) }

// schemeLength is the length of the scheme that a header's value begins with, and
// the blank after it.
func schemeLength(value string) int {
	for _, scheme := range []string{"basic ", "bearer ", "token ", "digest ", "negotiate ", "apikey "} {
		if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
			return len(scheme)
		}
	}
	return 0
}

// bareLength is the length of a value that is not in quotes.
func bareLength(text string) int {
	if end := strings.IndexAny(text, " \t\r\n\"'`\\,;&<>{}()[]"); end >= 0 {
		return end
	}
	return len(text)
}

// looksRandom reports whether a value has a digit, and three more characters on one
// side of it: more than a number in a sentence.
func looksRandom(value string) bool {
	first, last := strings.IndexAny(value, digits), strings.LastIndexAny(value, digits)
	return first >= 0 && (last >= 3 || len(value)-first > 3)
}

const digits = "0123456789"

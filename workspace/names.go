package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxElement bounds an element of a new name, in bytes. Most file systems take
// 255; backups and archives add to names.
const maxElement = 200

// secretSuffixes, secretPrefixes and secretNames tell keys by the names they
// usually have, in lower case.
var (
	secretSuffixes = []string{".env", ".pem", ".key", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"}
	secretPrefixes = []string{".env", ".troupe", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}
	secretNames    = []string{
		"credentials", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml",
		".git", ".hg", ".svn", ".netrc", ".npmrc", ".yarnrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".vault-token",
		".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".gcloud", ".terraformrc", ".boto", ".s3cfg",
	}
)

// IsSecret says whether an element of a clean name is that of a key, or of a place
// where programs keep theirs.
func IsSecret(name string) bool {
	if name == "." {
		return false
	}
	for element := range strings.SplitSeq(strings.ToLower(name), "/") {
		if slices.Contains(secretNames, element) ||
			slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(element, p) }) ||
			slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(element, s) }) {
			return true
		}
	}
	return false
}

// CheckElement fails with ErrBadName for a name that no file or directory should be
// given, by an agent or from an archive.
func CheckElement(name string) error {
	if why := badElement(name); why != "" {
		return fmt.Errorf("%w: %s", ErrBadName, why)
	}
	return nil
}

// badElement says why an agent may not create a file or directory of this name,
// or returns "". Such names would mean something else, or nothing, on another
// system, or show something else than they are.
func badElement(s string) string {
	switch {
	case len(s) > maxElement:
		return "an element has at most 200 bytes"
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case isTemp(s):
		return "it begins like a temporary file"
	case strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ") || strings.HasPrefix(s, " "):
		return "it begins or ends with a space, or ends with a dot"
	case isReserved(s):
		return "it is reserved on Windows"
	case strings.IndexFunc(s, isUnportable) >= 0:
		return "it contains a character that is invisible or not portable"
	}
	return ""
}

// isReserved says whether s is a device on Windows, which it is with any extension.
func isReserved(s string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	stem = strings.TrimRight(stem, " ")
	if number := strings.TrimPrefix(strings.TrimPrefix(stem, "com"), "lpt"); number != stem {
		return utf8.RuneCountInString(number) == 1 && strings.Contains("0123456789¹²³", number)
	}
	return slices.Contains([]string{"con", "prn", "aux", "nul", "conin$", "conout$"}, stem)
}

func isUnportable(r rune) bool {
	switch {
	case strings.ContainsRune(`<>:"/\|?*{}`, r), r == utf8.RuneError:
		return true
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	}
	return r != ' ' && !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

// checkNew says whether dir may get an entry of this name, which it has not yet:
// the name must be allowed, and differ from every other in more than case and
// Unicode form.
func checkNew(dir *os.Root, element string, limit int) error {
	if reason := badElement(element); reason != "" {
		return &Error{Op: "write", Path: element, Err: ErrBadName, Reason: reason}
	}
	names, more, err := readNames(dir, limit)
	if err != nil {
		return err
	}
	if more {
		return &Error{Op: "write", Path: element, Err: ErrTooLarge, Reason: "the directory is full"}
	}
	for _, name := range names {
		if strings.EqualFold(norm.NFC.String(name), element) {
			return &Error{Op: "write", Path: element, Err: ErrBadName,
				Reason: "it differs from " + shown(name) + " only in case or Unicode form"}
		}
	}
	return nil
}

// followLinks returns name without links: the same file, by the names of the
// directories that it really is in. What does not exist is returned as it is.
func followLinks(dir *os.Root, name string) (string, error) {
	const mostLinks = 8 // as many as os.Root follows
	at, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if !filepath.IsLocal(filepath.FromSlash(next)) {
			return "", ErrDenied
		}
		info, err := dir.Lstat(next)
		switch {
		case os.IsNotExist(err):
			return path.Join(next, path.Join(rest...)), nil
		case err != nil:
			return "", err
		case info.Mode().Type() != fs.ModeSymlink:
			at = next
			continue
		}
		if links++; links > mostLinks {
			return "", syscall.ELOOP
		}
		target, err := dir.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			return "", ErrDenied
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return at, nil
}

// Package knowledge keeps documents and finds passages: embedded, or an MCP server's.
//
// A [Base] is one SQLite file. It can be offered to others as an MCP server with the
// tools of GKChatty ([NewServer]), and a [Client] uses that server, GKChatty itself,
// or the memory server of the MCP project in the same way.
package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Document is what is kept.
type Document struct {
	// Name tells it from the user's other documents. Another document of the same
	// name takes its place.
	Name    string
	Content string
	// Description and Tags help to find it.
	Description string
	Tags        []string
	// Key makes uploads with it happen once. Default: uploads of the same content
	// under the same name do.
	Key string
}

// A Passage is a part of a document that was found.
type Passage struct {
	Document string `json:"document"` // its name
	// Heading is the path of headings above the passage, as in "Plan > Step 3".
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
	// Score compares passages of one answer: more is better.
	Score float64 `json:"score"`
}

var (
	// ErrNotFound reports a document that the user does not have.
	ErrNotFound = errors.New("there is no such document")
	// ErrInvalid reports a document or a user that cannot be kept as it is.
	ErrInvalid = errors.New("it cannot be kept")
	// ErrKey reports a key that was used before, for another document.
	ErrKey = errors.New("the key was used for another document")
)

const (
	maxContent = 4 << 20
	maxName    = 255
	maxAbout   = 4 << 10 // a description, or all tags
)

// check says why a document cannot be kept.
func (d *Document) check() error {
	about := d.Description + strings.Join(d.Tags, "")
	switch {
	case !isName(d.Name):
		return fmt.Errorf("document %.40q: %w: a name has 1 to %d bytes of printable UTF-8", d.Name, ErrInvalid, maxName)
	case len(d.Content) > maxContent:
		return fmt.Errorf("document %s: %w: it has %d bytes, and at most %d are taken", d.Name, ErrInvalid, len(d.Content), maxContent)
	case !utf8.ValidString(d.Content) || !utf8.ValidString(about) || !utf8.ValidString(d.Key):
		return fmt.Errorf("document %s: %w: it is not UTF-8", d.Name, ErrInvalid)
	case len(about) > 2*maxAbout || len(d.Key) > maxName:
		return fmt.Errorf("document %s: %w: its description, tags or key are too long", d.Name, ErrInvalid)
	}
	return nil
}

// isName reports whether a text can name a document or a user.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && utf8.ValidString(text) && text == strings.TrimSpace(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// hash returns the SHA-256 of a content, in hexadecimal.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

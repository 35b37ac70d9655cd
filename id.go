package troupe

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/troupe-dev/troupe/internal/compaction"
)

// newSessionID returns a random UUID.
func newSessionID() string {
	var b [16]byte
	rand.Read(b[:])
	return formatUUID(b, 4)
}

// newRunID returns an id that is unique within its session.
func newRunID() string {
	var b [6]byte
	rand.Read(b[:])
	var text [12]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// derivedID returns the UUID that belongs to a step of a run.
func derivedID(run, step string) string {
	sum := sha256.Sum256([]byte(run + " " + step))
	return formatUUID([16]byte(sum[:16]), 8)
}

func formatUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], b[0:4])
	hex.Encode(text[9:13], b[4:6])
	hex.Encode(text[14:18], b[6:8])
	hex.Encode(text[19:23], b[8:10])
	hex.Encode(text[24:36], b[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// shorten returns the first line of text, at most n runes of it. It ends with a word, where one ends in
// the second half of them.
func shorten(text string, n int) string {
	text = strings.TrimSpace(text)
	text, _, cut := strings.Cut(text, "\n")
	for i := range text {
		if n--; n >= 0 {
			continue
		}
		if end := strings.LastIndexByte(text[:i+1], ' '); end > i/2 {
			i = end
		}
		return strings.TrimRight(text[:i], " ") + "…"
	}
	if cut {
		return text + " …"
	}
	return text
}

// clip returns at most n bytes of text, cut between runes.
func clip(text string, n int) string { return compaction.Clip(text, n) }

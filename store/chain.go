package store

import "crypto/sha256"

// sumSize is how much of a checksum is kept, in bytes.
const sumSize = 16

// Link returns the checksum of an event that follows the one with another checksum,
// which is empty before the first.
func Link(before []byte, content string) []byte {
	h := sha256.New()
	h.Write(before)
	h.Write([]byte(content))
	return h.Sum(nil)[:sumSize]
}

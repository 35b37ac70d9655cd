package server

import (
	"encoding/json"
	"slices"

	"github.com/troupe-dev/troupe/tool/files"
)

// mostReplacing bounds how many calls are remembered that no version is known to come of.
const mostReplacing = 64

// replacing are the arguments of calls that replace pieces of a file, in order, until it is known
// what came of them: the record has the pieces, not the whole.
type replacing []json.RawMessage

func (r *replacing) add(arguments json.RawMessage) {
	if *r = append(*r, arguments); len(*r) > mostReplacing {
		*r = (*r)[1:]
	}
}

// of finds the call that made of a text the one with a hash, and returns that text.
func (r *replacing) of(text, sum string) (string, bool) {
	for i, arguments := range slices.Backward(*r) {
		if changed, ok := files.Edited(text, arguments); ok && sumOf(changed) == sum {
			*r = slices.Delete(*r, i, i+1)
			return changed, true
		}
	}
	return "", false
}

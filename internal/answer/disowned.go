package answer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

var (
	// asExample is how people announce a value that is not the answer but shows its form.
	asExample = regexp.MustCompile(`(?i)\b(?:for example|for instance|e\.g\.|an? (?:made-up |hypothetical |minimal |possible )?example|example(?: \w+){0,3}\s*:|(?:would|could|might|should) look (?:something )?like|something like|placeholder|hypothetical(?:ly)?|dummy|made-up)\b[^.!?{}\[\]\n]{0,80}[:,]?\s*(?:` + "```" + `\w*\s*)?$`)
	// wasExample is how they say so behind it.
	wasExample = regexp.MustCompile(`(?i)^\s*(?:` + "```" + `)?\s*[(–—-]?\s*(?:(?:this|that|it|the above|these)(?: is|'s| was| are)|is|are) (?:just |only |merely |of course )?(?:an? )?(?:made-up |hypothetical )?(?:example|placeholder|illustration|template)`)
)

// disowned says why a value that fits and stands in a text is not taken for the answer:
// the text itself says that it is an example, or what it is wrapped in says that there is
// no answer. Nobody can tell then what was meant.
func (r *reader) disowned(text []byte, found finding) *Error {
	return r.disownedAt(text, found.from, found.to, text[found.from:found.to], text[found.start:found.end])
}

// disownedAt is disowned for a value that is in another one, outer, which stands from one
// place of the text to another, perhaps in broken syntax.
func (r *reader) disownedAt(text []byte, from, to int, outer, value []byte) *Error {
	before, after := text[max(0, from-maxBeside):from], text[to:min(len(text), to+maxBeside)]
	r.work += len(before) + len(after)
	if asExample.Match(before) || wasExample.Match(after) {
		return &Error{Reason: Ambiguous, Problems: []Problem{{Message: "the text calls its only JSON value that fits an example, so that it may not be the answer"}}}
	}
	if key := r.reportedError(outer, value); key != "" {
		return &Error{Reason: Ambiguous, Problems: []Problem{{Message: "the value that fits is in an object whose " + key + " reports a failure, so that it may not be the answer"}}}
	}
	return nil
}

// reportedError returns the field of an object around a value that reports a failure,
// empty if there is none.
func (r *reader) reportedError(outer, value []byte) string {
	for range maxWrappings {
		if len(outer) <= len(value) || len(outer) == 0 || outer[0] != '{' {
			return ""
		}
		r.work += len(outer)
		var fields map[string]json.RawMessage
		if json.Unmarshal(outer, &fields) != nil {
			return ""
		}
		outer = nil
		for name, field := range fields {
			if !bytes.Contains(field, value) {
				if reportsFailure(name, field) {
					return `"` + name + `"`
				}
			} else {
				outer = field
			}
		}
	}
	return ""
}

func reportsFailure(name string, field json.RawMessage) bool {
	said := strings.ToLower(strings.TrimSpace(string(field)))
	switch strings.ToLower(name) {
	case "error", "errors", "exception", "failure", "error_message", "errormessage":
		switch said {
		case "null", "false", "0", `""`, "[]", "{}", `"none"`, `"null"`, `"no"`, `"no error"`, `"no errors"`, `"n/a"`:
			return false
		}
		return true
	case "success", "ok", "succeeded":
		return said == "false" || said == `"false"`
	case "is_error", "iserror", "failed":
		return said == "true" || said == `"true"`
	case "status", "state", "outcome":
		return said == `"error"` || said == `"failed"` || said == `"failure"`
	}
	return false
}

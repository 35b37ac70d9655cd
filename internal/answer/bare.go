package answer

// ReadBare returns the value in a text whose author was asked for it as a field of an
// object and may have given it without the object around it. Besides the whole text and
// all of a code block it takes, where it may search, the only object or array that fits
// and stands by itself, and nothing that is within another value or could be part of a
// sentence. Otherwise it is as [Read].
func ReadBare(text string, check Checker, maySearch bool) (Value, error) {
	r := &reader{check: check, isBare: true}
	value, rest, failure := r.readWhole(text)
	switch {
	case failure == nil && value.JSON != nil:
		return value, nil
	case failure == nil && maySearch:
		value, failure = r.searchAnswer(rest)
	case failure == nil:
		failure = r.failure()
	}
	if failure != nil {
		return Value{}, failure
	}
	return value, nil
}

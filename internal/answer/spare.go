package answer

import "bytes"

// hasSpareCommas reports whether a mended value is the text's own but for commas before
// closing brackets: without them the text is sound, and holds just that value. Nothing that
// somebody wrote can be lost by leaving them out.
func (r *reader) hasSpareCommas(text, value []byte) bool {
	start := bytes.IndexAny(text, "{[")
	if start < 0 {
		return false
	}
	plain := withoutSpareCommas(text[start:])
	if plain == nil {
		return false
	}
	again := reader{check: r.check}
	defer func() { r.work += again.work }()
	found, failure := again.findEither(plain)
	return failure == nil && found.value != nil && again.unsound == nil && isSame(found.value, value)
}

// withoutSpareCommas leaves out commas that only white space divides from a closing
// bracket, outside of strings. It is nil where there is none.
func withoutSpareCommas(text []byte) []byte {
	var out []byte
	from, isString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isString && c == '\\':
			i++
		case c == '"':
			isString = !isString
		case c == ',' && !isString:
			if rest := bytes.TrimLeft(text[i+1:min(i+1+maxBeside, len(text))], " \t\r\n"); len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
				out, from = append(out, text[from:i]...), i+1
			}
		}
	}
	if from == 0 {
		return nil
	}
	return append(out, text[from:]...)
}

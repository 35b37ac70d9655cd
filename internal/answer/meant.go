package answer

// Meant returns arguments of a call in which each problem has one remedy that leaves
// the meaning alone, as in [Read], and reports whether there are any.
func Meant(arguments []byte, check Checker) ([]byte, bool) {
	r := &reader{check: check}
	meant, _, ok := r.nearly(arguments)
	return meant, ok
}

package question

import "regexp"

// several is how agents say that more than one thing may be chosen.
var several = regexp.MustCompile(`(?i)\b(?:one or (?:several|more)|one,? or several|(?:all|any|those|everything) that (?:apply|applies|fit)|as many as|select (?:several|multiple)|choose (?:several|multiple)|pick (?:several|multiple)|more than one|multiple (?:choice|answer|option|selection)s?|separated (?:by|with) commas?|comma[- ]separated)\b|\(?\b(?:e\.?\s?g\.?|for example|such as)[,:]?\s*["“'` + "`" + `]?\d{1,2}\s*(?:,|and|&|\+)\s*\d{1,2}\b`)

// Several reports whether a question says that more than one of its choices may be chosen.
func Several(text string) bool { return several.MatchString(text) }

package words

import "strings"

// LongestTicks returns how many backticks stand side by side in a text at most.
func LongestTicks(text string) int {
	longest, n := 0, 0
	for _, r := range text {
		if n++; r != '`' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// Fence is the line around a block of code in markdown that nothing in the text ends.
func Fence(text string) string { return strings.Repeat("`", max(3, 1+LongestTicks(text))) }

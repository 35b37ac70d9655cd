// Package compaction says what stays of a conversation that has become too long for its model,
// and in which words. The engine makes requests by it, and whoever explains them goes by the same.
package compaction

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Standing is what decides whether a message stays.
type Standing struct {
	// IsTask says that it is what the user asked for.
	IsTask bool
	// Keep is the name by which a result outlives compaction, empty for others.
	Keep string
}

// Survivors are the places of those of the first messages that stay, which go but for them: what
// the user asked for first and last, and what outlives compaction.
func Survivors(messages []Standing, gone int) (stay []int) {
	isTask := func(m Standing) bool { return m.IsTask }
	first, last := slices.IndexFunc(messages[:gone], isTask), gone-1
	for last >= 0 && !messages[last].IsTask {
		last--
	}
	if slices.ContainsFunc(messages[gone:], isTask) {
		last = first // the latest task stays anyway
	}
	for i := range gone {
		if i == first || i == last || IsKept(messages, i) {
			stay = append(stay, i)
		}
	}
	return stay
}

// IsKept reports whether a message outlives compaction, and no later one takes its place.
func IsKept(messages []Standing, i int) bool {
	name := messages[i].Keep
	return name != "" && !slices.ContainsFunc(messages[i+1:], func(m Standing) bool { return m.Keep == name })
}

// Summary is what is said in place of messages that went.
func Summary(dropped int, summary string) string {
	if summary == "" {
		return fmt.Sprintf("[%d earlier messages were dropped to make room.]", dropped)
	}
	return fmt.Sprintf("[Summary of %d earlier messages]\n%s", dropped, summary)
}

// InForce is a tool's result whose call went: without it, it would not be understood.
func InForce(tool, result string) string {
	return fmt.Sprintf("[Still in force: the result of %s]\n%s", tool, result)
}

// Cut is a result that is longer than there is room for.
func Cut(result string, most int) string {
	return Clip(result, most) + fmt.Sprintf("\n[cut to make room: %d of %d bytes shown]", most, len(result))
}

// Clip is at most so many bytes of a text, cut between runes.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

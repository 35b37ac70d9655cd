// Package compaction says what stays of a conversation that has become too long for its model,
// and in which words. The engine makes requests by it, and whoever explains them goes by the same.
package compaction

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Instructions ask a model to sum up what it will no longer see.
const Instructions = `You sum up the first part of a conversation so that it can go on without it.
Keep every fact, decision, name, number, file and open question that later turns may need, and what the user asked for.
Leave out greetings and repetitions. Write plain text, at most 600 words.`

// Said is a message that is to be summed up.
type Said struct {
	// Role is system, user, assistant or tool, and Tool the one whose result it is.
	Role, Tool, Text string
	// Calls are the names and arguments of the tools that it calls.
	Calls [][2]string
}

// Transcript is what is to be summed up as a model is sent it.
func Transcript(messages []Said) string {
	var b strings.Builder
	for _, m := range messages {
		switch {
		case m.Role == "tool":
			fmt.Fprintf(&b, "tool %s returned: %s\n\n", m.Tool, Clip(m.Text, 4<<10))
		case m.Text != "":
			fmt.Fprintf(&b, "%s: %s\n\n", m.Role, m.Text)
		}
		for _, call := range m.Calls {
			fmt.Fprintf(&b, "%s calls %s %s\n\n", m.Role, call[0], Clip(call[1], 2<<10))
		}
	}
	return b.String()
}

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

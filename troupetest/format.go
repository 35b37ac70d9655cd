package troupetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Format writes events for people to read and for tests to compare, one to a line
// and the same for every run that does the same. Nested runs are indented, and
// what happened concurrently is ordered by branch. Left out are ids, times and
// durations, and deltas, which are cut as the reader's speed will have it. Text is
// quoted, without its middle where it is long; UUIDs and times in it are masked.
func Format(events []troupe.Event) string {
	contents := map[string]string{} // what was loaded, by hash: the log has it once
	for _, e := range events {
		if loaded, ok := e.Body.(*troupe.ContextLoaded); ok && loaded.Content != "" {
			contents[loaded.SHA256] = loaded.Content
		}
	}
	var b strings.Builder
	for _, e := range inBranchOrder(events) {
		if e.Kind() == "text_delta" || e.Kind() == "thought_delta" {
			continue
		}
		b.WriteString(strings.Repeat("  ", strings.Count(e.Run, ":")))
		b.WriteString(string(e.Kind()))
		for _, word := range wordsOf(&e, contents) {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wordsOf says what is worth comparing of an event. Empty words are left out.
func wordsOf(e *troupe.Event, contents map[string]string) []string {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if b.Edited {
			return []string{e.Agent, quote(b.Input.Task), "edited", b.EditedBy}
		}
		return []string{e.Agent, quote(b.Input.Task)}
	case *troupe.ContextLoaded:
		return []string{string(b.Role), "from", b.Source, quote(contents[b.SHA256])}
	case *troupe.UserSaid:
		return []string{quote(b.Text), partsOf(b.Parts)}
	case *troupe.ModelReplied:
		return replyWords(b)
	case *troupe.ToolCalled:
		return []string{b.Tool, mask(string(b.Arguments)), counted("attempt", b.Attempt, 1)}
	case *troupe.ToolReturned:
		return []string{b.Tool, string(b.Class), quote(b.Content)}
	case *troupe.HandedOff:
		return []string{b.From, "to", b.To, quote(b.Handoff.Task), quote(b.Handoff.Summary)}
	case *troupe.InputRequested:
		return []string{b.Tool, quote(b.Question)}
	case *troupe.ArtifactSaved:
		return []string{mask(b.Path), counted("bytes", int(b.Size), 0)}
	case *troupe.ContextCompacted:
		return []string{counted("dropped", b.Dropped, 0), counted("kept", b.Kept, 0), quote(b.Summary)}
	case *troupe.Warned:
		return []string{b.Code, quote(durations.ReplaceAllString(b.Message, "<duration>"))}
	case *troupe.ModelFailed:
		return []string{b.Purpose, b.Reason, quote(durations.ReplaceAllString(b.Error, "<duration>")), counted("attempt", b.Attempt, 1), again(b)}
	case *troupe.Noted:
		return []string{b.Name, mask(string(b.Data))}
	case *troupe.LimitReached:
		return []string{string(b.Stop), quote(b.Message)}
	case *troupe.SessionRenamed:
		return []string{quote(b.Title)}
	case *troupe.SessionForked:
		words := []string{counted("after", int(b.After), 0), b.Agent}
		if b.Input != nil {
			words = append(words, "edited", b.User, quote(b.Input.Task), quote(b.Input.Summary))
		}
		return words
	case *troupe.RunFinished:
		spent := b.Spent.Add(b.SpentBelow)
		return []string{string(b.Stop), quote(b.Output.Summary), counted("turns", spent.Turns, 0), counted("calls", spent.ToolCalls, 0)}
	case *troupe.RunFailed:
		return []string{quote(b.Error), partial(b.Partial)}
	case *troupe.RunCancelled:
		return []string{quote(b.Reason), partial(b.Partial)}
	}
	return nil
}

func replyWords(b *troupe.ModelReplied) []string {
	m := b.Message
	words := []string{string(b.Finish), b.Purpose}
	if m.Thought != "" {
		words = append(words, "thought", quote(m.Thought))
	}
	if m.Refusal != "" {
		words = append(words, "refused", quote(m.Refusal))
	}
	if m.Text != "" {
		words = append(words, quote(m.Text))
	}
	for _, call := range m.Calls {
		words = append(words, call.Name+"("+mask(call.Arguments)+")")
	}
	return append(words, counted("input", b.Usage.Input, 0), counted("output", b.Usage.Output, 0), counted("attempt", b.Attempt, 1))
}

// again says that a model call is tried again.
func again(b *troupe.ModelFailed) string {
	if b.RetryIn > 0 {
		return "retried"
	}
	return ""
}

// counted shows a number unless it is the usual one.
func counted(name string, n, usual int) string {
	if n == usual {
		return ""
	}
	return name + "=" + strconv.Itoa(n)
}

func partial(text string) string {
	if text == "" {
		return ""
	}
	return "partial " + quote(text)
}

func partsOf(parts []troupe.Part) string {
	var types []string
	for _, p := range parts {
		types = append(types, p.MIME)
	}
	return strings.Join(types, " ")
}

// maxQuoted is how many bytes of a text are shown at either end.
const maxQuoted = 400

func quote(text string) string {
	text = mask(text)
	if len(text) > 2*maxQuoted+20 {
		return strconv.Quote(text[:maxQuoted]) + fmt.Sprintf("…(%d bytes)…", len(text)) + strconv.Quote(text[len(text)-maxQuoted:])
	}
	return strconv.Quote(text)
}

var (
	uuids     = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	times     = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`)
	durations = regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|m|s|µs|ns))+\b`)
)

// mask hides what differs from run to run.
func mask(text string) string {
	return times.ReplaceAllString(uuids.ReplaceAllString(text, "<uuid>"), "<time>")
}

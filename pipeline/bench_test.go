package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// largeAnswer returns a sound answer of about 100 KB: user stories, and a document.
func largeAnswer() string {
	var stories, document strings.Builder
	for i := range 300 {
		fmt.Fprintf(&stories, `, {"id": "US-%d", "title": "Log in", "points": %d, "description": "As a user I want to log in so that I see my things"}`, i, i)
		fmt.Fprintf(&document, `## Story %d\n\nAs a \"user\" I want to log in, so that I can see all of my things and change them.\n\n`, i)
	}
	for document.Len() < 60_000 {
		document.WriteString(`More of the same, and an \u00e9.\n`)
	}
	return answerOf("requirements", `"As a user I log in"`, `"As a user I log in"`+stories.String(), `# A\n`, document.String())
}

func BenchmarkParse(b *testing.B) {
	answer := largeAnswer()
	c := contractOf(b, "requirements")
	for _, bench := range []struct {
		name, text string
		level      Level
	}{
		{"strict", answer, LevelStrict},
		{"extracted", "<think>Let me see {x}.</think>\nHere {is} the answer:\n```json\n" + answer + "\n```\nI hope {this} helps.", LevelExtracted},
		{"trailing comma", strings.Replace(answer, `"errors": []`, `"errors": [],`, 1), LevelRepaired},
		{"python", strings.NewReplacer(`"`, `'`, `\"`, `"`, "true", "True").Replace(answer), LevelRepaired},
		{"cut", strings.Replace(answer[:len(answer)*9/10], `"outputs"`, `"next_phase": {"ready": true}, "outputs"`, 1), LevelRaw},
		{"markdown", "## User stories\n" + strings.Repeat("- As a user I want to log in, so that I can see all of my things.\n", 1500), LevelMarkdown},
		{"raw", strings.Repeat("As a user I want {this} to log in, so that I can see \"all\" of my things.\n", 1400), LevelRaw},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.text)))
			b.ReportAllocs()
			for b.Loop() {
				if parsed, err := c.Parse(bench.text); err != nil || parsed.Level != bench.level {
					b.Fatal(parsed.Level, parsed.Notes, err)
				}
			}
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	c := contractOf(b, "requirements")
	for _, part := range []string{"{", "{}", `"x`, strings.Repeat(`{"a":`, 60) + "0" + strings.Repeat("}", 60)} {
		text := `{"a":` + strings.Repeat(part, 100_000/len(part))
		b.Run(fmt.Sprintf("%.12s", part), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if parsed, _ := c.Parse(text); parsed.Level != LevelRaw {
					b.Fatal(parsed.Level)
				}
			}
		})
	}
}

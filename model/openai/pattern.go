package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// A pattern is what the chunks of an answer have in common. Most servers send the same
// document for every token, with another word in it: that word is all that is read of it.
type pattern struct {
	before, after []byte // around the word
	chunk         completion
	choice        [1]choice
	delta         delta
	// tries is how often a pattern was looked for. Servers that put something else into
	// every chunk are read in full.
	tries int
}

const (
	maxPatternTries = 3
	contentOpens    = `"content":"`
)

// fits reads a chunk that differs from the pattern by its word alone.
func (p *pattern) fits(data []byte, c *completion) bool {
	size := len(data) - len(p.before) - len(p.after)
	if p.before == nil || size <= 0 || !bytes.HasPrefix(data, p.before) || !bytes.HasSuffix(data, p.after) {
		return false
	}
	word := data[len(p.before) : len(p.before)+size]
	if !isPlainText(word) {
		return false
	}
	*c, p.choice[0], p.delta = p.chunk, p.chunk.Choices[0], *p.chunk.Choices[0].Delta
	p.delta.Content = string(word)
	p.choice[0].Delta = &p.delta
	c.Choices = p.choice[:]
	return true
}

// learn takes a chunk that was read in full for the pattern, if it says nothing but a word.
func (p *pattern) learn(data []byte, c *completion) {
	if p.tries >= maxPatternTries || len(c.Choices) != 1 || c.Choices[0].Delta == nil || c.Choices[0].FinishReason != "" {
		return
	}
	word, ok := c.Choices[0].Delta.Content.(string)
	at := bytes.Index(data, []byte(contentOpens+word+`"`))
	if !ok || at < 0 || word == "" || !isPlainText([]byte(word)) {
		return
	}
	p.tries++
	at += len(contentOpens)
	before, after := bytes.Clone(data[:at]), bytes.Clone(data[at+len(word):])
	// That the word stands there, and nothing else depends on it, is seen by putting another.
	var other completion
	if json.Unmarshal(bytes.Join([][]byte{before, after}, []byte(word+word)), &other) != nil ||
		len(other.Choices) != 1 || other.Choices[0].Delta == nil || other.Choices[0].Delta.Content != word+word {
		return
	}
	other.Choices[0].Delta.Content = word
	if reflect.DeepEqual(&other, c) {
		p.before, p.after, p.chunk = before, after, other
	}
}

// isPlainText reports whether a JSON string may have these bytes as they are, and they mean
// themselves.
func isPlainText(text []byte) bool {
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' {
			return false
		}
	}
	return utf8.Valid(text)
}

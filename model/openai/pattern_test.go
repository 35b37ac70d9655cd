package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// chunkOf is a document as OpenAI, vLLM and the like send one for each token.
func chunkOf(word, more string) string {
	return fmt.Sprintf(`{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%s},"logprobs":null,"finish_reason":null}]%s}`, word, more)
}

func TestChunksThatDifferByAWordAreReadByThePattern(t *testing.T) {
	cases := map[string]struct {
		documents []string
		fits      int
	}{
		"the same but for the word":     {[]string{chunkOf(`"it"`, ""), chunkOf(`" is"`, ""), chunkOf(`" 42 ☕"`, "")}, 2},
		"what needs reading":            {[]string{chunkOf(`"it"`, ""), chunkOf(`"\n"`, ""), chunkOf(`" \u00e9"`, ""), chunkOf(`"a\"b"`, ""), chunkOf(`""`, ""), chunkOf(`null`, ""), chunkOf("\"\xff\"", ""), chunkOf(`[{"type":"text","text":"x"}]`, "")}, 0},
		"something else in each":        {[]string{chunkOf(`"it"`, `,"o":"a"`), chunkOf(`" is"`, `,"o":"b"`), chunkOf(`"x"`, `,"o":"c"`), chunkOf(`"y"`, `,"o":"d"`), chunkOf(`"z"`, `,"o":"d"`)}, 0},
		"a change, and then as before":  {[]string{chunkOf(`"it"`, ""), chunkOf(`" is"`, `,"usage":{"prompt_tokens":1}`), chunkOf(`" so"`, `,"usage":{"prompt_tokens":1}`)}, 1},
		"the end":                       {[]string{chunkOf(`"it"`, ""), strings.Replace(chunkOf(`"."`, ""), `"finish_reason":null`, `"finish_reason":"stop"`, 1)}, 0},
		"another place for the word":    {[]string{`{"x":{"content":"it"},"choices":[{"delta":{"content": "it"}}]}`, `{"x":{"content":"is"},"choices":[{"delta":{"content": "it"}}]}`}, 0},
		"a word that closes its string": {[]string{chunkOf(`"it"`, ""), chunkOf(`"it"},"delta":{"content":"x"`, "")}, 0},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			fits := 0
			checkPattern(t, test.documents, &fits)
			if fits != test.fits {
				t.Errorf("%d were read by the pattern, not %d", fits, test.fits)
			}
		})
	}
}

// checkPattern reads documents by a pattern and in full, and compares.
func checkPattern(t *testing.T, documents []string, fits *int) {
	t.Helper()
	var p pattern
	for _, document := range documents {
		var got, want completion
		err := json.Unmarshal([]byte(document), &want)
		if p.fits([]byte(document), &got) {
			if *fits++; err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: by the pattern %+v, in full %+v, %v", document, got, want, err)
			}
		} else if err == nil {
			p.learn([]byte(document), &want)
		}
	}
}

// Whatever follows whatever: what the pattern reads is what the document says.
func FuzzPattern(f *testing.F) {
	f.Add(chunkOf(`"it"`, ""), chunkOf(`" is"`, ""), chunkOf(`"\n"`, ""))
	f.Add(chunkOf(`"it"`, ""), chunkOf(`"it"},"delta":{"content":"x"`, ""), chunkOf(`"\u0041"`, ""))
	f.Add(`{"choices":[{"delta":{"content":"a","content":"a"}}]}`, `{"choices":[{"delta":{"content":"b","content":"a"}}]}`, `{"choices":[{"delta":{"content":"a","content":"b"}}]}`)
	f.Add(`{"model":"a","choices":[{"delta":{"content":"a"}}]}`, `{"model":"a","choices":[{"delta":{"content":"b"}}]}`, `{"model":"b","choices":[{"delta":{"content":"b"}}]}`)
	f.Fuzz(func(t *testing.T, first, second, third string) {
		fits := 0
		checkPattern(t, []string{first, second, third, first}, &fits)
	})
}

func BenchmarkChunks(b *testing.B) {
	var p pattern
	var c completion
	data := []byte(chunkOf(`" word"`, ""))
	if err := json.Unmarshal(data, &c); err != nil {
		b.Fatal(err)
	}
	p.learn(data, &c)
	b.Run("by the pattern", func(b *testing.B) {
		for b.Loop() {
			if !p.fits(data, &c) {
				b.Fatal("it does not fit")
			}
		}
	})
	b.Run("in full", func(b *testing.B) {
		for b.Loop() {
			c = completion{}
			if err := json.Unmarshal(data, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

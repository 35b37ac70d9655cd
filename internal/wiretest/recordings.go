package wiretest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// A Recording is an exchange between some client and some server.
type Recording struct {
	Name    string `json:"-"`
	Origin  string
	File    string
	N       int
	Model   string
	F       Features
	Request struct {
		Method, URL, Body string
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    string
		Base64  []byte `json:"body_base64"`
	}
	Facts Facts
}

// Facts are what a plain reader finds in an answer.
type Facts struct {
	TextChars    int    `json:"text_chars"`
	TextSHA256   string `json:"text_sha256"`
	ThoughtChars int    `json:"thought_chars"`
	Signatures   int
	Calls        []struct {
		ID, Name  string
		Arguments any
	}
	StopWord Word `json:"stop"`
	Usage    json.RawMessage
	Refusal  any
	Error    any
	Unsure   string
}

// A Word is a text, or a number that stands for one.
type Word string

// UnmarshalJSON reads both.
func (w *Word) UnmarshalJSON(data []byte) error {
	*w = Word(strings.Trim(string(data), `"`))
	if *w == "null" {
		*w = ""
	}
	return nil
}

// Features are the names of what is remarkable about a recording. Those of chat
// completions have an object in their place, which nothing is read of.
type Features []string

// UnmarshalJSON reads a list.
func (f *Features) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		return nil
	}
	return json.Unmarshal(data, (*[]string)(f))
}

// Has reports whether a recording has a feature.
func (r *Recording) Has(feature string) bool { return slices.Contains(r.F, feature) }

// Recordings are those of a native API, in the order of their files.
func Recordings(t *testing.T, api string) []*Recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "cassettes-native"), api, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of %s: %v", api, err)
	}
	var all []*Recording
	for _, file := range files {
		all = append(all, recordingLines(t, file)...)
	}
	return all
}

// Answer is a transport that gives the recorded answer.
func (r *Recording) Answer() *Canned {
	header := http.Header{}
	for name, value := range r.Response.Headers {
		header.Set(name, value)
	}
	body := r.Response.Body
	if r.Response.Base64 != nil {
		body = string(r.Response.Base64)
	}
	return &Canned{Status: r.Response.Status, Header: header, Body: body}
}

// CheckSaid compares text, thought and calls with the facts. Ids of calls that the
// facts do not have may be anything.
func (r *Recording) CheckSaid(t *testing.T, h *Heard) {
	t.Helper()
	sum := sha256.Sum256([]byte(h.Text))
	if n := utf8.RuneCountInString(h.Text); n != r.Facts.TextChars || n > 0 && hex.EncodeToString(sum[:])[:16] != r.Facts.TextSHA256 {
		t.Errorf("%s: %d characters of text, want %d", r.Name, n, r.Facts.TextChars)
	}
	if n := utf8.RuneCountInString(h.Thought); n != r.Facts.ThoughtChars {
		t.Errorf("%s: %d characters of thought, want %d", r.Name, n, r.Facts.ThoughtChars)
	}
	if len(h.Calls) != len(r.Facts.Calls) {
		t.Errorf("%s: calls %+v, want %+v", r.Name, h.Calls, r.Facts.Calls)
		return
	}
	for i, want := range r.Facts.Calls {
		got := h.Calls[i]
		var arguments any
		if err := json.Unmarshal([]byte(got.Arguments), &arguments); err != nil {
			t.Errorf("%s: arguments %q: %v", r.Name, got.Arguments, err)
		}
		if text, ok := want.Arguments.(string); ok {
			json.Unmarshal([]byte(text), &want.Arguments)
		}
		if want.Arguments == nil || want.Arguments == "" {
			want.Arguments = map[string]any{}
		}
		if got.Name != want.Name || want.ID != "" && got.ID != want.ID || !reflect.DeepEqual(arguments, want.Arguments) {
			t.Errorf("%s: call %+v, want %+v", r.Name, got, want)
		}
	}
}

// Next returns the recording that follows in the same conversation, nil if none does.
func Next(all []*Recording, i int) *Recording {
	if i+1 < len(all) && all[i+1].Origin == all[i].Origin && all[i+1].File != "" && all[i+1].File == all[i].File && all[i+1].N == all[i].N+1 {
		return all[i+1]
	}
	return nil
}

// Events makes server-sent events of JSON documents that have a member type.
func Events(documents ...string) string {
	var b strings.Builder
	for _, document := range documents {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(document), &e)
		if e.Type != "" {
			fmt.Fprintf(&b, "event: %s\n", e.Type)
		}
		fmt.Fprintf(&b, "data: %s\n\n", document)
	}
	return b.String()
}

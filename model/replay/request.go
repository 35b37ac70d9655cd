package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A request is what counts of a [troupe.Request]: the same for two requests that
// differ only in ids and times.
type request struct {
	key      string
	params   string   // JSON, empty if none is set
	tools    []string // names, each with a digest of its schema
	messages []message
	digests  []string // of the messages
}

// A message is a [troupe.Message] without what differs from run to run.
type message struct {
	Role    string `json:"role"`
	Text    string `json:"text,omitempty"`
	Thought string `json:"thought,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	Calls   []call `json:"calls,omitempty"`
	// Answers is the number of the call that a tool's message is the result of.
	Answers string `json:"answers,omitempty"`
	Parts   []part `json:"parts,omitempty"`
}

// A call is a tool call. ID is its number in the conversation.
type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A part is a [troupe.Part] with a digest in place of its data.
type part struct {
	MIME string `json:"mime"`
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
	Data string `json:"data,omitempty"`
}

// normalised returns what counts of a request.
func normalised(req *troupe.Request) (*request, error) {
	r := &request{}
	extra, err := r.setParams(req.Params)
	if err != nil {
		return nil, err
	}
	for _, spec := range req.Tools.Specs() {
		var schema any
		if err := json.Unmarshal(spec.Input, &schema); err != nil {
			return nil, fmt.Errorf("replay: tool %s: schema: %w", spec.Name, err)
		}
		r.tools = append(r.tools, spec.Name+"@"+digest(encode(schema)))
	}
	calls := numbering{numbers: map[string]string{}}
	for _, m := range req.Messages {
		normal := calls.normalised(m)
		r.messages = append(r.messages, normal)
		r.digests = append(r.digests, digest(encode(normal)))
	}
	r.key = digest(strings.Join([]string{r.params, extra, encode(r.tools), encode(r.digests)}, "\n"))
	return r, nil
}

// setParams writes the parameters down, all but the extra ones: those may be
// anything, so they count and are not shown.
func (r *request) setParams(p *troupe.Params) (extra string, err error) {
	if p == nil {
		p = &troupe.Params{}
	}
	data, err := json.Marshal(struct {
		Temperature *float64        `json:"temperature,omitempty"`
		TopP        *float64        `json:"top_p,omitempty"`
		MaxTokens   *int            `json:"max_tokens,omitempty"`
		Seed        *int64          `json:"seed,omitempty"`
		Stop        []string        `json:"stop,omitempty"`
		Effort      string          `json:"effort,omitempty"`
		Schema      json.RawMessage `json:"schema,omitempty"`
	}{p.Temperature, p.TopP, p.MaxTokens, p.Seed, p.Stop, p.Effort, p.Schema})
	if err != nil {
		return "", fmt.Errorf("replay: params: %w", err)
	}
	if r.params = string(data); r.params == "{}" {
		r.params = ""
	}
	if len(p.Extra) == 0 {
		return "", nil
	}
	more, err := json.Marshal(p.Extra)
	if err != nil {
		return "", fmt.Errorf("replay: extra params: %w", err)
	}
	return string(more), nil
}

// A numbering gives calls numbers in the order they appear in.
type numbering struct {
	count   int
	numbers map[string]string // of the latest call with an id
}

func (n *numbering) normalised(m *troupe.Message) message {
	normal := message{Role: m.Role, Text: mask(m.Text), Thought: mask(m.Thought), Refusal: mask(m.Refusal)}
	for _, c := range m.Calls {
		n.count++
		n.numbers[c.ID] = strconv.Itoa(n.count)
		normal.Calls = append(normal.Calls, call{n.numbers[c.ID], mask(c.Name), mask(c.Arguments)})
	}
	if m.Role == troupe.RoleTool {
		normal.Answers = n.numbers[m.CallID]
	}
	for _, p := range m.Parts {
		data := ""
		if len(p.Data) > 0 {
			data = digest(string(p.Data))
		}
		normal.Parts = append(normal.Parts, part{mask(p.MIME), mask(p.Name), mask(p.URL), data})
	}
	return normal
}

var (
	uuids = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	times = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`)
)

// mask hides ids and times in a text, and makes it one that JSON can hold.
func mask(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return times.ReplaceAllString(uuids.ReplaceAllString(text, "<uuid>"), "<time>")
}

// summary says in a few words what a request is about.
func (r *request) summary() string {
	n := len(r.messages)
	if n == 0 {
		return "no messages"
	}
	last := &r.messages[n-1]
	return fmt.Sprintf("message %d, %s: %s", n, last.Role, excerpt(last.shown(), 0, 80))
}

// shown is the message as text.
func (m *message) shown() string {
	var b strings.Builder
	b.WriteString(m.Text + m.Refusal)
	for _, c := range m.Calls {
		fmt.Fprintf(&b, " [calls %s %s]", c.Name, c.Arguments)
	}
	for _, p := range m.Parts {
		fmt.Fprintf(&b, " [%s %s]", p.MIME, p.Name)
	}
	return strings.TrimSpace(b.String())
}

// digest returns a short hash of text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// encode returns the JSON of a value that has one.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only called with strings, and with what was JSON before
	}
	return string(data)
}

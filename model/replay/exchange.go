package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
)

// An exchange is one line of the file.
type exchange struct {
	Key     string          `json:"key"`
	Request string          `json:"request"` // its summary
	Params  json.RawMessage `json:"params,omitempty"`
	// Tools are the names of those that were offered, each with a digest.
	Tools []string `json:"tools,omitempty"`
	// Messages are digests. Those that no earlier line has are in New.
	Messages []string  `json:"messages"`
	New      []message `json:"new,omitempty"`
	Chunks   []chunk   `json:"chunks"`
	Error    *failure  `json:"error,omitempty"`

	line int // in the file, from 1
}

// A chunk is a [troupe.Chunk] in JSON.
type chunk struct {
	Text    string           `json:"text,omitempty"`
	Thought string           `json:"thought,omitempty"`
	Refusal string           `json:"refusal,omitempty"`
	Was     bool             `json:"was_thought,omitempty"`
	Call    *troupe.ToolCall `json:"call,omitempty"`
	End     *end             `json:"end,omitempty"`
}

type end struct {
	Finish       troupe.Finish   `json:"finish"`
	Usage        troupe.Usage    `json:"usage"`
	Cost         *float64        `json:"cost,omitempty"`
	Unpriced     bool            `json:"unpriced,omitempty"`
	Model        string          `json:"model,omitempty"`
	Provider     string          `json:"provider,omitempty"`
	ThoughtField string          `json:"thought_field,omitempty"`
	Opaque       json.RawMessage `json:"opaque,omitempty"`
}

func (c *chunk) chunk() troupe.Chunk {
	return troupe.Chunk{Text: c.Text, Thought: c.Thought, Refusal: c.Refusal, WasThought: c.Was, Call: c.Call, End: (*troupe.End)(c.End)}
}

// A failure is an error in JSON. One that is no [troupe.ModelError] has only text.
type failure struct {
	Text       string        `json:"text,omitempty"`
	Status     int           `json:"status,omitempty"`
	Code       string        `json:"code,omitempty"`
	Message    string        `json:"message,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Temporary  bool          `json:"temporary,omitempty"`
	RetryAfter troupe.Millis `json:"retry_after_ms,omitempty"`
	Cause      string        `json:"cause,omitempty"`
	End        *end          `json:"end,omitempty"`
}

// causes are the errors that callers look for, by the name a file has for them.
var causes = map[string]error{"context_full": troupe.ErrContextFull, "incomplete": io.ErrUnexpectedEOF}

func failureOf(err error) *failure {
	told, ok := errors.AsType[*troupe.ModelError](err)
	if !ok {
		return &failure{Text: cmp.Or(err.Error(), "an error without a text")}
	}
	f := &failure{Status: told.Status, Code: told.Code, Message: told.Message, Reason: told.Reason, Temporary: told.Temporary, RetryAfter: troupe.Millis(told.RetryAfter), End: (*end)(told.End)}
	if told.Err != nil {
		f.Cause = told.Err.Error()
	}
	for name, cause := range causes {
		if errors.Is(told.Err, cause) {
			f.Cause = name
		}
	}
	return f
}

func (f *failure) error() error {
	if f.Text != "" {
		return errors.New(f.Text)
	}
	told := &troupe.ModelError{Status: f.Status, Code: f.Code, Message: f.Message, Reason: f.Reason, Temporary: f.Temporary, RetryAfter: time.Duration(f.RetryAfter), End: (*troupe.End)(f.End)}
	if told.Err = causes[f.Cause]; told.Err == nil && f.Cause != "" {
		told.Err = errors.New(f.Cause)
	}
	return told
}

// maxFile is how large a recording may be.
const maxFile = 256 << 20

// A recording is the contents of a file.
type recording struct {
	exchanges []*exchange
	messages  map[string]*message // by digest
}

// load reads a file from where it stands.
func load(file *os.File) (*recording, error) {
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is over %d bytes", maxFile)
	}
	return read(data)
}

// read takes a file apart. An error names the line.
func read(data []byte) (*recording, error) {
	r := &recording{messages: map[string]*message{}}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if !bytes.HasSuffix(text, []byte("\n")) {
			return nil, fmt.Errorf("line %d: it is cut off: the recording was interrupted there; delete the line or record anew", line)
		}
		e := &exchange{line: line}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(e); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if _, err := decoder.Token(); err != io.EOF {
			return nil, fmt.Errorf("line %d: there is more than one value", line)
		}
		if err := r.add(e); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return r, nil
}

// add checks an exchange and keeps it.
func (r *recording) add(e *exchange) error {
	if e.Key == "" {
		return errors.New("it has no key")
	}
	for i := range e.New {
		r.messages[digest(encode(e.New[i]))] = &e.New[i]
	}
	for _, name := range e.Messages {
		if r.messages[name] == nil {
			return fmt.Errorf("message %s is in no line so far", name)
		}
	}
	r.exchanges = append(r.exchanges, e)
	return nil
}

package troupe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// envelope is the JSON form of an [Event], for reading.
type envelope struct {
	Seq     int64           `json:"seq"`
	Time    time.Time       `json:"time"`
	Session string          `json:"session"`
	Run     string          `json:"run"`
	Parent  string          `json:"parent,omitempty"`
	Step    string          `json:"step"`
	Agent   string          `json:"agent,omitempty"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// MarshalJSON writes the event as one object with its kind and body. Called by
// way of [json.Marshal], < and > in it are escaped as for HTML; called directly
// they are not, which is how logs are written.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event %d: it has no body", e.Seq)
	}
	enc := encoders.Get().(*encoder)
	defer enc.release()
	if err := e.writeTo(enc); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return bytes.Clone(enc.Bytes()), nil
}

// writeTo writes the fields of an envelope one by one: an event is written for the store
// and again for its readers, and a body that is JSON need not be looked through for that.
func (e *Event) writeTo(enc *encoder) (err error) {
	b := append(enc.AvailableBuffer(), `{"seq":`...)
	b = append(strconv.AppendInt(b, e.Seq, 10), `,"time":"`...)
	if b, err = e.Time.AppendText(b); err != nil {
		return fmt.Errorf("its time: %w", err)
	}
	b = appendJSONString(append(b, `","session":`...), e.Session)
	b = appendJSONString(append(b, `,"run":`...), e.Run)
	if e.Parent != "" {
		b = appendJSONString(append(b, `,"parent":`...), e.Parent)
	}
	b = appendJSONString(append(b, `,"step":`...), e.Step)
	if e.Agent != "" {
		b = appendJSONString(append(b, `,"agent":`...), e.Agent)
	}
	b = appendJSONString(append(b, `,"kind":`...), e.Kind())
	enc.Write(append(b, `,"body":`...))
	if err := enc.encode(e.Body); err != nil {
		return err
	}
	return enc.WriteByte('}')
}

// appendJSONString appends a string as encodeJSON writes it.
func appendJSONString(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == 0x7f {
			quoted, _ := encodeJSON(text) // a string always can be
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// UnmarshalJSON reads what MarshalJSON wrote. A kind it does not know is an error
// that names it: the log was written by a newer Troupe.
func (e *Event) UnmarshalJSON(data []byte) error {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	body, err := decodeBody(env.Kind, env.Body)
	if err != nil {
		return fmt.Errorf("event %d: %w", env.Seq, err)
	}
	*e = Event{env.Seq, env.Time, env.Session, env.Run, env.Parent, env.Step, env.Agent, body, 0}
	return nil
}

func decodeBody(kind string, data []byte) (Body, error) {
	make := bodyOf[kind]
	if make == nil {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	body := make()
	if err := json.Unmarshal(data, body); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if replied, ok := body.(*ModelReplied); ok && replied.Message == nil {
		return nil, fmt.Errorf("%s: it has no message", kind)
	}
	return body, nil
}

// encodeJSON is json.Marshal without the escaping meant for HTML pages, so that
// what people and models wrote stays readable in a log.
func encodeJSON(v any) ([]byte, error) {
	enc := encoders.Get().(*encoder)
	defer enc.release()
	if err := enc.encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(enc.Bytes()), nil
}

// An encoder writes JSON into its buffer. There are some for all to use.
type encoder struct {
	bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	enc := new(encoder)
	enc.json = json.NewEncoder(&enc.Buffer)
	enc.json.SetEscapeHTML(false)
	return enc
}}

// encode writes v without the newline that an encoder ends with.
func (e *encoder) encode(v any) error {
	if err := e.json.Encode(v); err != nil {
		return err
	}
	e.Truncate(e.Len() - 1)
	return nil
}

// maxKept is the largest buffer that is kept for the next.
const maxKept = 64 << 10

func (e *encoder) release() {
	if e.Cap() <= maxKept {
		e.Reset()
		encoders.Put(e)
	}
}

// Arguments is the text of a tool call's arguments. In JSON it is the object
// itself where it is one, else the text as a string.
type Arguments string

// MarshalJSON writes an object as it is and everything else as a string.
func (a Arguments) MarshalJSON() ([]byte, error) {
	if isJSONObject(string(a)) {
		return []byte(a), nil
	}
	return encodeJSON(string(a))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(a))
	}
	*a = Arguments(data)
	return nil
}

func isJSONObject(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return json.Valid([]byte(text))
		}
		return false
	}
	return false
}

// Millis is a duration that JSON shows in milliseconds.
type Millis time.Duration

// Duration returns m as a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// String prints m as a time.Duration does.
func (m Millis) String() string { return time.Duration(m).String() }

// MarshalJSON writes milliseconds, to the microsecond.
func (m Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(time.Duration(m)/time.Microsecond)/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(data []byte) error {
	ms, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("milliseconds: %w", err)
	}
	*m = Millis(math.Round(ms * float64(time.Millisecond)))
	return nil
}

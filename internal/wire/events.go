package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"

	"github.com/troupe-dev/troupe/internal/sse"
)

// An Event is one JSON document of an answer. Its slices are valid until the next
// one is read.
type Event struct {
	// Name is the event's type, where the server gave one: "error" tells of a failure.
	Name []byte
	Data []byte
	// Done is the mark [DONE], which has no data.
	Done bool
	// Whole says that the document is all of the answer.
	Whole bool
}

// Events reads an answer as a sequence of JSON documents, in whichever form they
// come: as server-sent events, one on a line, or one alone.
type Events struct {
	answer *Answer
	next   func() (Event, error)
	queue  []Event
}

// Events returns a reader of the answer's documents. It is false where the answer
// is in no form that has any: see [Answer.Foreign].
func (a *Answer) Events() (*Events, bool) {
	e := &Events{answer: a}
	if a.isFramed() {
		e.next = e.nextFrame
		return e, true
	}
	switch a.Form() {
	case Stream:
		reader := sse.NewReader(a, a.client.maxLine)
		e.next = func() (Event, error) { return e.nextOfStream(reader) }
	case Whole:
		kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
		if kind == "application/x-ndjson" || kind == "application/jsonl" {
			lines := bufio.NewScanner(a)
			lines.Buffer(nil, a.client.maxLine)
			e.next = func() (Event, error) { return nextLine(lines) }
		} else {
			e.next = e.readAll
		}
	default:
		return nil, false
	}
	return e, true
}

// Next returns the next document. It returns io.EOF at the end of the answer,
// [ErrTooLarge] for one beyond its bounds, and io.ErrUnexpectedEOF where the last
// document is cut.
func (e *Events) Next() (Event, error) {
	if len(e.queue) > 0 {
		event := e.queue[0]
		e.queue = e.queue[1:]
		return event, nil
	}
	event, err := e.next()
	if err == nil && len(event.Data) > 0 && event.Data[0] == '[' {
		return e.unpack(event)
	}
	return event, err
}

// unpack takes the elements of an array for documents of their own.
func (e *Events) unpack(event Event) (Event, error) {
	var list []json.RawMessage
	if json.Unmarshal(event.Data, &list) != nil || len(list) == 0 || list[0][0] != '{' {
		return event, nil
	}
	for _, document := range list[1:] {
		e.queue = append(e.queue, Event{Name: bytes.Clone(event.Name), Data: document})
	}
	return Event{Name: event.Name, Data: list[0], Whole: event.Whole && len(list) == 1}, nil
}

func (e *Events) nextOfStream(reader *sse.Reader) (Event, error) {
	for {
		event, err := reader.Next()
		if errors.Is(err, sse.ErrTooLong) {
			err = ErrTooLarge
		}
		if err != nil {
			return Event{}, err
		}
		data := bytes.TrimSpace(event.Data)
		for bytes.HasPrefix(data, []byte("data:")) { // a proxy has added its own
			data = bytes.TrimSpace(data[len("data:"):])
		}
		isError := string(event.Name) == "error"
		switch {
		case len(data) == 0:
			continue
		case string(data) == "[DONE]":
			return Event{Done: true}, nil
		case isError && (string(data) == "null" || string(data) == "{}"):
			continue
		case isError:
			return Event{Name: event.Name, Data: data}, nil
		case data[0] != '{' && data[0] != '[':
			continue // a keep-alive
		case event.Cut && !json.Valid(data) && !bytes.Contains(data, []byte("\n")):
			return Event{}, io.ErrUnexpectedEOF
		case bytes.IndexByte(data, '\n') >= 0 && !json.Valid(data):
			e.split(event.Name, data)
			return e.Next()
		}
		return Event{Name: event.Name, Data: data}, nil
	}
}

// split takes the data lines of one event for documents of their own, as of servers
// that leave out the blank lines between events.
func (e *Events) split(name, data []byte) {
	for line := range bytes.Lines(bytes.Clone(data)) {
		line = bytes.TrimSpace(line)
		switch {
		case string(line) == "[DONE]":
			e.queue = append(e.queue, Event{Done: true})
		case len(line) > 0 && (line[0] == '{' || line[0] == '['):
			e.queue = append(e.queue, Event{Name: bytes.Clone(name), Data: line})
		}
	}
}

func nextLine(lines *bufio.Scanner) (Event, error) {
	for lines.Scan() {
		if data := bytes.TrimSpace(lines.Bytes()); len(data) > 0 {
			return Event{Data: data}, nil
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Event{}, ErrTooLarge
	case err != nil:
		return Event{}, err
	}
	return Event{}, io.EOF
}

// readAll reads an answer that came at once, although it was asked for piece by
// piece: one document, an array of them, or several one after the other.
func (e *Events) readAll() (Event, error) {
	e.next = func() (Event, error) { return Event{}, io.EOF }
	limit := 4 * int64(e.answer.client.maxAnswer) // JSON may take several bytes for one
	data, err := io.ReadAll(io.LimitReader(e.answer, limit+1))
	if err != nil {
		return Event{}, err
	}
	if int64(len(data)) > limit {
		return Event{}, ErrTooLarge
	}
	data = bytes.TrimSpace(withoutNaN(data))
	if json.Valid(data) {
		return Event{Data: data, Whole: true}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if err == io.EOF {
			break
		}
		if err != nil && len(e.queue) > 0 && bytes.Contains(data[decoder.InputOffset():], []byte("[DONE]")) {
			e.queue = append(e.queue, Event{Done: true})
			break
		}
		if err != nil && len(e.queue) == 0 {
			return Event{}, fmt.Errorf("read answer: %w", err)
		}
		if err != nil {
			e.next = func() (Event, error) { return Event{}, io.ErrUnexpectedEOF }
			break
		}
		e.queue = append(e.queue, Event{Data: document})
	}
	return e.Next()
}

// Decode reads a document into v. Members of another type than v has for them are
// skipped, and noted once: see [Config]. Where needed names one of them, by its path,
// that is an error, a *json.UnmarshalTypeError. NaN and infinities, which Python's
// servers write, are null.
func (e *Events) Decode(data []byte, v any, needed ...string) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		if clean := escaped(withoutNaN(data)); !bytes.Equal(clean, data) {
			err = json.Unmarshal(clean, v)
		}
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if slices.Contains(needed, mistyped.Field) {
			return err
		}
		e.answer.client.Note("the field " + mistyped.Field + " is a " + mistyped.Value)
		return nil
	}
	return err
}

// escaped writes control characters in strings as JSON wants them. Servers that
// build JSON by hand leave them as they are.
func escaped(data []byte) []byte {
	if bytes.IndexFunc(data, func(r rune) bool { return r < ' ' }) < 0 {
		return data
	}
	var out []byte
	inString, isEscape := false, false
	for _, c := range data {
		if c < ' ' && inString {
			out = fmt.Appendf(out, `\u%04x`, c)
			continue
		}
		if c == '"' && !isEscape {
			inString = !inString
		}
		isEscape = c == '\\' && !isEscape
		out = append(out, c)
	}
	return out
}

// withoutNaN replaces the numbers that Python writes and JSON does not have.
func withoutNaN(data []byte) []byte {
	words := [][]byte{[]byte("NaN"), []byte("-Infinity"), []byte("Infinity")}
	if !bytes.Contains(data, words[0]) && !bytes.Contains(data, words[2]) {
		return data
	}
	out := make([]byte, 0, len(data)+8)
	inString := false
next:
	for i := 0; i < len(data); {
		c := data[i]
		if inString {
			if c == '\\' && i+1 < len(data) {
				out = append(out, c, data[i+1])
				i += 2
				continue
			}
			inString = c != '"'
		} else {
			for _, word := range words {
				if bytes.HasPrefix(data[i:], word) {
					out = append(out, "null"...)
					i += len(word)
					continue next
				}
			}
			inString = c == '"'
		}
		out = append(out, c)
		i++
	}
	return out
}

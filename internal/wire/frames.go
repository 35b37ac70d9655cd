package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"mime"
)

// isFramed reports whether the answer is in the binary frames that Amazon's services
// stream events in.
func (a *Answer) isFramed() bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == "application/vnd.amazon.eventstream"
}

// nextFrame reads a frame: its length and that of its headers, a checksum, the
// headers, the payload, and a checksum of all. A document of another protocol is in
// the payload's member bytes.
func (e *Events) nextFrame() (Event, error) {
	var prelude [12]byte
	if _, err := io.ReadFull(e.answer, prelude[:]); err != nil {
		return Event{}, err
	}
	const ends = len(prelude) + 4
	length, headers := int(binary.BigEndian.Uint32(prelude[:])), int(binary.BigEndian.Uint32(prelude[4:]))
	switch {
	case crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) || length < ends || headers > length-ends:
		return Event{}, io.ErrUnexpectedEOF
	case length > e.answer.client.maxLine:
		return Event{}, ErrTooLarge
	}
	frame := make([]byte, length)
	copy(frame, prelude[:])
	if _, err := io.ReadFull(e.answer, frame[len(prelude):]); err != nil {
		return Event{}, err
	}
	if crc32.ChecksumIEEE(frame[:length-4]) != binary.BigEndian.Uint32(frame[length-4:]) {
		return Event{}, io.ErrUnexpectedEOF
	}
	named := frameHeaders(frame[len(prelude) : len(prelude)+headers])
	payload := frame[len(prelude)+headers : length-4]
	if kind := named[":message-type"]; kind != "" && kind != "event" {
		return Event{Name: []byte("error"), Data: failureOf(named, payload)}, nil
	}
	var wrapped struct {
		Bytes []byte `json:"bytes"`
	}
	if json.Unmarshal(payload, &wrapped) == nil && wrapped.Bytes != nil {
		payload = bytes.TrimSpace(wrapped.Bytes)
	}
	return Event{Name: []byte(named[":event-type"]), Data: payload}, nil
}

// frameHeaders reads the headers that are text, up to one of another type.
func frameHeaders(data []byte) map[string]string {
	const text = 7
	named := map[string]string{}
	for len(data) > 1 {
		n := int(data[0])
		if len(data) < n+4 || data[n+1] != text {
			break
		}
		name := string(data[1 : n+1])
		size := int(binary.BigEndian.Uint16(data[n+2:]))
		if data = data[n+4:]; len(data) < size {
			break
		}
		named[name] = string(data[:size])
		data = data[size:]
	}
	return named
}

// failureOf is a complaint with the name that the frame has for it.
func failureOf(named map[string]string, payload []byte) []byte {
	code := named[":exception-type"] + named[":error-code"]
	var fields map[string]any
	if json.Unmarshal(payload, &fields) != nil || fields == nil {
		fields = map[string]any{"message": named[":error-message"] + string(payload)}
	}
	fields["code"] = code
	data, err := json.Marshal(fields)
	if err != nil {
		return payload
	}
	return data
}

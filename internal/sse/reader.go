package sse

import (
	"bytes"
	"io"
	"time"
)

// A Reader takes events from a stream. Lines may end in LF, CRLF or CR, and an
// event is delivered as soon as the byte that ends it has arrived. Comments, which
// servers send to keep a connection alive, are skipped: whoever must notice them
// watches the reads of the underlying stream.
type Reader struct {
	src     io.Reader
	max     int
	buf     []byte
	pos     int // start of the line that is being read
	scanned int // buf[pos:scanned] has no line end
	skipLF  bool
	begun   bool  // the first line is done: a byte order mark may no longer come
	err     error // what src ended with, once it has

	event   Event
	hasData bool
}

// NewReader returns a Reader that refuses lines and events of more than maxLine
// bytes; 0 means [DefaultMaxLine].
func NewReader(src io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Reader{src: src, max: maxLine}
}

// Next returns the next event that has data. Its slices are valid until the next
// call. At the end of the stream it returns io.EOF; an error of the stream is
// returned as it is, without the event it interrupted.
func (r *Reader) Next() (Event, error) {
	r.reset()
	for {
		line, err := r.line()
		if err == io.EOF {
			if !r.hasData {
				return Event{}, io.EOF
			}
			r.event.Cut = true
			r.hasData = false
			return r.event, nil
		}
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if r.hasData {
				return r.event, nil
			}
			r.reset()
			continue
		}
		if err := r.field(line); err != nil {
			return Event{}, err
		}
	}
}

// reset begins a new event. The id and the retry time outlive events.
func (r *Reader) reset() {
	r.event.Name = r.event.Name[:0]
	r.event.Data = r.event.Data[:0]
	r.event.Cut = false
	r.hasData = false
}

// field takes in one line, as the standard's section "interpreting an event stream"
// says, and reads two things more, which the standard drops: a line that is JSON
// without a field name is data, and a field named error is an event of that name.
// Model servers tell of failures so.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	if line[0] == '{' {
		name, value = []byte("data"), line
	}
	switch string(name) {
	case "error":
		r.event.Name = append(r.event.Name[:0], name...)
		fallthrough
	case "data":
		if len(r.event.Data)+len(value)+1 > r.max {
			return ErrTooLong
		}
		if r.hasData {
			r.event.Data = append(r.event.Data, '\n')
		}
		r.event.Data = append(r.event.Data, value...)
		r.hasData = true
	case "event":
		r.event.Name = append(r.event.Name[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.event.ID = append(r.event.ID[:0], value...)
		}
	case "retry":
		if ms, ok := digits(value); ok {
			r.event.Retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

// digits reads a number of at most 12 decimal digits.
func digits(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(text) > 0 && len(text) <= 12
}

// line returns the next line without its end, or what is left at the end of the stream.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.pos < len(r.buf) {
			if r.buf[r.pos] == '\n' {
				r.pos++
				r.scanned = r.pos
			}
			r.skipLF = false
		}
		if i := bytes.IndexAny(r.buf[r.scanned:], "\n\r"); i >= 0 {
			end := r.scanned + i
			r.skipLF = r.buf[end] == '\r'
			return r.take(end, end+1)
		}
		r.scanned = len(r.buf)
		if r.err == io.EOF && r.pos < len(r.buf) {
			return r.take(len(r.buf), len(r.buf))
		}
		if r.err != nil {
			return nil, r.err
		}
		r.fill()
	}
}

// take cuts the line that ends at end and moves to next.
func (r *Reader) take(end, next int) ([]byte, error) {
	line := r.buf[r.pos:end]
	r.pos, r.scanned = next, next
	if len(line) > r.max {
		return nil, ErrTooLong
	}
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, nil
}

// fill reads more of the stream behind the unfinished line.
func (r *Reader) fill() {
	unfinished := len(r.buf) - r.pos
	if unfinished > r.max {
		r.err = ErrTooLong
		return
	}
	if r.pos > 0 {
		copy(r.buf, r.buf[r.pos:])
		r.buf = r.buf[:unfinished]
		r.scanned -= r.pos
		r.pos = 0
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), max(1024, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

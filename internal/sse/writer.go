package sse

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A Writer puts events on a stream, each with one Write and one flush.
type Writer struct {
	dst   io.Writer
	flush func() error
	buf   []byte
}

// NewWriter returns a Writer that calls flush after each event: for an HTTP
// response, that is the Flush of its [net/http.ResponseController]. A nil flush
// does nothing.
func NewWriter(dst io.Writer, flush func() error) *Writer {
	if flush == nil {
		flush = func() error { return nil }
	}
	return &Writer{dst: dst, flush: flush}
}

// Write sends an event. Fields that are empty are left out, but for Data: an event
// without data would not be delivered. Line breaks of any kind in Data arrive as
// line feeds. Cut means nothing here.
func (w *Writer) Write(e Event) (err error) {
	if w.buf, err = Append(w.buf[:0], e); err != nil {
		return err
	}
	return w.send()
}

// Append appends an event as [Writer.Write] sends it: to be made once and sent to many.
func Append(buf []byte, e Event) ([]byte, error) {
	if bytes.ContainsAny(e.Name, "\r\n") || bytes.ContainsAny(e.ID, "\r\n\x00") {
		return buf, fmt.Errorf("write event %.40q: %w", e.Name, ErrBadField)
	}
	if len(e.Name) > 0 {
		buf = field(buf, "event: ", e.Name)
	}
	if len(e.ID) > 0 {
		buf = field(buf, "id: ", e.ID)
	}
	if e.Retry > 0 {
		buf = field(buf, "retry: ", strconv.AppendInt(nil, int64(e.Retry/time.Millisecond), 10))
	}
	return append(lines(buf, "data: ", e.Data), '\n'), nil
}

// Comment sends text that readers skip, which keeps a connection alive.
func (w *Writer) Comment(text string) error {
	w.buf = append(lines(w.buf[:0], ": ", []byte(text)), '\n')
	return w.send()
}

func field(buf []byte, name string, value []byte) []byte {
	buf = append(buf, name...)
	buf = append(buf, value...)
	return append(buf, '\n')
}

// lines appends each line of text behind the name.
func lines(buf []byte, name string, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, "\r\n")
		if i < 0 {
			return field(buf, name, text)
		}
		buf = field(buf, name, text[:i])
		if bytes.HasPrefix(text[i:], []byte("\r\n")) {
			i++
		}
		text = text[i+1:]
	}
}

func (w *Writer) send() error {
	if _, err := w.dst.Write(w.buf); err != nil {
		return err
	}
	return w.flush()
}

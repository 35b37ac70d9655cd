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
func (w *Writer) Write(e Event) error {
	if bytes.ContainsAny(e.Name, "\r\n") || bytes.ContainsAny(e.ID, "\r\n\x00") {
		return fmt.Errorf("write event %.40q: %w", e.Name, ErrBadField)
	}
	w.buf = w.buf[:0]
	if len(e.Name) > 0 {
		w.field("event: ", e.Name)
	}
	if len(e.ID) > 0 {
		w.field("id: ", e.ID)
	}
	if e.Retry > 0 {
		w.field("retry: ", strconv.AppendInt(nil, int64(e.Retry/time.Millisecond), 10))
	}
	w.lines("data: ", e.Data)
	return w.send()
}

// Comment sends text that readers skip, which keeps a connection alive.
func (w *Writer) Comment(text string) error {
	w.buf = w.buf[:0]
	w.lines(": ", []byte(text))
	return w.send()
}

func (w *Writer) field(name string, value []byte) {
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, value...)
	w.buf = append(w.buf, '\n')
}

// lines writes each line of text behind the name.
func (w *Writer) lines(name string, text []byte) {
	for {
		i := bytes.IndexAny(text, "\r\n")
		if i < 0 {
			w.field(name, text)
			return
		}
		w.field(name, text[:i])
		if bytes.HasPrefix(text[i:], []byte("\r\n")) {
			i++
		}
		text = text[i+1:]
	}
}

func (w *Writer) send() error {
	w.buf = append(w.buf, '\n')
	if _, err := w.dst.Write(w.buf); err != nil {
		return err
	}
	return w.flush()
}

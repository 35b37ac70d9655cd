package openai

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// patience is how many idle timeouts a model may take to begin, and a server
	// may fill with keep-alives.
	patience = 5
	// lastWait is how long the end of a connection is waited for when the answer is
	// there: only a connection that was read to its end serves the next request.
	lastWait = 250 * time.Millisecond
	// streamFactor is how much larger than the answer in it a stream may be.
	streamFactor = 128
)

var errTooLarge = errors.New("the answer is too large")

// A watch reads an answer and cancels its request when nothing comes. Only time
// spent in reading counts: a slow caller is no silent server.
type watch struct {
	src    io.Reader
	cancel func()
	idle   time.Duration
	left   int64 // bytes that may yet come

	timer  *time.Timer
	began  time.Time     // of the current wait
	waited time.Duration // since the last progress
	moving bool          // the answer has begun
	silent atomic.Bool   // the timer has fired
}

func newWatch(idle time.Duration, left int64, cancel func()) *watch {
	return &watch{idle: idle, left: left, cancel: cancel}
}

// start begins a wait, which cancels the request if it gets too long.
func (w *watch) start() {
	limit := patience*w.idle - w.waited
	if w.moving {
		limit = min(limit, w.idle)
	}
	w.began = time.Now()
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.fire)
	} else {
		w.timer.Reset(limit)
	}
}

func (w *watch) fire() {
	w.silent.Store(true)
	w.cancel()
}

// stop ends a wait and says what an error of it was really about.
func (w *watch) stop(err error) error {
	w.timer.Stop()
	w.waited += time.Since(w.began)
	if err != nil && w.silent.Load() {
		return fmt.Errorf("nothing came for %v", w.waited.Round(time.Millisecond))
	}
	return err
}

// Read reads the answer.
func (w *watch) Read(p []byte) (int, error) {
	if w.left < 0 {
		return 0, errTooLarge
	}
	w.start()
	n, err := w.src.Read(p)
	w.left -= int64(n)
	if err == io.EOF {
		w.timer.Stop()
		return n, err
	}
	return n, w.stop(err)
}

// progressed notes that a piece of the answer has come.
func (w *watch) progressed() {
	w.waited = 0
	w.moving = true
}

// drain reads the rest of a connection, if it comes at once.
func (w *watch) drain() {
	w.progressed()
	w.idle = lastWait
	io.CopyN(io.Discard, w, 4096)
}

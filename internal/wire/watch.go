package wire

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

const (
	// lastWait is how long the end of a connection is waited for when the answer is
	// there: only a connection that was read to its end serves the next request.
	lastWait = 250 * time.Millisecond
	// streamFactor is how much larger than the answer in it a stream may be.
	streamFactor = 128
)

// Patience is how long a server is waited for. Time in which the caller does not
// ask for more of the answer is never counted.
type Patience struct {
	// Begin is the longest wait until the answer begins: models think, and local
	// servers read long prompts without a word. It is also how long a server may
	// send nothing but keep-alives. 0 means five times Silence.
	Begin time.Duration
	// Silence is the longest silence in the midst of an answer; 0 means a minute. An
	// answer that may hold calls is given as long as Begin, because many servers
	// collect a call before they send it.
	Silence time.Duration
	// Whole is the longest time for the whole answer; 0 means no limit.
	Whole time.Duration
}

func (p Patience) withDefaults() Patience {
	if p.Silence <= 0 {
		p.Silence = time.Minute
	}
	if p.Begin <= 0 {
		p.Begin = 5 * p.Silence
	}
	return p
}

var (
	// ErrTooLarge is the cause of an error about an answer beyond its bounds.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrSilence is the cause of an error about a server that was waited for in vain.
	ErrSilence = errors.New("the server was waited for in vain")
)

// A watch reads an answer and cancels its request when nothing comes. Only time
// spent in reading counts: a slow caller is no silent server.
type watch struct {
	src      io.Reader
	cancel   func()
	patience Patience
	left     int64 // bytes that may yet come

	timer  *time.Timer
	began  time.Time     // of the current wait
	waited time.Duration // since the last progress
	total  time.Duration // of all waits
	moving bool          // the answer has begun
	silent atomic.Bool   // the timer has fired
}

// start begins a wait, which cancels the request if it gets too long.
func (w *watch) start() {
	limit := w.patience.Begin - w.waited
	if w.moving {
		limit = min(limit, w.patience.Silence)
	}
	if w.patience.Whole > 0 {
		limit = min(limit, w.patience.Whole-w.total)
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
	wait := time.Since(w.began)
	w.waited += wait
	w.total += wait
	switch {
	case err == nil || !w.silent.Load():
		return err
	case w.patience.Whole > 0 && w.total >= w.patience.Whole:
		return fmt.Errorf("%w: the answer took longer than %v", ErrSilence, w.patience.Whole)
	}
	return fmt.Errorf("%w: nothing came for %v", ErrSilence, w.waited.Round(time.Millisecond))
}

// Read reads the answer.
func (w *watch) Read(p []byte) (int, error) {
	if w.left < 0 {
		return 0, ErrTooLarge
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
	w.patience.Silence = lastWait
	io.CopyN(io.Discard, w, 4096)
}

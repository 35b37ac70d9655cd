package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
)

// maxLine bounds a message that is read from standard input, in bytes.
const maxLine = 4 << 20

// A source gives messages one after the other, and io.EOF after the last.
type source func() (string, error)

// listed gives the messages of a list.
func listed(messages []string) source {
	return func() (string, error) {
		if len(messages) == 0 {
			return "", io.EOF
		}
		text := messages[0]
		messages = messages[1:]
		return text, nil
	}
}

// readLines gives the lines of a file that are not empty, until it ends or ctx is
// done. Close is to be called when no more are wanted.
func readLines(ctx context.Context, f *os.File) (next source, close func()) {
	in := cancelable(f)
	stop := context.AfterFunc(ctx, func() { in.Cancel() })
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 4096), maxLine)
	line := 0
	next = func() (string, error) {
		for ctx.Err() == nil && scanner.Scan() {
			line++
			if text := strings.TrimSpace(scanner.Text()); text != "" {
				return text, nil
			}
		}
		err := scanner.Err()
		switch {
		case err == nil || errors.Is(err, cancelreader.ErrCanceled):
			return "", io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			return "", fmt.Errorf("line %d of standard input has more than %d MiB, the most that a message may have: each line is a message; have the agent read a file instead", line+1, maxLine>>20)
		}
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return next, func() { stop(); in.Close() }
}

// cancelable returns a reader of standard input that can be told to stop waiting. What
// the system does not let anybody wait for, such as a file or /dev/null, is read as it
// is: that takes no time.
func cancelable(f *os.File) cancelreader.CancelReader {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return neverWaits{f}
	}
	in, err := cancelreader.NewReader(f)
	if err != nil {
		return neverWaits{f}
	}
	return in
}

// neverWaits is a file whose reading takes no time.
type neverWaits struct{ *os.File }

// Cancel implements [cancelreader.CancelReader].
func (neverWaits) Cancel() bool { return false }

// Close leaves standard input open.
func (neverWaits) Close() error { return nil }

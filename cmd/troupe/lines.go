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
const maxLine = 1 << 20

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
func readLines(ctx context.Context, f *os.File) (next source, close func(), err error) {
	in, err := cancelreader.NewReader(f)
	if err != nil {
		return nil, nil, fmt.Errorf("read standard input: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { in.Cancel() })
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 4096), maxLine)
	next = func() (string, error) {
		for ctx.Err() == nil && scanner.Scan() {
			if text := strings.TrimSpace(scanner.Text()); text != "" {
				return text, nil
			}
		}
		if err := scanner.Err(); err != nil && !errors.Is(err, cancelreader.ErrCanceled) {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		return "", io.EOF
	}
	return next, func() { stop(); in.Close() }, nil
}

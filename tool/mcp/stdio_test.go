package mcp

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func quiet() *noise { return &noise{logger: slog.New(slog.DiscardHandler)} }

// Whatever a server prints, its messages are read to the end and nothing else is
// taken for one.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"))
	f.Add([]byte("Welcome!\r\n\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r\n{\"jsonrpc\":\"2.0\""))
	f.Add([]byte("[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\",\"params\":{}}]\nnull\n\xff\n"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		if bytes.Count(printed, []byte("\n")) > 1000 {
			return
		}
		noise := quiet()
		c := newStdio(nil, io.NopCloser(bytes.NewReader(printed)), 0, noise)
		read := 0
		for {
			message, err := c.Read(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := jsonrpc.EncodeMessage(message); err != nil {
				t.Errorf("a message that is none: %v", err)
			}
			read++
		}
		if lines := bytes.Count(printed, []byte("\n")) + 1; read > lines {
			t.Errorf("%d messages on %d lines", read, lines)
		}
		if last := noise.last(); len(last) > 3*maxNoiseLine || !utf8.ValidString(last) || strings.ContainsAny(last, "\x00\x1b\n") {
			t.Errorf("logged was %q", last)
		}
	})
}

func TestALineAtTheLimitIsReadAndALongerOneIsNot(t *testing.T) {
	frame := func(size int) string {
		const start, end = `{"jsonrpc":"2.0","method":"`, `"}`
		return start + strings.Repeat("x", size-len(start)-len(end)) + end + "\n"
	}
	for size, good := range map[int]bool{maxFrame - 2: true, maxFrame + 1: false} {
		_, err := newStdio(nil, io.NopCloser(strings.NewReader(frame(size))), 0, quiet()).Read(t.Context())
		if (err == nil) != good {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
}

func TestNoiseIsCapped(t *testing.T) {
	var log bytes.Buffer
	n := &noise{logger: slog.New(slog.NewTextHandler(&log, nil))}
	line := []byte(strings.Repeat("y", 10*maxNoiseLine))
	for range 2 * maxNoise / maxNoiseLine {
		for _, piece := range [][]byte{line[:100], line[100:], []byte("\x1b[2J\n")} {
			if written, err := n.Write(piece); written != len(piece) || err != nil {
				t.Fatalf("%d, %v", written, err)
			}
		}
	}
	if size := log.Len(); size < maxNoise || size > 2*maxNoise {
		t.Errorf("%d bytes were logged", size)
	}
	if got := strings.Count(log.String(), "what else it says is dropped"); got != 1 {
		t.Errorf("the end is marked %d times", got)
	}
	if strings.Contains(log.String(), strings.Repeat("y", maxNoiseLine+1)) {
		t.Error("a line is longer than its cap")
	}
}

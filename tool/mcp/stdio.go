package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A stdio is a connection over a program's standard streams: a JSON-RPC message a
// line. Lines that are none go to the log.
type stdio struct {
	in       *os.File // what the program reads
	patience time.Duration
	writing  sync.Mutex

	out   io.ReadCloser // what it prints
	lines *bufio.Scanner
	noise *noise
}

var _ sdk.Connection = (*stdio)(nil)

func newStdio(in *os.File, out io.ReadCloser, patience time.Duration, noise *noise) *stdio {
	c := &stdio{in: in, patience: patience, out: out, lines: bufio.NewScanner(out), noise: noise}
	c.lines.Buffer(nil, maxFrame)
	return c
}

// Read returns the next message. A line longer than maxFrame is an error, and the
// end of the connection.
func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for c.lines.Scan() {
		message, err := jsonrpc.DecodeMessage(c.lines.Bytes())
		if err == nil {
			return message, nil
		}
		c.noise.line(c.lines.Bytes())
	}
	if err := c.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Write closes the connection if the program does not take the message in time:
// nothing that is written after a part of one can be understood.
func (c *stdio) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	_ = c.in.SetWriteDeadline(time.Now().Add(c.patience)) // some systems have none for pipes
	if _, err = c.in.Write(append(data, '\n')); err != nil {
		_ = c.Close()
	}
	return err
}

func (c *stdio) Close() error {
	return errors.Join(c.in.Close(), c.out.Close())
}

func (c *stdio) SessionID() string { return "" }

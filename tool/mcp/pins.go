package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// pins are the hashes that were accepted, by server and tool.
type pins map[string]map[string]string

// Accept has a server's tool offered as it is described now: tool and hash are
// those of a [Withheld]. Servers that are connected notice at once, in this
// process and in others.
func Accept(ctx context.Context, file, server, tool, hash string) error {
	return changePins(ctx, file, func(p pins) bool {
		if p[server] == nil {
			p[server] = make(map[string]string)
		}
		p[server][tool] = hash
		return true
	})
}

// pinFirst accepts all tools of a server that the file does not know, and returns
// what is accepted of the server.
func pinFirst(ctx context.Context, file, server string, hashes map[string]string) (accepted map[string]string, err error) {
	err = changePins(ctx, file, func(p pins) bool {
		_, known := p[server]
		if !known {
			p[server] = hashes
		}
		accepted = p[server]
		return !known
	})
	return accepted, err
}

// changePins lets change see the pins, and writes them if it says so. It has the
// file to itself meanwhile.
func changePins(ctx context.Context, file string, change func(pins) bool) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("pins: lock %s: %w", file, err)
	}
	defer lock.Unlock()
	p, err := readPins(file)
	if err != nil || !change(p) {
		return err
	}
	return writePins(file, p)
}

// readPins returns no pins for a file that is not there. A file that cannot be
// understood is an error: to start anew would be to trust everything.
func readPins(file string) (pins, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return pins{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	var p pins
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("pins: read %s: %w", file, err)
	}
	if p == nil {
		return nil, fmt.Errorf("pins: read %s: it holds no object", file)
	}
	return p, nil
}

// writePins replaces the file as a whole or not at all.
func writePins(file string, p pins) (err error) {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".pins-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("pins: write %s: %w", file, errors.Join(err, os.Remove(temp.Name())))
		}
	}()
	_, err = temp.Write(append(data, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

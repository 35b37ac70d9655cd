package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/observe"
)

// openLog opens what the project's log goes to: standard error, as much as the flag
// or the configuration say, and a file where there is one. No secret gets there.
func (p *program) openLog(project *project) error {
	c := project.config
	level, err := parseLevel(cmp.Or(p.flags.logLevel, c.Log.Level))
	if err != nil {
		return err
	}
	secrets := project.secrets()
	console := observe.Redact(observe.NewConsole(&p.log, observe.ConsoleOptions{Level: level, Colour: p.usesColour(p.err)}), secrets...)
	handlers := []slog.Handler{console}
	if level <= slog.LevelInfo {
		// What agents do is shown as it happens anyway, with warnings and failures:
		// only who asks for more gets the log of it too.
		project.sinks = append(project.sinks, observe.Log(console))
	}
	if c.Log.File.Path != "" {
		file, err := project.openLogFile(secrets)
		if err != nil {
			return err
		}
		handlers = append(handlers, file)
		project.sinks = append(project.sinks, observe.Log(file))
	}
	project.log = slog.New(slog.NewMultiHandler(handlers...))
	return nil
}

func (p *project) openLogFile(secrets []string) (slog.Handler, error) {
	c := p.config.Log.File
	level, err := parseLevel(cmp.Or(c.Level, "info"))
	if err != nil {
		return nil, err
	}
	file, err := observe.OpenFile(observe.FileOptions{
		Path: within(p.dir, c.Path), MaxSize: c.MaxSize, MaxAge: c.MaxAge, MaxCount: c.MaxCount, Compress: c.Compress,
	})
	if err != nil {
		return nil, err
	}
	p.logFile = file
	return observe.Redact(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level}), secrets...), nil
}

// secrets are the values that must not be in any log.
func (p *project) secrets() []string {
	c := p.config
	variables := append(p.models.KeyVariables(), c.Web.Search.KeyEnv)
	var secrets []string
	for _, provider := range c.Providers {
		secrets = slices.AppendSeq(secrets, maps.Values(provider.Headers))
	}
	for _, server := range c.MCP {
		secrets = slices.AppendSeq(secrets, maps.Values(server.Headers))
		for name, value := range server.Env {
			if name != "PATH" && name != "HOME" {
				secrets = append(secrets, value)
			}
		}
	}
	for _, name := range variables {
		if name != "" {
			secrets = append(secrets, p.models.Getenv(name))
		}
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

func parseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "", "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%.20q is not a level; there are debug, info, warn and error", name)
}

// A heldLog passes lines on to a writer, except while they are held back because a
// terminal shows something else. Then it keeps the newest of them for later.
type heldLog struct {
	to io.Writer

	mu     sync.Mutex
	isHeld bool
	kept   []byte
}

// maxKept bounds what is held back, in bytes.
const maxKept = 64 << 10

// Write implements [io.Writer].
func (l *heldLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isHeld {
		return l.to.Write(line)
	}
	l.kept = append(l.kept, line...)
	if excess := len(l.kept) - maxKept; excess > 0 {
		l.kept = l.kept[excess:]
	}
	return len(line), nil
}

// hold begins to hold lines back, and release passes on what was held.
func (l *heldLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isHeld = true
}

func (l *heldLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isHeld = false
	l.to.Write(l.kept) // there is nobody left to tell
	l.kept = nil
}

package observe

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// ConsoleOptions say how a console shows records. The zero value is fine.
type ConsoleOptions struct {
	// Level is the lowest that is shown: info by default.
	Level slog.Leveler
	// Colour says that the writer is a terminal which shows colours.
	Colour bool
	// IDs shows session, run, parent, step, seq and kind too. They are for
	// machines, as a rule.
	IDs bool
	// Where begins lines with the date and the beginning of the session's id, for
	// whoever looks at more than one day and one session.
	Where bool
}

// NewConsole returns a handler that writes records for people to read, each with
// one call of w.Write:
//
//	15:04:05.000 INFO  mira  tool returned  tool=read_file dur=12ms
//
// The time is local. What could make a terminal do something, or is invisible on
// it, is shown as an escape such as \x1b, wherever it comes from and with or without
// colour. A stack goes on lines of its own, indented.
func NewConsole(w io.Writer, o ConsoleOptions) slog.Handler {
	if o.Level == nil {
		o.Level = slog.LevelInfo
	}
	return &console{w: w, options: o, mu: &sync.Mutex{}}
}

type console struct {
	w       io.Writer
	options ConsoleOptions
	mu      *sync.Mutex // of w, shared with what With returns

	group string      // the open groups, each followed by a dot
	attrs []slog.Attr // whose keys begin with the groups they are in
}

// Enabled implements [slog.Handler].
func (c *console) Enabled(_ context.Context, level slog.Level) bool {
	return level >= c.options.Level.Level()
}

// WithAttrs implements [slog.Handler].
func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *c
	with.attrs = slices.Clip(c.attrs)
	for _, a := range attrs {
		with.attrs = append(with.attrs, slog.Attr{Key: c.group + a.Key, Value: a.Value})
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (c *console) WithGroup(name string) slog.Handler {
	if name == "" {
		return c
	}
	with := *c
	with.group += name + "."
	return &with
}

// Handle implements [slog.Handler].
func (c *console) Handle(_ context.Context, r slog.Record) error {
	line := consoleLine{options: c.options, attrs: make([]byte, 0, 512)}
	for _, a := range c.attrs {
		line.add("", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		line.add(c.group, a)
		return true
	})
	text := line.render(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.w.Write(text)
	return err
}

// A consoleLine collects what one record has to show.
type consoleLine struct {
	options ConsoleOptions
	session string
	agent   string
	stack   string
	attrs   []byte
}

func (l *consoleLine) add(group string, a slog.Attr) {
	a.Value = a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return
	}
	key := group + a.Key
	if a.Value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group = key + "."
		}
		for _, inner := range a.Value.Group() {
			l.add(group, inner)
		}
		return
	}
	value := textOf(a.Value)
	switch key {
	case "agent":
		l.agent = value
		return
	case "stack":
		l.stack = value
		return
	case "session":
		l.session = value
		if !l.options.IDs {
			return
		}
	case "run", "parent", "step", "seq", "kind":
		if !l.options.IDs {
			return
		}
	}
	l.attrs = append(l.attrs, ' ')
	l.attrs = l.paint(l.attrs, dim, quoted(key)+"=")
	colour := plain
	if key == "err" {
		colour = red
	}
	l.attrs = l.paint(l.attrs, colour, quoted(value))
}

func textOf(v slog.Value) string {
	switch v.Kind() {
	case slog.KindDuration:
		if d := v.Duration(); d >= time.Second {
			return d.Round(time.Millisecond).String()
		} else {
			return d.Round(time.Microsecond).String()
		}
	case slog.KindTime:
		return v.Time().Format(time.RFC3339)
	}
	return v.String()
}

func (l *consoleLine) render(r slog.Record) []byte {
	b := make([]byte, 0, len(l.attrs)+len(l.stack)+256)
	if !r.Time.IsZero() {
		layout := "15:04:05.000"
		if l.options.Where {
			layout = "2006-01-02 15:04:05.000"
		}
		b = l.paint(b, dim, r.Time.Local().Format(layout))
		b = append(b, ' ')
	}
	if l.options.Where && l.session != "" {
		b = l.paint(b, dim, quoted(l.session[:min(len(l.session), 8)]))
		b = append(b, ' ')
	}
	b = l.paint(b, colourOfLevel(r.Level), fmt.Sprintf("%-5s", r.Level))
	b = append(b, ' ')
	if l.agent != "" {
		b = l.paint(b, colourOfAgent(l.agent), quoted(l.agent))
		b = append(b, "  "...)
	}
	b = append(b, visible(r.Message)...)
	if len(l.attrs) > 0 {
		b = append(b, ' ')
		b = append(b, l.attrs...)
	}
	b = append(b, '\n')
	if l.stack != "" {
		for line := range strings.Lines(l.stack) {
			b = append(b, "    "...)
			b = append(b, visible(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))...)
			b = append(b, '\n')
		}
	}
	return b
}

// paint appends text in a colour, or as it is where there are no colours.
func (l *consoleLine) paint(b []byte, colour, text string) []byte {
	if !l.options.Colour || colour == plain {
		return append(b, text...)
	}
	b = append(b, "\x1b["+colour+"m"...)
	b = append(b, text...)
	return append(b, "\x1b[0m"...)
}

// Colours, as the terminal's codes for them.
const (
	plain  = ""
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func colourOfLevel(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return red
	case level >= slog.LevelWarn:
		return yellow
	case level >= slog.LevelInfo:
		return green
	}
	return dim
}

// colourOfAgent returns a colour that a name has always. None is that of a level,
// and all can be read on light and dark.
func colourOfAgent(name string) string {
	palette := [...]string{"38;5;33", "38;5;37", "38;5;62", "38;5;67", "38;5;71", "38;5;97", "38;5;99", "38;5;132", "38;5;136", "38;5;168", "38;5;173", "38;5;208"}
	hash := fnv.New32a()
	io.WriteString(hash, name)
	return palette[hash.Sum32()%uint32(len(palette))]
}

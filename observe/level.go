package observe

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/troupe-dev/troupe"
)

// ParseLevel reads the name of a level: debug, info, warn or error. No name at all is
// warn.
func ParseLevel(name string) (slog.Level, error) {
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

// KindsAtLeast returns the kinds of events that are at least so important, nil for all
// of them, and whether failures of other kinds are too: see [Level].
func KindsAtLeast(level slog.Level) (kinds []string, orFailures bool) {
	if level <= slog.LevelDebug {
		return nil, false
	}
	for _, body := range troupe.Bodies() {
		if Level(&troupe.Event{Body: body}) >= level {
			kinds = append(kinds, body.Kind())
		}
	}
	failed := &troupe.ToolReturned{Class: "failed"}
	return kinds, Level(&troupe.Event{Body: failed}) >= level
}

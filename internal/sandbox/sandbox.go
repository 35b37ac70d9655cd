// Package sandbox runs programs that nobody vouches for: they see the system without
// the person's files, write only where they are allowed to, reach no network but a
// loopback of their own, and do not outlive the call. What the kernel here refuses is
// found out by trying and told; nothing is silently left out.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Level says how much a sandbox keeps from a program.
type Level string

// The levels.
const (
	// Full is namespaces for users, files, processes, network and IPC, and Landlock.
	Full Level = "full"
	// Files is Landlock for files, and no sockets at all.
	Files Level = "files"
	// Off is a plain process with a clean environment.
	Off Level = "off"
	// Wrapped runs programs by a command of the user's, such as a container engine's.
	Wrapped Level = "command"
)

// HelperArgument is the first argument of a program that is run as the sandbox's own
// child: its main function then calls [Child] before anything else.
const HelperArgument = "__sandbox"

// Limits bound one program. Zero means the default.
type Limits struct {
	Time      time.Duration // 10 minutes
	Output    int           // bytes that are kept: 1 MiB
	Written   int64         // bytes by which free space may shrink: 2 GiB
	Processes int           // 512
	Memory    int64         // bytes that all of them hold at once: three quarters of the machine's
}

func (l Limits) filled() Limits {
	if l.Time <= 0 {
		l.Time = 10 * time.Minute
	}
	if l.Output <= 0 {
		l.Output = 1 << 20
	}
	if l.Written <= 0 {
		l.Written = 2 << 30
	}
	if l.Processes <= 0 {
		l.Processes = 512
	}
	return l
}

// A Command is a program to run.
type Command struct {
	Argv []string
	Dir  string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Write are directories that it may change, Read are directories and files that it
	// may see although they are in a person's home directory or in /tmp.
	Write, Read []string
	// Keep are places in those of Write that it may see and not change, Hide places anywhere
	// that it does not see, but for what is in them and in Write or Read. Directories of Keep and hidden files of Hide that are not there are not
	// made by it either. On the level Full only.
	Keep, Hide []string
	// Overlays are directories that begin as others are: what the program writes goes
	// elsewhere. On the level Full only, and only where the kernel can do that.
	Overlays []Overlay
	// Network lets it use the network as it is. Hosts are those that it may reach where
	// it has none, by way of a proxy that the environment names: a host, *.host or
	// host:port. On the level Full only.
	Network bool
	Hosts   []string
	Limits  Limits
}

// An Overlay shows Lower at Target, and keeps in Upper what is changed there; where that is
// in use, in another directory beside it.
type Overlay struct {
	Lower  string `json:"lower"`
	Upper  string `json:"upper"`
	Target string `json:"target"`
}

// A Result is how a program ended.
type Result struct {
	Exit int
	// Ended says why it was ended, where it was: "time", "written", "processes", "memory", "cancelled".
	Ended string
	// Missing says that the program could not be started because it is not there.
	Missing  string
	Output   string
	Dropped  int64 // bytes of the output that are not kept
	Duration time.Duration
}

// ErrNone reports that there is no way to keep programs apart here.
var ErrNone = errors.New("no sandbox can be had here")

// A Sandbox runs commands on one level. It does not change and may be used concurrently.
type Sandbox struct {
	level  Level
	helper []string
	prefix []string
	// Why says what is missing where the level is not Full.
	Why string
}

// Level is the sandbox's level.
func (s *Sandbox) Level() Level { return s.level }

// Open finds the best sandbox, or the one that is asked for. Helper is the command
// line that runs the program's own [Child], as a rule the program and HelperArgument.
// An empty level means the best there is; it fails with ErrNone where that is none.
func Open(ctx context.Context, level Level, helper, prefix []string) (*Sandbox, error) {
	switch level {
	case Off:
		return &Sandbox{level: Off, Why: "it is switched off"}, nil
	case Wrapped:
		if len(prefix) == 0 {
			return nil, errors.New("sandbox: a command is needed")
		}
		return &Sandbox{level: Wrapped, prefix: prefix}, nil
	case Full, Files, "", "auto":
	default:
		return nil, fmt.Errorf("sandbox: %q is none of auto, full, files and off", level)
	}
	if len(helper) == 0 {
		return nil, fmt.Errorf("%w: the program has no helper for it", ErrNone)
	}
	var refused []string
	for _, l := range []Level{Full, Files} {
		if level == Full && l != Full || level == Files && l != Files {
			continue
		}
		s := &Sandbox{level: l, helper: helper, Why: strings.Join(refused, "; ")}
		if err := s.try(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			refused = append(refused, fmt.Sprintf("%s: %v", l, err))
			continue
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNone, strings.Join(refused, "; "))
}

// patience is how long a program that does nothing may take. A sandbox that cannot be had says so
// at once; a machine that has too much to do may need very long to begin anything.
const patience = 3 * time.Minute

// try runs a program that does nothing.
func (s *Sandbox) try(ctx context.Context) error {
	r, err := s.Run(ctx, Command{Argv: []string{"/bin/sh", "-c", "exit 0"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Limits: Limits{Time: patience}})
	switch {
	case err != nil:
		return err
	case r.Missing != "":
		return errors.New(r.Missing)
	case r.Ended == "time":
		return fmt.Errorf("a program that does nothing was not done after %s", patience)
	case r.Exit != 0 || r.Ended != "":
		return fmt.Errorf("a program that does nothing ended with %d %s: %s", r.Exit, r.Ended, r.Output)
	}
	return nil
}

// wrapped is a command as the user's own sandbox runs it.
func (s *Sandbox) wrapped(c Command) []string {
	argv := slices.Clone(s.prefix)
	for i := range argv {
		argv[i] = strings.NewReplacer("{worktree}", c.Dir, "{dir}", c.Dir).Replace(argv[i])
	}
	return append(argv, c.Argv...)
}

// output keeps the first and the last part of what is written to it.
type output struct {
	limit   int
	head    []byte
	tail    []byte // a ring once it is full
	at      int
	dropped int64
}

func (o *output) Write(data []byte) (int, error) {
	n := len(data)
	if room := o.limit/4 - len(o.head); room > 0 {
		take := min(room, len(data))
		o.head = append(o.head, data[:take]...)
		data = data[take:]
	}
	size := o.limit - o.limit/4
	if len(data) > size {
		o.dropped += int64(len(data) - size)
		data = data[len(data)-size:]
	}
	if room := size - len(o.tail); room > 0 {
		take := min(room, len(data))
		o.tail = append(o.tail, data[:take]...)
		data = data[take:]
	}
	for len(data) > 0 {
		take := copy(o.tail[o.at:], data)
		o.dropped += int64(take)
		o.at = (o.at + take) % len(o.tail)
		data = data[take:]
	}
	return n, nil
}

// String joins the two parts and says how much is missing between them.
func (o *output) String() string {
	var b strings.Builder
	b.Write(o.head)
	if o.dropped > 0 {
		fmt.Fprintf(&b, "\n[%d bytes left out]\n", o.dropped)
	}
	b.Write(o.tail[o.at:])
	b.Write(o.tail[:o.at])
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// Package command lets an agent run commands that were granted to it, in a sandbox.
package command

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

// A Config says what may be run, and where. Allow, Dir and Cache are required.
type Config struct {
	// Allow are patterns of command lines, such as "go test *" or "git status". A star
	// at the end stands for any further words, elsewhere for one. What none of them
	// matches is refused.
	Allow []string
	// Dir returns the directory that commands of a session run in, and may change.
	Dir func(ctx context.Context, session string) (string, error)
	// Cache is a directory for what compilers keep.
	Cache string
	// Level is auto (the default), full, files or off; Helper is the command line that
	// becomes the sandbox: as a rule the program itself and [SandboxArgument].
	Level  string
	Helper []string
	// Env names environment variables that commands get; they get no other of yours.
	Env []string
	// Keep are files and directories in Dir that commands may read and not change, Hide
	// such that they do not see. That takes a sandbox of the level full. On another,
	// commands are refused if MustHide says so, and else run all the same.
	Keep, Hide []string
	MustHide   bool
	// Secrets lists before each command what else is to be hidden. Nil means nothing.
	Secrets func(context.Context) ([]string, error)
	// Timeout bounds one command: 2 minutes by default.
	Timeout time.Duration
}

// SandboxArgument is the first argument of a program that is started as its own
// sandbox. Its main function then returns what [SandboxMain] does.
const SandboxArgument = sandbox.HelperArgument

// SandboxMain is the main function of a program that was started with SandboxArgument.
func SandboxMain() (exitCode int) { return sandbox.Child() }

type request struct {
	Command []string `json:"command" jsonschema:"the program and its arguments, each on its own; there is no shell"`
	Dir     string   `json:"dir,omitempty" jsonschema:"directory to run in, relative to the working directory"`
}

type result struct {
	Exit   int    `json:"exit"`
	Output string `json:"output"`
	// Ended says why the command was ended before it was done.
	Ended string `json:"ended,omitempty"`
}

// maxOutput is what an agent gets to see of one command, in bytes.
const maxOutput = 32 << 10

// New returns the tool run_command. Whether a person is asked first is for the rules of
// package approve to say: the tool's argument "command" is what they match.
func New(c Config) (troupe.Tool, error) {
	if len(c.Allow) == 0 {
		return nil, errors.New("run_command: no command is granted")
	}
	if c.Dir == nil || c.Cache == "" {
		return nil, errors.New("run_command: it needs a Dir and a Cache")
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Minute
	}
	open := sync.OnceValues(func() (*sandbox.Sandbox, error) {
		return sandbox.Open(context.Background(), sandbox.Level(c.Level), c.Helper, nil)
	})
	description := "Runs a command in a sandbox: without network, and with changes only in the working directory. Granted: " + strings.Join(c.Allow, "; ") + "."
	return troupe.NewToolWithCall("run_command", description, func(ctx context.Context, call *troupe.Invocation, in request) (result, error) {
		if len(in.Command) == 0 || in.Command[0] == "" {
			return result{}, &troupe.ToolError{Class: "invalid_arguments", Message: "the command is empty"}
		}
		if !granted(c.Allow, in.Command) {
			return result{}, &troupe.ToolError{Class: "unauthorized", Message: fmt.Sprintf("%q is not granted; granted: %s", strings.Join(in.Command, " "), strings.Join(c.Allow, "; "))}
		}
		dir := path.Clean("/" + in.Dir)[1:]
		box, err := open()
		if err != nil {
			return result{}, err
		}
		if c.MustHide && box.Level() != sandbox.Full {
			return result{}, &troupe.ToolError{Class: "unauthorized", Message: "commands are not run here: nothing would keep them from the work of other users (" + box.Why + ")"}
		}
		root, err := c.Dir(ctx, call.Run.Session())
		if err != nil {
			return result{}, err
		}
		room := checks.Room{Sandbox: box, Root: root, Cache: c.Cache, Env: c.Env, Keep: c.Keep, Hide: slices.Clone(c.Hide)}
		if c.Secrets != nil && box.Level() == sandbox.Full {
			secrets, err := c.Secrets(ctx)
			if err != nil {
				return result{}, err
			}
			room.Hide = append(room.Hide, secrets...)
		}
		r, err := room.Command(ctx, in.Command, dir, sandbox.Limits{Time: c.Timeout, Output: maxOutput})
		if err != nil {
			return result{}, err
		}
		if r.Missing != "" {
			return result{}, errors.New(r.Missing)
		}
		return result{r.Exit, r.Output, r.Ended}, nil
	}, troupe.Timeout(c.Timeout+10*time.Second)), nil
}

// granted reports whether a pattern matches the words of a command. A star at the end
// stands for any further words, elsewhere for one.
func granted(patterns, command []string) bool {
	for _, p := range patterns {
		if matches(strings.Fields(p), command) {
			return true
		}
	}
	return false
}

func matches(pattern, words []string) bool {
	for i, p := range pattern {
		if p == "*" && i == len(pattern)-1 {
			return true
		}
		if i >= len(words) {
			return false
		}
		if ok, err := path.Match(p, words[i]); p != words[i] && (err != nil || !ok) {
			return false
		}
	}
	return len(pattern) == len(words)
}

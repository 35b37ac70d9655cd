// Package repo lets agents look at a repository: list, search and read files, outline
// them, and see what was changed so far. It only reads; results are data.
package repo

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe"
)

// A View is a repository as it is at one moment.
type View interface {
	// Paths are the files that agents may know of, sorted.
	Paths() []string
	// Read returns a file, false where there is none or where it is not for agents.
	Read(path string) (content string, ok bool, err error)
	// Size is that of a file in bytes.
	Size(path string) int64
	// Load reads many files at once, as far as they are not large.
	Load(paths []string) error
}

// A Config says where the tools look. Open is required; a tool whose function is nil
// is not offered.
type Config struct {
	// Open returns the repository that the session works on.
	Open func(ctx context.Context, session string) (View, error)
	// Diff returns what was changed so far, or by one step.
	Diff func(ctx context.Context, session, path, step string) (string, error)
	// Output returns the last output of a check.
	Output func(ctx context.Context, session, check string) (string, error)
	// Document returns a document of an earlier phase.
	Document func(ctx context.Context, session, phase string) (string, error)
	// Shown is told that a conversation has seen the whole of a file.
	Shown func(session, run, path, content string) error
	// Calls is how many calls a conversation may make: 40 by default.
	Calls int
}

// Tools returns the tools.
func Tools(c Config) []troupe.Tool {
	if c.Calls == 0 {
		c.Calls = 40
	}
	s := &set{Config: c, made: map[string]int{}}
	tools := []troupe.Tool{
		tool(s, "list_files", "Lists the files of the repository with their sizes.", s.list),
		tool(s, "search_code", "Searches the files of the repository for a regular expression (RE2).", s.search),
		tool(s, "read_file", "Reads a file of the repository, with line numbers. The numbers are not part of the file.", s.read),
		tool(s, "outline", "Lists the definitions in a file or a directory with their lines.", s.outline),
	}
	if c.Diff != nil {
		tools = append(tools, tool(s, "show_diff", "Shows what was changed so far, or by one step, as a unified diff.", s.diff))
	}
	if c.Output != nil {
		tools = append(tools, tool(s, "check_output", "Shows the last output of a check, 200 lines at a time.", s.output))
	}
	if c.Document != nil {
		tools = append(tools, tool(s, "read_document", "Shows a document of an earlier phase.", s.document))
	}
	return tools
}

// set is the tools of one configuration.
type set struct {
	Config
	mu   sync.Mutex
	made map[string]int // calls by run
}

// tool makes a tool that counts its calls and says when they run out.
func tool[In any](s *set, name, description string, fn func(context.Context, *troupe.Invocation, In) (string, error)) troupe.Tool {
	return troupe.NewToolWithCall(name, description, func(ctx context.Context, call *troupe.Invocation, in In) (string, error) {
		left := s.count(call.Run.ID())
		if left < 0 {
			return "", fmt.Errorf("all %d calls of this conversation are used up: answer now with what you have", s.Calls)
		}
		text, err := fn(ctx, call, in)
		if err == nil && left <= 10 {
			text += fmt.Sprintf("\n[%d calls left: answer soon]", left)
		}
		return text, err
	}, troupe.ReadOnly())
}

func (s *set) count(run string) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[run]++
	return s.Calls - s.made[run]
}

const (
	maxBytes = 50 << 10 // of one result
	maxLine  = 2000     // bytes of a line
)

func clip(line string, n int) string {
	if len(line) > n {
		return strings.ToValidUTF8(line[:n], "") + "…"
	}
	return line
}

func cut(text string) string {
	if len(text) > maxBytes {
		return strings.ToValidUTF8(text[:maxBytes], "") + fmt.Sprintf("\n[%d more bytes]", len(text)-maxBytes)
	}
	return text
}

package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/sandbox"
)

// A Repository says where a delivery changes code, and how what it changes is checked.
// Dir, Data, Worktrees and Cache are required.
type Repository struct {
	// Dir is in the checkout of the repository, which is never touched. With Create it
	// is a folder that a new repository is made in where there is none.
	Dir    string
	Create bool
	// Base is what the branch begins from: HEAD by default. IncludeChanges makes what is
	// changed in the checkout its first commit.
	Base           string
	IncludeChanges bool
	// Branch is the branch's name; <feature> and <id> in it are filled in. By default
	// it is troupe/<feature>-<id>.
	Branch string
	// Data is where a delivery keeps its plan, documents and outputs, in a folder with
	// the session's id. Worktrees is for folders that can be made again, Cache for what
	// compilers keep: checks write to it, so that it should be this repository's own.
	Data, Worktrees, Cache string
	// Documents is "branch" (the default) for a commit of the phases' documents, or
	// "outside" to keep them in Data alone.
	Documents string
	// Setup are commands that run before the checks, with network.
	Setup []string
	// SetupAgain is what becomes of the setup where a change wants other dependencies: ask
	// (the default), never or always. It then runs on the base's files and the manifests of
	// the change, without install scripts unless SetupScripts says so.
	SetupAgain   string
	SetupScripts bool
	// Link are directories of the checkout that git ignores and that checks may read:
	// nil means the usual ones. Copy are files of it that are copied.
	Link, Copy []string
	// Checks are found where they are nil. Unchecked allows to go on without any.
	Checks    []Check
	Unchecked bool
	// Format are commands that run before the checks; what they change in files that
	// the step changed is kept.
	Format []string
	// Protect are patterns of paths that no agent may change.
	Protect []string
	// Edits is how agents are asked to write text: json, blocks or auto (the default).
	Edits string
	// Rounds is how often the checks of a step may fail: 4 by default. QARounds is how
	// often the change is reviewed: 3 by default, none where it is negative.
	Rounds, QARounds int
	// KeepGoing carries out steps that do not depend on one that has failed.
	KeepGoing bool
	Sandbox   Sandbox
	// Network are hosts that checks may reach, by way of a proxy: a host, *.host or
	// host:port. None by default. It needs the level full.
	Network []string
	// Read are directories that checks may read besides, Env are variables that they get.
	Read, Env []string
	// Hide are files and directories that checks do not see, such as what is kept for others.
	// It needs the level full.
	Hide []string
	// Version is that of the program, for the commits.
	Version string
}

// A Check is a command that says by its exit code whether all is well.
type Check struct {
	Name string
	// Run is the command, by way of a shell.
	Run     string
	Timeout time.Duration
	// When is a pattern of paths that must have changed for the check to run.
	When string
}

// A Sandbox says how checks are kept apart.
type Sandbox struct {
	// Level is auto (the default), full, files, off or command.
	Level string
	// Helper is the command line that becomes the sandbox: as a rule the program itself
	// and [SandboxArgument]. Without it there is only off and command.
	Helper []string
	// Command runs a check, which is appended to it; {worktree} is filled in.
	Command []string
}

// SandboxArgument is the first argument of a program that is started as its own
// sandbox. Its main function then returns what [SandboxMain] does.
const SandboxArgument = sandbox.HelperArgument

// SandboxMain is the main function of a program that was started with SandboxArgument.
func SandboxMain() (exitCode int) { return sandbox.Child() }

// complete fills in defaults and says what is wrong.
func (r *Repository) complete() error {
	for name, dir := range map[string]*string{"Dir": &r.Dir, "Data": &r.Data, "Worktrees": &r.Worktrees, "Cache": &r.Cache} {
		if *dir == "" {
			return errors.New("repository: it needs " + name)
		}
		full, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = full
	}
	r.Branch = cmp.Or(r.Branch, defaultBranch)
	r.Documents = cmp.Or(r.Documents, "branch")
	r.Edits = cmp.Or(r.Edits, editsAuto)
	r.SetupAgain = cmp.Or(r.SetupAgain, SetupAsk)
	r.Version = cmp.Or(r.Version, "devel")
	if r.Rounds <= 0 {
		r.Rounds = 4
	}
	if r.QARounds == 0 {
		r.QARounds = 3
	}
	for what, value := range map[string][]string{"documents": {r.Documents, "branch", "outside"}, "edits": {r.Edits, editsAuto, editsJSON, editsBlocks}, "setup_again": {r.SetupAgain, SetupAsk, SetupNever, SetupAlways}} {
		if !slices.Contains(value[1:], value[0]) {
			return fmt.Errorf("repository: %s: %.40q is none of %q", what, value[0], value[1:])
		}
	}
	seen := map[string]bool{}
	for _, c := range r.Checks {
		if c.Name == "" || c.Run == "" {
			return errors.New("repository: a check needs a name and a command")
		}
		if seen[c.Name] {
			return fmt.Errorf("repository: there are two checks %q", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

const (
	editsAuto   = "auto"
	editsJSON   = "json"
	editsBlocks = "blocks"
)

// configured are the checks of the configuration as they are run.
func (r *Repository) configured() []checks.Check {
	var list []checks.Check
	for _, c := range r.Checks {
		list = append(list, checks.Check{Name: c.Name, Shell: c.Run, Timeout: c.Timeout, When: c.When})
	}
	return list
}

// defaultBranch is what the branch of a delivery is called.
const defaultBranch = "troupe/<feature>-<id>"

// Package git works on one repository by way of the git program: it makes a worktree
// and a branch for a change, and commits to them, without touching the checkout. Nothing
// that the repository brings along is run: no hook, filter, monitor or external diff.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// timeout bounds one call of git.
const timeout = 2 * time.Minute

// ErrNone reports that there is no repository.
var ErrNone = errors.New("not in a git repository")

// A Repo is a repository. It does not change and may be used concurrently.
type Repo struct {
	// Top is the root of the checkout, and Dir the repository's own folder.
	Top, Dir string
	settings []string // environment that keeps the repository's programs from running
	who      *identity
}

// Open finds the repository around a directory. It fails with ErrNone where there is
// none, and says why where there is one that cannot be worked on.
func Open(ctx context.Context, dir string) (*Repo, error) {
	if err := checkVersion(ctx); err != nil {
		return nil, err
	}
	r := &Repo{settings: safeSettings(nil), who: &identity{}}
	out, err := r.at(ctx, dir, nil, "rev-parse", "--is-bare-repository", "--git-common-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, ErrNone
		}
		if strings.Contains(err.Error(), "dubious ownership") {
			return nil, fmt.Errorf("the repository around %s belongs to somebody else; git says how to trust it: git config --global --add safe.directory %s", dir, dir)
		}
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[0] == "true" {
		return nil, fmt.Errorf("%s is a bare repository: it has no checkout to begin from", dir)
	}
	if r.Dir, err = realPath(dir, lines[1]); err != nil {
		return nil, err
	}
	top, err := r.at(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s is in the repository's own folder, not in its checkout", dir)
	}
	if r.Top, err = realPath(dir, strings.TrimSuffix(top, "\n")); err != nil {
		return nil, err
	}
	filters, err := r.filters(ctx, r.Top)
	if err != nil {
		return nil, err
	}
	r.settings = safeSettings(filters)
	return r, nil
}

// Create makes a repository with one empty commit.
func Create(ctx context.Context, dir string) (*Repo, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	r := &Repo{settings: safeSettings(nil), who: &identity{}}
	if _, err := r.at(ctx, dir, nil, "init", "--quiet", "--initial-branch=main", "--template="); err != nil {
		return nil, err
	}
	r, err := Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if _, err := r.at(ctx, r.Top, nil, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		return r, nil // made before
	}
	empty, err := r.at(ctx, r.Top, strings.NewReader(""), "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return nil, err
	}
	commit, err := r.commitTree(ctx, r.Top, strings.TrimSpace(empty), nil, "Begin", time.Unix(0, 0))
	if err != nil {
		return nil, err
	}
	_, err = r.at(ctx, r.Top, nil, "update-ref", "refs/heads/main", commit)
	return r, err
}

func realPath(dir, name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// checkVersion asks for what the package uses: merge-tree --write-tree.
func checkVersion(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "git", "version").Output()
	if err != nil {
		return fmt.Errorf("git is needed, and cannot be run: %w", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 3 {
		return fmt.Errorf("git version says %q", out)
	}
	parts := strings.SplitN(fields[2], ".", 3)
	major, _ := strconv.Atoi(parts[0])
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	if major < 2 || major == 2 && minor < 38 {
		return fmt.Errorf("git 2.38 or later is needed; this is %s", fields[2])
	}
	return nil
}

// safeSettings are what keeps git from running programs that a repository names.
func safeSettings(filters []string) []string {
	settings := [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
		{"core.autocrlf", "false"}, {"core.quotePath", "false"}, {"core.untrackedCache", "false"}, {"core.pager", "cat"}, {"core.editor", "true"},
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"diff.external", ""}, {"submodule.recurse", "false"}, {"protocol.allow", "never"},
		{"core.sshCommand", "false"}, {"core.askPass", "true"}, {"credential.helper", ""}, {"core.splitIndex", "false"}, {"core.sparseCheckout", "false"},
		{"advice.detachedHead", "false"}, {"checkout.workers", "0"}, {"merge.renormalize", "false"}, {"status.submoduleSummary", "false"}, {"color.ui", "false"},
	}
	for _, name := range filters {
		settings = append(settings, [2]string{"filter." + name + ".clean", ""}, [2]string{"filter." + name + ".smudge", ""},
			[2]string{"filter." + name + ".process", ""}, [2]string{"filter." + name + ".required", "false"})
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// filters lists the content filters that are configured anywhere.
func (r *Repo) filters(ctx context.Context, dir string) ([]string, error) {
	out, err := r.at(ctx, dir, nil, "config", "--null", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil {
		if status, ok := errors.AsType[*exec.ExitError](err); ok && status.ExitCode() == 1 {
			return nil, nil
		}
		return nil, err
	}
	seen := map[string]bool{}
	var names []string
	for key := range strings.SplitSeq(out, "\x00") {
		key = strings.TrimPrefix(key, "filter.")
		if dot := strings.LastIndex(key, "."); dot > 0 && !seen[key[:dot]] {
			seen[key[:dot]] = true
			names = append(names, key[:dot])
		}
	}
	return names, nil
}

// environment is what git gets to know: no variable that would lead it elsewhere.
func (r *Repo) environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") && !strings.HasPrefix(v, "SSH_") {
			env = append(env, v)
		}
	}
	env = append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_MERGE_AUTOEDIT=no")
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, r.settings...)
	return append(env, more...)
}

// at runs git in a directory.
func (r *Repo) at(ctx context.Context, dir string, stdin *strings.Reader, args ...string) (string, error) {
	return r.run(ctx, dir, stdin, nil, args...)
}

// An Error is what git said when it failed.
type Error struct {
	Command string
	Said    string
	Err     error
}

// Error names the command and what it said.
func (e *Error) Error() string {
	if said := strings.TrimSpace(e.Said); said != "" {
		return fmt.Sprintf("git %s: %s", e.Command, said)
	}
	return fmt.Sprintf("git %s: %v", e.Command, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func (r *Repo) run(ctx context.Context, dir string, stdin *strings.Reader, env []string, args ...string) (string, error) {
	return r.runHolding(ctx, nil, dir, stdin, env, args...)
}

// runHolding runs git with a lock that it holds for as long as it runs.
func (r *Repo) runHolding(ctx context.Context, lock *os.File, dir string, stdin *strings.Reader, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("git took more than %s", timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, r.environment(env...)
	cmd.WaitDelay = 5 * time.Second
	if lock != nil {
		passLock(cmd, lock)
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
		}
		said := stderr.String()
		if strings.Contains(said, ".lock': File exists") {
			said += "another git process is at work, or one was killed; if none is, remove that file"
		}
		return stdout.String(), &Error{Command: args[0], Said: said, Err: err}
	}
	return stdout.String(), nil
}

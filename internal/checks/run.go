package checks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/sandbox"
)

// A Room is where checks run: a folder, what they may see besides, and their caches.
type Room struct {
	Sandbox *sandbox.Sandbox
	// Root is the worktree.
	Root string
	// Read are paths that may be seen, Cache is a folder of the repository's own.
	Read  []string
	Cache string
	// Env names further variables that checks get.
	Env []string
	// Vars are variables with their values that programs get besides.
	Vars []string
	// Keep are places in Root that are not changed, Hide places anywhere that are not seen.
	Keep, Hide []string
	// Hosts are those that checks may reach.
	Hosts []string
	// Redact takes secrets out of what programs print. Nil means that nothing does.
	Redact func(string) string
}

// Run runs a check.
func (c *Check) Run(ctx context.Context, room Room) (Outcome, error) {
	argv := c.Argv
	if c.Shell != "" {
		argv = []string{"/bin/sh", "-c", c.Shell}
	}
	r, err := room.run(ctx, argv, c.Dir, sandbox.Limits{Time: c.Timeout}, false)
	if err != nil {
		return Outcome{}, fmt.Errorf("check %s: %w", c.Name, err)
	}
	return c.read(r, room.Root), nil
}

// Setup runs a command that the user wrote for before the checks: with the network.
func (room Room) Setup(ctx context.Context, shell string) (Outcome, error) {
	r, err := room.run(ctx, []string{"/bin/sh", "-c", shell}, "", sandbox.Limits{}, true)
	if err != nil {
		return Outcome{}, fmt.Errorf("setup %q: %w", shell, err)
	}
	c := Check{Name: "setup", Shell: shell}
	return c.read(r, room.Root), nil
}

// Lock brings a lock file up to date, with the network.
func (room Room) Lock(ctx context.Context, lock LockCommand) (Outcome, error) {
	r, err := room.run(ctx, lock.Argv, lock.Dir, sandbox.Limits{}, true)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", lock.Command(), err)
	}
	c := Check{Name: "setup", Shell: lock.Command()}
	return c.read(r, room.Root), nil
}

// Command runs any command line as a check would.
func (room Room) Command(ctx context.Context, argv []string, dir string, limits sandbox.Limits) (sandbox.Result, error) {
	return room.run(ctx, argv, dir, limits, false)
}

func (room Room) run(ctx context.Context, argv []string, dir string, limits sandbox.Limits, network bool) (sandbox.Result, error) {
	if err := os.MkdirAll(room.Cache, 0o755); err != nil {
		return sandbox.Result{}, err
	}
	tools := toolchains(ctx)
	env := room.environment(tools)
	if network || len(room.Hosts) > 0 {
		env = slices.DeleteFunc(env, func(v string) bool {
			return v == "GOPROXY=off" || strings.HasPrefix(v, "npm_config_offline") || strings.HasPrefix(v, "CARGO_NET") || strings.HasPrefix(v, "PIP_NO_INDEX") || strings.HasPrefix(v, "GOMODCACHE=")
		})
		env = append(env, "GOMODCACHE="+filepath.Join(room.Cache, "mod"))
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "GOPROXY", "GONOSUMDB", "GOFLAGS", "GONOSUMCHECK", "GOSUMDB", "npm_config_registry", "PIP_INDEX_URL", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
			if value, ok := os.LookupEnv(name); ok && (network || !strings.HasSuffix(strings.ToUpper(name), "_PROXY")) {
				env = append(env, name+"="+value)
			}
		}
	}
	env = append(room.virtual(env, dir), room.Vars...)
	var overlays []sandbox.Overlay
	if isDir(tools.goCache) && !strings.ContainsAny(tools.goCache+room.Cache, ",:\\") {
		// The person's own cache is where this one begins; it is never written to.
		build := filepath.Join(room.Cache, "go-build")
		overlays = append(overlays, sandbox.Overlay{Lower: tools.goCache, Upper: build + ".upper", Target: build})
	}
	r, err := room.Sandbox.Run(ctx, sandbox.Command{
		Overlays: overlays,
		Argv:     argv, Dir: filepath.Join(room.Root, filepath.FromSlash(dir)), Env: env, Limits: limits, Network: network, Hosts: room.Hosts,
		Keep: room.Keep, Hide: room.Hide,
		Write: []string{room.Root, room.Cache}, Read: append(slices.Clone(room.Read), tools.read...),
	})
	if room.Redact != nil {
		r.Output = room.Redact(r.Output)
	}
	return r, err
}

// A toolchain is what compilers and interpreters need of a person's home.
type toolchain struct {
	read     []string
	modCache string
	goFlags  string
	goCache  string
}

// toolchains finds where the tools are that PATH leads to.
func toolchains(ctx context.Context) toolchain {
	var t toolchain
	if out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOMODCACHE", "GOFLAGS", "GOCACHE").Output(); err == nil {
		if lines := strings.Split(string(out), "\n"); len(lines) >= 4 {
			t.read = append(t.read, lines[0], lines[1])
			t.modCache, t.goFlags, t.goCache = lines[1], lines[2], lines[3]
		}
	}
	home, _ := os.UserHomeDir()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		t.read = append(t.read, dir)
		// Version managers keep the real programs beside their links.
		for _, manager := range []string{".pyenv", ".nvm", ".rustup", ".asdf", ".volta", ".sdkman", ".rbenv", ".local/share/mise", ".cargo/bin", ".cargo/registry", ".bun", ".deno"} {
			if full := filepath.Join(home, manager); home != "" && (dir == full || strings.HasPrefix(dir, full+"/")) {
				t.read = append(t.read, full)
			}
		}
	}
	t.read = slices.DeleteFunc(t.read, func(p string) bool { return p == "" || p == "/" || p == home })
	slices.Sort(t.read)
	t.read = slices.Compact(t.read)
	return t
}

// environment is all that a check gets to know: nothing is inherited but what is named.
func (room Room) environment(t toolchain) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "TERM=dumb", "CI=1", "NO_COLOR=1", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
		"GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=" + t.goFlags, "GOCACHE=" + filepath.Join(room.Cache, "go-build"), "GOPATH=" + filepath.Join(room.Cache, "go"),
		"npm_config_offline=true", "npm_config_cache=" + filepath.Join(room.Cache, "npm"), "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false",
		"CARGO_NET_OFFLINE=true", "CARGO_TARGET_DIR=" + filepath.Join(room.Cache, "target"), "PYTHONDONTWRITEBYTECODE=1", "PIP_NO_INDEX=1", "XDG_CACHE_HOME=" + filepath.Join(room.Cache, "cache"),
	}
	modules := t.modCache
	if own := filepath.Join(room.Cache, "mod"); isDir(own) {
		modules = own
	}
	if modules != "" {
		env = append(env, "GOMODCACHE="+modules)
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "LANG" || name == "TZ" || strings.HasPrefix(name, "LC_") || slices.Contains(room.Env, name) {
			env = append(env, v)
		}
	}
	return env
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

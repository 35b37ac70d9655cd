package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// What all tests share: the program, and the browsers in which each has a profile of its own. Without
// a browser all of it is missing.
var (
	program  string
	chromium context.Context
	// windowed starts the browser that has windows, where that is another one.
	windowed = func() (context.Context, error) { return chromium, nil }
	withThem sync.Map // the names of the tests that open windows
)

// hasWindows says that a test opens windows beside each other. Chromium's shell, in which tests take
// half the time, has none: it hides no tab behind another.
func hasWindows(t *testing.T) {
	t.Helper()
	withThem.Store(t.Name(), true)
}

// browserOf is the browser of a test.
func browserOf(t *testing.T) context.Context {
	t.Helper()
	if chromium == nil {
		t.Skip("chromium is not installed: run make setup")
	}
	if _, ok := withThem.Load(t.Name()); !ok {
		return chromium
	}
	ctx, err := windowed()
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// prepared starts the browser that most tests use, the shell where there is one.
func prepared(run func() int) (int, error) {
	whole, err := exec.LookPath("chromium")
	if err != nil {
		return run(), nil // each test says why it is skipped
	}
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "troupe")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/troupe").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build troupe: %w\n%s", err, out)
	}
	usual := whole
	if shell, err := exec.LookPath("chromium-headless-shell"); err == nil {
		usual = shell
	}
	ctx, stop, err := startBrowser(usual, filepath.Join(dir, "profile"))
	if err != nil {
		return 0, err
	}
	defer stop()
	chromium = ctx
	if usual != whole {
		end := func() {}
		defer func() { end() }()
		windowed = sync.OnceValues(func() (ctx context.Context, err error) {
			ctx, end, err = startBrowser(whole, filepath.Join(dir, "profile of windows"))
			return ctx, err
		})
	}
	return run(), nil
}

func startBrowser(path, profile string) (context.Context, context.CancelFunc, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, func() {}, fmt.Errorf("start the browser: %w", err)
	}
	return ctx, stop, nil
}

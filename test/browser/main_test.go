package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// What all tests share: the program, and one browser in which each has a profile of
// its own. Without a browser both are missing.
var (
	program  string
	chromium context.Context
)

func TestMain(m *testing.M) {
	if file := os.Getenv(toolsVariable); file != "" {
		serveTools(file)
		return
	}
	code, err := prepared(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepared(run func() int) (int, error) {
	path, err := exec.LookPath("chromium")
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		return 0, fmt.Errorf("start the browser: %w", err)
	}
	chromium = ctx
	return run(), nil
}

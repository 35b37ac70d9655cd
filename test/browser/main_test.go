package browser

import (
	"fmt"
	"os"
	"testing"
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

package pipeline_test

import (
	"os"
	"testing"

	"github.com/troupe-dev/troupe/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	// Git commits as Ada, whoever runs the tests.
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"} {
		os.Setenv(name, value)
	}
	os.Exit(sandboxtest.Main(m))
}

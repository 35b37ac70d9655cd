package pipeline_test

import (
	"os"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// TestMain lets the test program be its own sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pipeline.SandboxArgument {
		os.Exit(pipeline.SandboxMain())
	}
	os.Exit(m.Run())
}

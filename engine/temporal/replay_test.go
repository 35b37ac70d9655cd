package temporal

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
)

// Workflows that are under way when a newer Troupe takes over go on: what earlier ones have
// on record can be replayed.
func TestHistoriesOfEarlierWorkflowsReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*.json"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		replayer := worker.NewWorkflowReplayer()
		RegisterWorkflows(replayer)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/troupe-dev/troupe/internal/logtest"
)

func TestAScanHasEveryEventOnce(t *testing.T) {
	logtest.Scan(t, openAt(t, filepath.Join(t.TempDir(), "troupe.db")))
}

package postgres

import (
	"testing"

	"github.com/troupe-dev/troupe/internal/logtest"
)

func TestAScanHasEveryEventOnce(t *testing.T) { logtest.Scan(t, openNew(t)) }

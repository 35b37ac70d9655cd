package postgres

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/troupetest"
)

func TestStoreKeepsItsPromises(t *testing.T) {
	troupetest.TestStore(t, func(tb testing.TB) troupe.Store { return openNew(tb) })
}

func TestStoreIsDurable(t *testing.T) {
	addresses := map[string]string{}
	troupetest.TestDurableStore(t, func(tb testing.TB, dir string) (troupe.Store, func()) {
		if addresses[dir] == "" {
			addresses[dir] = shared.Server(tb).Schema()
		}
		s := openAt(tb, addresses[dir])
		return s, func() { s.Close() }
	})
}

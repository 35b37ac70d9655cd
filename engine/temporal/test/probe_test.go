package test
import (
	_ "github.com/troupe-dev/troupe/engine/temporal"
	_ "go.temporal.io/server/temporaltest"
	_ "go.temporal.io/server/temporal"
	"testing"
)
func TestX(t *testing.T) {}

//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A fate is the point at which the process dies, and how often it gets there.
type fate struct {
	point Point
	left  atomic.Int64
}

// ownFate reads the environment once: there is one fate for a whole process.
var ownFate = sync.OnceValue(func() *fate {
	name, count, _ := strings.Cut(os.Getenv(Variable), ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	f := &fate{point: Point(name)}
	f.left.Store(n)
	return f
})

// Here is where p is. It does not return if the process is to die there.
func Here(p Point) {
	f := ownFate()
	if f.point != p || f.left.Add(-1) != 0 {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	select {}
}

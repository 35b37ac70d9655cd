//go:build unix

package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/troupe-dev/troupe/internal/failpoint"
)

// String says at which point, in the words of the failpoint variable.
func (p plan) String() string {
	if p.point != "" {
		return fmt.Sprintf("%s:%d", p.point, p.pass)
	}
	return p.after.String()
}

// rare are the points that few processes get to.
var rare = []failpoint.Point{failpoint.FolderMade, failpoint.AnswerRecorded, failpoint.StoreAfterRename, failpoint.StoreBeforeRename}

// A planner decides how processes of a lane are killed: half of them at points, each
// point as often as the others, and half at random moments.
type planner struct {
	random  *rand.Rand
	byPoint int // kills that are left
	byTime  int
	hits    map[failpoint.Point]int
	// usual is how long a command takes, more or less.
	usual time.Duration
}

func newPlanner(seed, lane uint64, kills int) *planner {
	return &planner{
		random: rand.New(rand.NewPCG(seed, lane)), byPoint: kills - kills/2, byTime: kills / 2,
		hits: map[failpoint.Point]int{}, usual: 300 * time.Millisecond,
	}
}

func (p *planner) more() bool { return p.byPoint+p.byTime > 0 }

// next says how the next process is to end, of which can says where it may get.
func (p *planner) next(can func(failpoint.Point) bool) plan {
	points := slices.DeleteFunc(failpoint.Points(), func(point failpoint.Point) bool { return !can(point) })
	p.random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	chosen := slices.MinFunc(points, func(a, b failpoint.Point) int {
		return cmp.Or(p.hits[a]-p.hits[b], slices.Index(rare, b)-slices.Index(rare, a))
	})
	if (p.hits[chosen] > 0 || p.byPoint == 0) && p.random.IntN(p.byPoint+p.byTime) >= p.byPoint {
		return plan{after: 1 + time.Duration(p.random.Int64N(int64(p.usual)))}
	}
	pass := 1
	if p.hits[chosen] > 0 {
		pass += p.random.IntN(1 << p.random.IntN(4)) // often early, sometimes late
	}
	return plan{point: chosen, pass: pass}
}

// note takes into account how a process ended.
func (p *planner) note(how plan, o *outcome) {
	switch {
	case !o.killed:
		p.usual = (3*p.usual + o.took) / 4
	case how.point != "":
		p.hits[how.point]++
		p.byPoint = max(p.byPoint-1, 0)
	default:
		p.byTime = max(p.byTime-1, 0)
	}
}

// Package journal knows what is on record of a run and its children, step by step,
// and what that says about a second pass over the same log.
package journal

import (
	"strconv"
	"strings"
)

// A Path is the place of an effect in its run: counters and branch numbers in
// turn. "3" is the third step, "3/1" its branch 1, "3/1/2" the second step of that
// branch. Paths do not depend on scheduling.
type Path string

// Start is where a run's first event stands.
const Start Path = "0"

// Step is the n-th step of the branch p; the empty path is the run itself.
func (p Path) Step(n int) Path { return p.below(n) }

// Branch is branch i of the step p.
func (p Path) Branch(i int) Path { return p.below(i) }

func (p Path) below(n int) Path {
	if p == "" {
		return Path(strconv.Itoa(n))
	}
	return p + "/" + Path(strconv.Itoa(n))
}

// IsBranch reports whether the path ends in a branch number, as that of each call
// of a turn does.
func (p Path) IsBranch() bool { return strings.Count(string(p), "/")%2 == 1 }

// Within is what the path is directly below: the branch of a step, the step of a
// branch, and the empty path for a step of the run itself.
func (p Path) Within() Path { return p[:max(strings.LastIndexByte(string(p), '/'), 0)] }

// Next is the step that follows p in the same branch.
func (p Path) Next() Path {
	within := p.Within()
	n, _ := strconv.Atoi(strings.TrimPrefix(string(p[len(within):]), "/"))
	return within.below(n + 1)
}

// After reports whether p can only have been reached when q was done. What happens
// in one branch says nothing about another.
func (p Path) After(q Path) bool {
	a, b := string(p), string(q)
	for isCounter := true; ; isCounter = !isCounter {
		headA, restA, moreA := strings.Cut(a, "/")
		headB, restB, moreB := strings.Cut(b, "/")
		if headA != headB {
			x, errX := strconv.Atoi(headA)
			y, errY := strconv.Atoi(headB)
			return isCounter && errX == nil && errY == nil && x > y
		}
		if !moreA || !moreB {
			return false // the same step, or one within the other
		}
		a, b = restA, restB
	}
}

// Child is the id of a run that is nested in another at a step.
func Child(run string, at Path) string { return run + ":" + string(at) }

// Outer returns the run that a run is nested in, and at which step.
func Outer(run string) (outer string, at Path, nested bool) {
	i := strings.LastIndexByte(run, ':')
	if i < 0 {
		return "", "", false
	}
	return run[:i], Path(run[i+1:]), true
}

// Belongs reports whether run is root or is nested in it, however deep.
func Belongs(run, root string) bool {
	return run == root || len(run) > len(root) && run[len(root)] == ':' && run[:len(root)] == root
}

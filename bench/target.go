package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// The limits that Troupe sets itself.
const (
	textTurnAllocs  = 30
	toolTurnAllocs  = 60
	toolTurnBytes   = 8 << 10
	hundredBytes    = 500_000
	hundredTimesTen = 12
	slowToolsTime   = 25 * time.Millisecond
	linkedModules   = 6
	rootPackage     = "github.com/troupe-dev/troupe"
)

// A verdict says whether a target is met, and with what figures.
type verdict struct {
	met    bool
	target string
	seen   string
}

func (v verdict) String() string {
	word := "MISSED"
	if v.met {
		word = "met   "
	}
	return fmt.Sprintf("%s  %s: %s", word, v.target, v.seen)
}

// verdicts judges every target.
func (t *table) verdicts(ctx context.Context) []verdict {
	ours := func(row string) figure { return t.cells[row][troupeName].figure }
	text, tool, ten, many, slow := ours(textTurn), ours(toolTurn), ours(tenTurns), ours(hundred), ours(slowTools)
	hand := t.cells[toolTurn][floorName].allocs
	return []verdict{
		t.lessThanPeers(),
		atMost("allocations of a text turn", text.allocs, textTurnAllocs),
		atMost(fmt.Sprintf("allocations of a tool turn (the loop written by hand: %d)", hand), tool.allocs, toolTurnAllocs),
		atMost("bytes of a tool turn", tool.bytes, toolTurnBytes),
		atMost("bytes of 100 tool turns", many.bytes, hundredBytes),
		atMost(fmt.Sprintf("bytes of 100 tool turns, %d times those of 10", hundredTimesTen), many.bytes, hundredTimesTen*ten.bytes),
		atMost("microseconds of ten tools of 20 ms", slow.time.Microseconds(), slowToolsTime.Microseconds()),
		modulesLinked(ctx),
	}
}

func atMost(what string, seen, limit int64) verdict {
	return verdict{seen > 0 && seen <= limit, what, fmt.Sprintf("%s of at most %s", thousands(seen), thousands(limit))}
}

// lessThanPeers compares with the best peer of every row.
func (t *table) lessThanPeers() verdict {
	var missed []string
	for _, row := range t.rows {
		best, ok := t.best(row)
		if ours := t.cells[row][troupeName]; ok && (ours.bytes >= best.bytes || ours.allocs >= best.allocs) {
			missed = append(missed, fmt.Sprintf("%s (%d B against %d, %d allocations against %d)", row, ours.bytes, best.bytes, ours.allocs, best.allocs))
		}
	}
	v := verdict{len(missed) == 0, "fewer allocations and bytes than every peer on every row", "all rows"}
	if !v.met {
		v.seen = "not on " + strings.Join(missed, ", ")
	}
	return v
}

// modulesLinked counts the modules of others whose packages Troupe's root
// package is built from.
func modulesLinked(ctx context.Context) verdict {
	v := verdict{target: "third-party modules that the root package links"}
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", rootPackage).Output()
	if err != nil {
		v.seen = "go list: " + err.Error()
		return v
	}
	modules := make(map[string]bool)
	for path := range strings.Lines(string(out)) {
		modules[strings.TrimSpace(path)] = true
	}
	delete(modules, "")
	delete(modules, rootPackage)
	v.met = len(modules) <= linkedModules
	v.seen = fmt.Sprintf("%d of at most %d", len(modules), linkedModules)
	return v
}

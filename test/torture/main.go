//go:build unix

// Torture kills troupe again and again, at random moments and at every named one, and
// looks after each time whether anything is lost, doubled or half done. Then it fills
// disks, takes away rights, starts processes in each other's way, and kills servers
// while clients talk to them.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
)

func main() {
	if servedLedger() {
		return
	}
	o := options{Out: os.Stdout}
	flag.IntVar(&o.Kills, "kills", 200, "how many processes to kill; with fewer than 100, some failpoints may not be reached")
	flag.Uint64Var(&o.Seed, "seed", rand.Uint64(), "what the random choices follow from")
	flag.BoolVar(&o.Keep, "keep", false, "keep the directory of the projects")
	flag.BoolVar(&o.Verbose, "v", false, "show every command")
	flag.StringVar(&o.Only, "only", "", "serve: kill nothing but servers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := torture(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		stop()
		os.Exit(1)
	}
}

//go:build unix

// Load talks to the real server as many pages would, with a model of its own behind
// it, and reports how fast that goes, what it takes, and whether anything went wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	o := options{out: os.Stdout}
	flag.IntVar(&o.seconds, "seconds", 10, "for how long turns are counted")
	flag.IntVar(&o.concurrent, "concurrent", 1000, "how many conversations stream at once")
	flag.IntVar(&o.stored, "stored", 10_000, "with how many stored conversations a turn is compared to one with none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := load(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}

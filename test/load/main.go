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
	"strings"
)

func main() {
	o := options{out: os.Stdout}
	flag.IntVar(&o.seconds, "seconds", 10, "for how long turns are counted")
	flag.IntVar(&o.concurrent, "concurrent", 1000, "how many conversations stream at once")
	flag.IntVar(&o.stored, "stored", 10_000, "with how many stored conversations a turn is compared to one with none")
	flag.IntVar(&o.stalled, "stalled", 200, "how many readers take nothing in, of messages of 3 MB")
	flag.IntVar(&o.readers, "readers", 5000, "how many readers, and then how many strangers, come at once")
	flag.IntVar(&o.sessions, "sessions", 0, "with how many stored sessions the program is started, searched and counted; 300,000 take a while to make")
	flag.StringVar(&o.keep, "keep", "", "a directory for that store, which is used again if it is there")
	flag.StringVar(&o.program, "program", "", "the troupe to measure; by default one that is built now")
	only := flag.String("only", "", "only these measurements, as in turns,streams: "+strings.Join(names(), ", "))
	flag.Parse()
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := load(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}

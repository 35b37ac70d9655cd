// Troupe runs troupes of AI agents: see the commands it lists.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/pipeline"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == pipeline.SandboxArgument {
		os.Exit(pipeline.SandboxMain())
	}
	os.Exit(run())
}

// run carries out the command line and returns the exit code.
func run() (code int) {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, lookup: os.LookupEnv}
	p.shield()
	defer p.reportPanic(&code)
	ctx, stop := interruptible(context.Background())
	defer stop()
	return p.execute(ctx, os.Args[1:])
}

// endGrace is how long the program may take to end once it was told to.
const endGrace = 10 * time.Second

// sameWish is how long after the first signal others mean the same.
const sameWish = 500 * time.Millisecond

// interruptible returns a context that is done with errInterrupted when the process
// is told to end. Whoever tells it a second time, or has waited for long, is obeyed
// at once: what was stored is stored, and a run resumes from its log. What comes within a
// moment of the first is the same wish: programs that start this one pass on what the
// terminal has sent to all of them.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	told := make(chan os.Signal, 2)
	over := make(chan struct{})
	signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-told:
			cancel(errInterrupted)
		case <-over:
			return
		}
		moment, late := time.After(sameWish), time.After(endGrace)
		var again <-chan os.Signal // nil, which nothing comes from, for a moment
		for {
			select {
			case <-moment:
				again = told
				for len(told) > 0 {
					<-told
				}
				continue
			case <-again:
			case <-late:
			case <-over:
				return
			}
			os.Exit(exitInterrupted)
		}
	})
	return ctx, func() {
		signal.Stop(told)
		close(over)
		watch.Wait()
		cancel(nil)
	}
}

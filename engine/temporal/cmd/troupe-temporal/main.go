// Troupe-temporal does for troupe what needs Temporal, which troupe itself does not link.
// 'troupe worker', 'troupe schedule', 'troupe run --each' and 'troupe doctor' call it where troupe.yaml says
// 'engine: temporal'. Where the cluster is, the usual variables say: TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"github.com/troupe-dev/troupe/engine/temporal"
	"github.com/troupe-dev/troupe/project"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "troupe-temporal:", err)
		os.Exit(1)
	}
}

const use = `use: troupe-temporal [-C DIR] [-model MODEL] COMMAND
  worker [-queue NAME] [-at-once N] [-rate N]   carry out runs; -until-eof: until standard input ends
  each -batch NAME [-queue NAME] [-max N]       carry out the runs of sessions, one id a line on standard input
  schedule sync                                 make the project's schedules known to the cluster
  schedule backfill NAME FROM UNTIL             carry out times that have passed
  setup                                         make Troupe's search attributes known to the namespace, once
  doctor                                        look at the cluster and at runs that no worker can carry out`

// A program is one invocation: a project and a connection to the cluster.
type program struct {
	project   *project.Project
	client    client.Client
	namespace string
	in        io.Reader
	out, err  io.Writer
	log       *slog.Logger
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (err error) {
	flags := flag.NewFlagSet("troupe-temporal", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	dir := flags.String("C", ".", "")
	model := flags.String("model", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return errors.New(use)
	}
	p := &program{in: in, out: out, err: errs, log: slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	away := newOutage(p.log)
	if p.client, p.namespace, err = connect(ctx, away.logger()); err != nil {
		return err
	}
	defer p.client.Close()
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer stop()
	watcher.Go(func() { away.watch(watching, p.isThere) })
	options := project.Options{Model: *model, LookForOllama: true, AllowUnknownTools: true, Log: func(level slog.Level) slog.Handler {
		return slog.NewTextHandler(errs, &slog.HandlerOptions{Level: level})
	}}
	if p.project, err = project.Open(*dir, options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.project.Close()) }()
	return p.do(ctx, flags.Args())
}

// connect connects to the cluster that the environment names.
func connect(ctx context.Context, logger log.Logger) (client.Client, string, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, "", fmt.Errorf("read the settings of Temporal: %w", err)
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.Logger = logger
	c, err := client.DialContext(ctx, options)
	switch {
	case err == nil:
		return c, options.Namespace, nil
	case options.HostPort == "":
		return nil, "", fmt.Errorf("TEMPORAL_ADDRESS is not set, and no Temporal answers at %s, which is the default: set it to where Temporal is: %w", client.DefaultHostPort, err)
	}
	return nil, "", fmt.Errorf("Temporal at %s: %w", options.HostPort, temporal.Explain(err))
}

func (p *program) do(ctx context.Context, args []string) error {
	switch command, rest := args[0], args[1:]; {
	case command == "worker":
		return p.work(ctx, rest)
	case command == "each":
		return p.each(ctx, rest)
	case command == "schedule" && len(rest) == 1 && rest[0] == "sync":
		return p.syncSchedules(ctx)
	case command == "schedule" && len(rest) == 4 && rest[0] == "backfill":
		return p.backfill(ctx, rest[1], rest[2], rest[3])
	case command == "setup" && len(rest) == 0:
		return temporal.Prepare(ctx, p.client, p.namespace)
	case command == "doctor" && len(rest) == 0:
		return p.examine(ctx)
	}
	return errors.New(use)
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/observe"
)

// A program is one invocation: what it reads from, writes to and was asked for.
type program struct {
	in       *os.File
	out, err io.Writer
	lookup   func(string) (string, bool) // environment variables
	log      heldLog
	flags    flags
	attach   []string // files that go with the first message
	// isUnderWay says that the command line made sense and a command was begun.
	isUnderWay bool
	// trial is the directory of a delivery that only tries something out, if it is one.
	trial string
}

// flags are those that every command has.
type flags struct {
	dir      string
	model    string
	logLevel string
	json     bool
	noColour bool
	quiet    bool
}

// execute carries out a command line and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	p.log.to = p.err
	root := p.command()
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	if !p.isUnderWay {
		err = usage("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if crash, ok := errors.AsType[*terminal.Crash](err); ok {
		p.tellCrash(crash)
		return exitFailed
	}
	code := exitCode(ctx, err)
	_, isModel := errors.AsType[*troupe.ModelError](err)
	if what := problem.Of(err); (isModel || strings.HasPrefix(what.Code, "disk_")) && !isReported(err) {
		p.explain(what)
	} else if !isReported(err) {
		p.complain(err)
	}
	if code == exitFailed && doctorKnows(err) {
		p.tell("'troupe doctor' may know why.")
	}
	if code == exitUsage {
		fmt.Fprintf(p.err, "See '%s --help'.\n", called.CommandPath())
	}
	return code
}

// doctorKnows reports whether what a model failed of is something that doctor tries.
func doctorKnows(err error) bool {
	if _, ok := errors.AsType[*troupe.ModelError](err); !ok {
		return false
	}
	return slices.Contains([]string{"key", "model", "unreachable", "certificate", "timeout", "address", "tools", "request"}, problem.Of(err).Code)
}

// explain says what went wrong and what to do in plain words, and then the error
// itself.
func (p *program) explain(what problem.Problem) {
	for _, line := range what.Lines() {
		fmt.Fprintf(p.err, "troupe: %s\n", terminal.Clean(line))
	}
	p.complain(errors.New("details: " + what.Details))
}

// complain says what went wrong, each line with the program's name, and each once:
// what took several things down is told by all of them.
func (p *program) complain(err error) {
	said := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(err.Error())) {
		if said[strings.TrimSpace(line)] {
			continue
		}
		said[strings.TrimSpace(line)] = true
		fmt.Fprintf(p.err, "troupe: %s\n", terminal.Clean(strings.TrimRight(line, "\n")))
	}
}

// command is the whole command line.
func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "troupe",
		Short:         "Runs troupes of AI agents",
		Long:          "Troupe runs agents that are written as files, on any model or on none.",
		Version:       buildVersion().line(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			p.isUnderWay = true
			return p.checkFlags()
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	global := root.PersistentFlags()
	global.StringVarP(&p.flags.dir, "dir", "C", ".", "the project's directory")
	global.StringVar(&p.flags.model, "model", "", "the model to use, as provider/name, or rehearsal for none; of several with commas between them, each is asked where the one before is down")
	global.BoolVar(&p.flags.json, "json", false, "write JSON to standard output")
	global.StringVar(&p.flags.logLevel, "log-level", "", "debug, info, warn or error (default warn)")
	global.BoolVar(&p.flags.noColour, "no-color", false, "use no colours")
	global.BoolVarP(&p.flags.quiet, "quiet", "q", false, "write nothing but results and errors")
	root.AddCommand(
		p.initCommand(), p.addCommand(), p.agentsCommand(), p.lintCommand(), p.rehearseCommand(), p.storiesCommand(), p.nextCommand(), p.chatCommand(), p.runCommand(), p.deliverCommand(), p.deliveriesCommand(),
		p.testPhaseCommand(), p.testWorkflowCommand(), p.validateSchemaCommand(), p.kbCommand(),
		p.serveCommand(), p.workerCommand(), p.scheduleCommand(), p.skillsCommand(), p.mcpCommand(), p.acpCommand(), p.a2aCommand(), p.evalCommand(), p.backupCommand(), p.manCommand(), p.sessionsCommand(), p.logsCommand(), p.metricsCommand(), p.storeCommand(), p.modelsCommand(), p.doctorCommand(), p.versionCommand(),
	)
	p.completeFlags(root)
	selfContained(root)
	return root
}

func (p *program) checkFlags() error {
	if level := p.flags.logLevel; level != "" {
		if _, err := observe.ParseLevel(level); err != nil {
			return usage("--log-level: %w", err)
		}
	}
	return nil
}

// getenv returns an environment variable, empty where it is not set.
func (p *program) getenv(name string) string {
	value, _ := p.lookup(name)
	return value
}

// tell writes a line that is not a result.
func (p *program) tell(format string, args ...any) {
	if !p.flags.quiet {
		fmt.Fprintln(p.err, p.folded(p.err, fmt.Sprintf(format, args...), ""))
	}
}

// folded is a text with its lines broken between words where a terminal ends. What the lines
// are continued with stands below it. Files and other programs get the text as it is.
func (p *program) folded(w io.Writer, text, indent string) string {
	if !p.isTerminal(w) {
		return text
	}
	return terminal.Fold(text, terminal.WidthOf(w), indent)
}

// table lays out columns, with lines that a terminal is too narrow for folded.
func (p *program) table() *tabwriter.Writer {
	return tabwriter.NewWriter(&foldedLines{p: p}, 0, 0, 2, ' ', 0)
}

// foldedLines writes to standard output line by line, each folded.
type foldedLines struct {
	p    *program
	line []byte
}

// Write implements [io.Writer].
func (f *foldedLines) Write(data []byte) (int, error) {
	f.line = append(f.line, data...)
	end := bytes.LastIndexByte(f.line, '\n') + 1
	if end == 0 {
		return len(data), nil
	}
	whole := string(f.line[:end-1])
	f.line = f.line[end:]
	if _, err := fmt.Fprintln(f.p.out, f.p.folded(f.p.out, whole, "    ")); err != nil {
		return 0, err
	}
	return len(data), nil
}

// writeJSON writes one value to standard output.
func (p *program) writeJSON(value any) error { return encodeJSON(p.out, value) }

// report writes what was done: as JSON, or in a line.
func (p *program) report(done any, format string, args ...any) error {
	if p.flags.json {
		return p.writeJSON(done)
	}
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}

// listOf returns a list as JSON has it: one that is empty is a list all the same.
func listOf[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func encodeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// shield has terminals get nothing that does something to them. Files and pipes get what
// is written, as it is.
func (p *program) shield() {
	if f, ok := p.out.(*os.File); ok && term.IsTerminal(f.Fd()) {
		p.out = &terminal.Safe{File: f, IsJSON: func() bool { return p.flags.json }}
	}
	if f, ok := p.err.(*os.File); ok && term.IsTerminal(f.Fd()) {
		p.err = &terminal.Safe{File: f}
	}
}

// isTerminal says whether a person is at the other end.
func (p *program) isTerminal(stream any) bool {
	if shielded, ok := stream.(*terminal.Safe); ok {
		stream = shielded.File
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd()) && p.getenv("TERM") != "dumb"
}

// usesColour says whether a stream gets colours.
func (p *program) usesColour(stream any) bool {
	return !p.flags.noColour && p.getenv("NO_COLOR") == "" && p.isTerminal(stream)
}

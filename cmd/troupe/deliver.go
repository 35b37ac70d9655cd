package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) deliverCommand() *cobra.Command {
	var order project.Delivery
	var with []string
	var saves bool
	c := &cobra.Command{
		Use:   "deliver REQUEST...",
		Short: "Turn a request into a branch that is built, tested and reviewed",
		Long: "Takes a request through requirements, architecture, discovery, planning, implementation and QA, in a worktree and on a\n" +
			"branch of its own: your checkout is not touched. Each step is checked with the project's own checks, in a sandbox, and\n" +
			"committed. It exits with 0 only if what was measured says that the change is delivered, with 4 if it waits for an\n" +
			"answer. 'troupe deliveries' shows, takes, resumes and drops deliveries. With --json it ends with a summary.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			request := strings.TrimSpace(strings.Join(args, " "))
			if request == "" {
				return usage("the request is empty")
			}
			if order.From != "" && order.Of == "" && with == nil {
				return usage("--from %s needs what comes before it: --of ID takes another delivery's documents, plan and commits, --with FILE gives documents", order.From)
			}
			for _, name := range with {
				data, err := os.ReadFile(name)
				if err != nil {
					return usage("--with: %w", err)
				}
				if order.With == nil {
					order.With = map[string]string{}
				}
				order.With[filepath.Base(name)] = string(data)
			}
			return p.inDelivery(c.Context(), func(s *stage) error {
				return p.deliver(c.Context(), s, request, over(order, s.project.Delivery()), saves)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&order.From, "from", "", "the phase to begin with; needs --of or --with")
	f.StringVar(&order.To, "to", "", "the phase to end with")
	f.StringVar(&order.Of, "of", "", "a delivery whose documents, plan and commits this one begins with")
	f.StringArrayVar(&with, "with", nil, "a document that the phases get to read; may be given several times")
	f.StringVar(&order.Approve, "approve", "", "auto, plan, diff, or manual to be asked after every phase (default auto)")
	f.StringVar(&order.Out, "out", "", "make a repository there and deliver into it")
	f.StringVar(&order.Base, "base", "", "the commit or branch to begin from (default what is checked out)")
	f.BoolVar(&order.IncludeChanges, "include-changes", false, "begin with what is changed and not committed in the checkout")
	f.BoolVar(&order.Unchecked, "unchecked", false, "count a result as delivered although there are no checks")
	f.BoolVar(&order.KeepGoing, "keep-going", false, "carry out steps that do not depend on one that has failed")
	f.BoolVar(&order.Compensate, "compensate", false, "write files that agents claim to have written")
	f.BoolVar(&saves, "save-checks", false, "write the checks that were found to troupe.yaml")
	return c
}

// over returns the order with what it leaves open taken from another.
func over(o, base project.Delivery) project.Delivery {
	if o.Approve == "" {
		o.Approve = base.Approve
	}
	o.Compensate = o.Compensate || base.Compensate
	return o
}

// inDelivery opens the stage with no agent in mind, in a project that need not have
// run anything yet.
func (p *program) inDelivery(ctx context.Context, f func(*stage) error) error {
	return p.inProject(func(project *project.Project) error {
		s, err := openStage(ctx, project)
		if err != nil {
			return err
		}
		return f(s)
	})
}

func (p *program) deliver(ctx context.Context, s *stage, request string, order project.Delivery, saves bool) error {
	if order.Approve != "" && !slices.Contains([]string{"auto", "plan", "diff", "manual"}, order.Approve) {
		return usage("--approve: auto, plan, diff or manual, not %.20q", order.Approve)
	}
	step, input, err := s.project.StartDelivery(ctx, request, order)
	if err != nil {
		return err
	}
	p.mention(ctx, s)
	p.mentionProjectAbove()
	c := &conversation{stage: s, step: step}
	return p.followDelivery(ctx, c, s.run(ctx, step, input), saves)
}

// mentionProjectAbove says which project is not used where somebody stands below it in the
// same repository: its checks and its models would be missed.
func (p *program) mentionProjectAbove() {
	dir, err := filepath.Abs(p.flags.dir)
	if err != nil {
		return
	}
	has := func(dir, name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	for here := dir; !has(here, "troupe.yaml"); here = filepath.Dir(here) {
		above := filepath.Dir(here)
		if above == here || has(here, ".git") {
			return
		}
		if has(above, "troupe.yaml") {
			p.tell("There is no troupe.yaml here. That of %s is not used: troupe -C %s deliver ... does.", above, above)
			return
		}
	}
}

// followDelivery shows how a delivery comes along, asks at gates where a person is at
// the terminal, and says what it came to.
func (p *program) followDelivery(ctx context.Context, c *conversation, events iter.Seq2[troupe.Event, error], saves bool) error {
	progress := p.newProgress()
	failure := c.follow(events, progress.note)
	progress.close()
	if saves && c.session != "" {
		p.saveChecks(c)
	}
	for failure == nil && c.stop == "input_requested" && p.isTerminal(p.in) && !p.flags.json {
		answer, err := p.askHere(ctx, c)
		if err != nil || answer == "" {
			break
		}
		progress = p.newProgress()
		failure = c.say(ctx, answer, progress.note)
		progress.close()
	}
	return p.reportDelivery(ctx, c, failure)
}

// saveChecks writes the checks that were found to troupe.yaml. That it cannot be done
// is no failure of the delivery.
func (p *program) saveChecks(c *conversation) {
	site, err := c.stage.project.Site(c.session)
	if err == nil && !site.Found {
		err = errors.New("they are configured already")
	}
	if err == nil {
		err = c.stage.project.SaveChecks(site)
	}
	if err != nil {
		p.tell("The checks were not saved: %v", err)
		return
	}
	p.tell("The checks are in troupe.yaml now.")
}

// askHere shows the question of a gate and reads a line.
func (p *program) askHere(ctx context.Context, c *conversation) (string, error) {
	events, err := c.stage.events(ctx, c.session)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(p.err, "\n%s\n> ", terminal.Clean(pipeline.Summarize(events).Question))
	next, closeLines := readLines(ctx, p.in)
	defer closeLines()
	return next()
}

// reportDelivery says what a delivery has come to.
func (p *program) reportDelivery(ctx context.Context, c *conversation, failure error) error {
	if c.session == "" {
		return failure
	}
	events, err := c.stage.events(context.WithoutCancel(ctx), c.session)
	if err != nil {
		return errors.Join(failure, err)
	}
	summary := pipeline.Summarize(events)
	site, none := c.stage.project.Site(c.session)
	if p.flags.json {
		err = p.writeJSON(summary)
	} else {
		summary.Errors = slices.DeleteFunc(summary.Errors, func(e string) bool { return failure != nil && e == failure.Error() }) // it is said last
		var taken project.Taken
		if none == nil {
			taken = c.stage.project.TakenOf(ctx, site)
		}
		err = p.writeDelivery(taken, &summary)
	}
	if failure != nil && none == nil {
		p.tell("Nothing is lost. To go on once that is put right: %s resume %s", p.deliveriesHere(), c.session[:8])
	}
	switch {
	case failure != nil || err != nil:
		return errors.Join(failure, err)
	case summary.State == "waiting":
		p.tell("To answer: %s resume %s -m '...'", p.deliveriesHere(), c.session[:8])
		return errInput
	case !summary.Success:
		return errBroken
	}
	return nil
}

// deliveriesHere is the command line that finds this delivery again.
func (p *program) deliveriesHere() string {
	if p.trial != "" {
		return "troupe -C " + p.trial + " deliveries"
	}
	return "troupe deliveries"
}

// events reads a whole log.
func (s *stage) events(ctx context.Context, session string) ([]troupe.Event, error) {
	var events []troupe.Event
	for e, err := range s.folders.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func (p *program) writeDelivery(taken project.Taken, s *pipeline.Summary) error {
	table := p.table()
	for _, phase := range s.Phases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s tokens\t%s\n", phase.Name, phase.Status, phase.JSON, words.Counted(phase.Artifacts, "artifact"), terminal.Count(phase.Tokens), timeOf(&phase))
	}
	if s.Between.Duration() >= time.Second {
		fmt.Fprintf(table, "checks, preparing\t\t\t\t\t%s\n", terminal.Duration(s.Between.Duration()))
	}
	for _, a := range s.Artifacts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", terminal.OneLine(a.Path, 100), a.State, terminal.OneLine(a.Error, 100))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.Report != nil {
		p.writeReport(s, taken)
	}
	for _, e := range s.Errors {
		said := terminal.Failure("", e)
		p.tell("✗ %s", terminal.OneLine(said, 300))
		if said != e {
			p.tell("  details: %s", terminal.OneLine(e, 300))
		}
	}
	if s.Question != "" {
		fmt.Fprintln(p.out, terminal.Clean(s.Question))
	}
	failed := 0
	for _, a := range s.Artifacts {
		if a.State == pipeline.StateFailed {
			failed++
		}
	}
	if failed > 0 {
		p.tell("%s could not be written or uploaded: 'troupe sessions retry %s' tries again.", words.Counted(failed, "document"), s.Session[:8])
	}
	return nil
}

// timeOf is how long a phase was worked on, and how long it waited for a person.
func timeOf(p *pipeline.PhaseSummary) string {
	var parts []string
	if p.Duration > 0 {
		parts = append(parts, terminal.Duration(p.Duration.Duration()))
	}
	if p.Waited > 0 {
		parts = append(parts, "waited "+terminal.Duration(p.Waited.Duration())+" for you")
	}
	return strings.Join(parts, ", ")
}

func (p *program) retrySessionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "retry ID",
		Short: "Process the artifacts of a delivery again that could not be written or uploaded",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inStore(c.Context(), func(s *stage) error { return p.retry(c.Context(), s, args[0]) })
		},
	}
}

func (p *program) retry(ctx context.Context, s *stage, id string) error {
	info, err := s.infoOfSession(ctx, id)
	if err != nil {
		return err
	}
	events, err := s.events(ctx, info.ID)
	if err != nil {
		return err
	}
	failed := pipeline.Failed(events)
	if len(failed) == 0 {
		p.tell("There is nothing to try again.")
		return nil
	}
	step, input, err := s.project.RetryDelivery(ctx, info.ID, failed)
	if err != nil {
		return err
	}
	c := &conversation{stage: s, step: step, session: info.ID}
	progress := p.newProgress()
	defer progress.close()
	if err := c.follow(s.run(ctx, step, input), progress.note); err != nil {
		return err
	}
	if events, err = s.events(ctx, info.ID); err != nil {
		return err
	}
	left := pipeline.Failed(events)
	fmt.Fprintf(p.out, "%s processed again, %d failed\n", words.Counted(len(failed), "artifact"), len(left))
	for _, f := range left {
		p.tell("  %s", terminal.OneLine(f.Reason, 200))
	}
	if len(left) > 0 {
		return errBroken
	}
	return nil
}

func (p *program) testPhaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test-phase PHASE INPUT...",
		Short: "Run one phase of the pipeline in a temporary directory and print its result",
		Long: "Runs one phase and prints its result as JSON. INPUT is a request, or the result of another phase, which the phase\n" +
			"then builds on. Sessions, documents, knowledge base and repository are in a temporary directory.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inTemporary(c.Context(), func(s *stage, dir string) error {
				return p.testPhase(c.Context(), s, dir, args[0], strings.Join(args[1:], " "))
			})
		},
	}
}

// inTemporary opens a stage whose sessions, documents and knowledge base are in a
// directory of their own, so that a test leaves nothing in the project.
func (p *program) inTemporary(ctx context.Context, f func(s *stage, dir string) error) error {
	dir, err := os.MkdirTemp("", "troupe-delivery-")
	if err != nil {
		return err
	}
	p.tell("Artifacts are in %s", dir)
	p.trial = dir
	o := p.options()
	o.Data = filepath.Join(dir, "data")
	opened, err := project.Open(p.flags.dir, o)
	if err != nil {
		return err
	}
	s, err := openStage(ctx, opened)
	if err == nil {
		err = f(s, dir)
	}
	return errors.Join(err, opened.Close())
}

func (p *program) testPhase(ctx context.Context, s *stage, dir, phase, input string) error {
	order := project.Delivery{From: phase, To: phase, Unchecked: true, Out: filepath.Join(dir, "repo")}
	if phase == "implementation" {
		order.With = map[string]string{"plan.md": "## Step 1: " + input}
	}
	step, request, err := s.project.StartDelivery(ctx, input, order)
	if err != nil {
		return err
	}
	p.mention(ctx, s)
	var earlier pipeline.Result
	if json.Unmarshal([]byte(input), &earlier) == nil && earlier.Phase != "" {
		request.Custom["phases"] = []pipeline.Result{earlier}
	}
	c := &conversation{stage: s, step: step}
	progress := p.newProgress()
	err = c.follow(s.run(ctx, step, request), progress.note)
	progress.close()
	if err != nil {
		return err
	}
	events, err := s.events(ctx, c.session)
	if err != nil {
		return err
	}
	for _, result := range pipeline.Results(events) {
		if result.Phase != phase {
			continue
		}
		if err := p.writeJSON(result); err != nil {
			return err
		}
		if result.Status != "success" {
			return errBroken
		}
		return nil
	}
	return fmt.Errorf("phase %s came to nothing", phase)
}

func (p *program) testWorkflowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test-workflow REQUEST...",
		Short: "Run the whole pipeline in a directory of its own and print what came of it",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inTemporary(c.Context(), func(s *stage, dir string) error {
				return p.deliver(c.Context(), s, strings.Join(args, " "), project.Delivery{Unchecked: true, Out: filepath.Join(dir, "repo")}, false)
			})
		},
	}
}

// maxOutput bounds what validate-schema reads, in bytes.
const maxOutput = 16 << 20

func (p *program) validateSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate-schema PHASE",
		Short: "Check a phase's output, read from standard input, against its contract; exit 3 if it does not fit",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			contract, ok := pipeline.ContractOf(args[0])
			if !ok {
				var names []string
				for _, phase := range pipeline.Six() {
					names = append(names, phase.Name)
				}
				return usage("there is no phase %.40q; there are %s", args[0], strings.Join(names, ", "))
			}
			data, err := io.ReadAll(io.LimitReader(p.in, maxOutput))
			if err != nil {
				return err
			}
			return p.writeProblems(contract.Validate(data))
		},
	}
}

// writeProblems prints what is wrong with an output, each with where it is.
func (p *program) writeProblems(problems []pipeline.Problem) error {
	if p.flags.json {
		if problems == nil {
			problems = []pipeline.Problem{}
		}
		if err := p.writeJSON(problems); err != nil {
			return err
		}
	}
	critical := 0
	for _, problem := range problems {
		severity := "warning"
		if problem.Critical {
			severity = "error"
			critical++
		}
		if !p.flags.json {
			fmt.Fprintln(p.out, terminal.Clean(fmt.Sprintf("%s: %s: %s", problem.Pointer, severity, problem.Message)))
		}
	}
	p.tell("%s, %s", words.Counted(critical, "error"), words.Counted(len(problems)-critical, "warning"))
	if critical > 0 {
		return errFindings
	}
	return nil
}

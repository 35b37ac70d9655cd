package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) deliverCommand() *cobra.Command {
	var order project.Delivery
	c := &cobra.Command{
		Use:   "deliver REQUEST...",
		Short: "Take a request from requirements to QA, phase by phase",
		Long: "Takes a request through requirements, architecture, discovery, planning, implementation and QA. Every phase's JSON\n" +
			"is checked, artifacts are written below --out, and the plan goes to the knowledge base. It stops at a closed gate\n" +
			"with a question: 'troupe chat deliver --session ID -m ANSWER' goes on. With --json it ends with a summary.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			request := strings.TrimSpace(strings.Join(args, " "))
			if request == "" {
				return usage("the request is empty")
			}
			return p.inDelivery(c.Context(), func(s *stage) error {
				return p.deliver(c.Context(), s, request, over(order, s.project.Delivery()))
			})
		},
	}
	c.Flags().StringVar(&order.From, "from", "", "the phase to begin with")
	c.Flags().StringVar(&order.To, "to", "", "the phase to end with")
	c.Flags().StringVar(&order.Approve, "approve", "", "auto, or manual to be asked after every phase (default auto)")
	c.Flags().StringVar(&order.Out, "out", "", "the directory for artifacts (default delivery)")
	c.Flags().BoolVar(&order.Compensate, "compensate", false, "write files that agents claim to have written")
	return c
}

// over returns the order with what it leaves open taken from another.
func over(o, base project.Delivery) project.Delivery {
	if o.Out == "" {
		o.Out = base.Out
	}
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

func (p *program) deliver(ctx context.Context, s *stage, request string, order project.Delivery) error {
	if order.Approve != "" && order.Approve != "auto" && order.Approve != "manual" {
		return usage("--approve: auto or manual, not %.20q", order.Approve)
	}
	step, input, err := s.project.StartDelivery(ctx, request, order)
	if err != nil {
		return err
	}
	p.mention(s)
	c := &conversation{stage: s, step: step}
	return p.reportDelivery(ctx, c, c.follow(s.engine.Run(ctx, step, input), p.phaseListener()))
}

// phaseListener shows how a delivery comes along.
func (p *program) phaseListener() func(*troupe.Event) {
	return func(e *troupe.Event) {
		switch b := e.Body.(type) {
		case *troupe.RunStarted:
			if _, builtIn := pipeline.ContractOf(e.Agent); builtIn || e.Parent != "" && strings.Count(e.Run, ":") == 1 {
				p.tell("%s", e.Agent)
			}
		case *troupe.ArtifactSaved:
			p.tell("  %s", terminal.Clean(b.Path))
		case *troupe.Warned:
			if line, ok := terminal.Warning(e); ok {
				p.tell("  %s", line)
			}
		}
	}
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
	if p.flags.json {
		err = p.writeJSON(summary)
	} else {
		err = p.writeDelivery(c.stage.project, &summary)
	}
	switch {
	case failure != nil || err != nil:
		return errors.Join(failure, err)
	case summary.State == "waiting":
		p.tell("To answer: troupe chat %s --session %s -m '...'", project.Deliver, c.session[:8])
		return errInput
	case !summary.Success:
		return errBroken
	}
	return nil
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

func (p *program) writeDelivery(project *project.Project, s *pipeline.Summary) error {
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, phase := range s.Phases {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s tokens\n", phase.Name, phase.Status, phase.JSON, counted(phase.Artifacts, "artifact"), terminal.Count(phase.Tokens))
	}
	for _, a := range s.Artifacts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", terminal.OneLine(a.Path, 100), a.State, terminal.OneLine(a.Error, 100))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, e := range s.Errors {
		p.tell("✗ %s", terminal.OneLine(e, 300))
	}
	if s.Question != "" {
		fmt.Fprintln(p.out, terminal.Clean(s.Question))
	}
	if slices.ContainsFunc(s.Artifacts, func(a pipeline.ArtifactSummary) bool { return a.State == pipeline.StateFailed }) {
		p.tell("'troupe sessions retry %s' tries again what failed.", s.Session[:8])
	}
	return nil
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
	info, err := infoOfSession(ctx, s.folders, id)
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
	if err := c.follow(s.engine.Run(ctx, step, input), p.phaseListener()); err != nil {
		return err
	}
	if events, err = s.events(ctx, info.ID); err != nil {
		return err
	}
	left := pipeline.Failed(events)
	fmt.Fprintf(p.out, "%s processed again, %d failed\n", counted(len(failed), "artifact"), len(left))
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
		Short: "Run one phase of the pipeline, with artifacts in a temporary directory, and print its result",
		Long: "Runs one phase and prints its result as JSON. INPUT is a request, or the result of another phase, which the phase\n" +
			"then builds on.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inDelivery(c.Context(), func(s *stage) error {
				return p.testPhase(c.Context(), s, args[0], strings.Join(args[1:], " "))
			})
		},
	}
}

func (p *program) testPhase(ctx context.Context, s *stage, phase, input string) error {
	order := project.Delivery{From: phase, To: phase}
	var err error
	if order.Out, err = p.temporaryOutput(); err != nil {
		return err
	}
	step, request, err := s.project.StartDelivery(ctx, input, order)
	if err != nil {
		return err
	}
	p.mention(s)
	var earlier pipeline.Result
	if json.Unmarshal([]byte(input), &earlier) == nil && earlier.Phase != "" {
		request.Custom["phases"] = []pipeline.Result{earlier}
	}
	c := &conversation{stage: s, step: step}
	if err := c.follow(s.engine.Run(ctx, step, request), p.phaseListener()); err != nil {
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
		if result.Status != troupe.StatusSuccess {
			return errBroken
		}
		return nil
	}
	return fmt.Errorf("phase %s came to nothing", phase)
}

// temporaryOutput makes a directory for artifacts that are only to be looked at.
func (p *program) temporaryOutput() (string, error) {
	dir, err := os.MkdirTemp("", "troupe-delivery-")
	if err == nil {
		p.tell("Artifacts are in %s", dir)
	}
	return dir, err
}

func (p *program) testWorkflowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test-workflow REQUEST...",
		Short: "Run the whole pipeline in a directory of its own and print what came of it",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inDelivery(c.Context(), func(s *stage) error {
				dir, err := p.temporaryOutput()
				if err != nil {
					return err
				}
				return p.deliver(c.Context(), s, strings.Join(args, " "), project.Delivery{Out: dir})
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
			return p.writeProblems(contract.Check(data))
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
	p.tell("%s, %s", counted(critical, "error"), counted(len(problems)-critical, "warning"))
	if critical > 0 {
		return errFindings
	}
	return nil
}

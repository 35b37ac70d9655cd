package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
)

func (p *program) metricsCommand() *cobra.Command {
	var since string
	var prometheus bool
	c := &cobra.Command{
		Use:   "metrics",
		Short: "Sum up what agents did: runs, tools, models, tokens, errors",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := parseTime("--since", since, time.Now())
			if err != nil {
				return err
			}
			// Little is kept of a million events, and a quarter of the time is for what is not.
			defer debug.SetGCPercent(debug.SetGCPercent(800))
			return p.reading(c.Context(), observe.NewMetrics().Summary(), func(opened *project.Project, reader store.Log) error {
				metrics, err := fold(c.Context(), reader, opened.DataDir(), from)
				switch {
				case err != nil:
					return err
				case prometheus:
					return metrics.WritePrometheus(p.out)
				case p.flags.json:
					return p.writeJSON(metrics.Summary())
				}
				return writeSummary(p.out, metrics.Summary())
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "only sessions in which something happened since then: 2h, 2026-01-31")
	c.Flags().BoolVar(&prometheus, "prometheus", false, "in the text format of Prometheus")
	return c
}

// fold computes metrics from the logs of all sessions that went on since then.
func fold(ctx context.Context, reader store.Log, dir string, since time.Time) (*observe.Metrics, error) {
	if since.IsZero() {
		return foldKept(ctx, reader, dir)
	}
	metrics := observe.NewMetrics()
	for info, err := range reader.Sessions(ctx, troupe.SessionFilter{Since: since}) {
		if err != nil {
			return nil, err
		}
		var events []troupe.Event
		for e, err := range reader.Events(ctx, info.ID, 0) {
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		}
		for _, e := range observe.Own(events) {
			metrics.Note(&e)
		}
	}
	return metrics, nil
}

// writeSummary shows metrics to a person.
func writeSummary(w io.Writer, s observe.Summary) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "runs\t%d started, %d succeeded, %d partial, %d failed, %d cancelled, %d waiting\n",
		s.Runs.Started, s.Runs.Success, s.Runs.Partial, s.Runs.Failed, s.Runs.Cancelled, s.Runs.Waiting)
	fmt.Fprintf(table, "completion\t%s\nphase success\t%s\nJSON compliance\t%s\nartifact success\t%s\n", percent(s.Runs.Completion),
		percent(s.Phases.Success), percent(s.Phases.Compliance), percent(s.Artifacts.Success))
	fmt.Fprintf(table, "errors\t%s\nwarnings\t%s\nhandoffs\t%d\n", counts(s.Errors), counts(s.Warnings), s.Handoffs)
	fmt.Fprint(table, "\nagent\truns\tturns per run\ttool calls\ttool errors\ttokens in\tout\tcost\tcontext\n")
	for _, name := range slices.Sorted(maps.Keys(s.Agents)) {
		a := s.Agents[name]
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%s\t%s\t$%.4f\t%s\n", terminal.OneLine(name, 40), a.Runs.Started, number(a.TurnsPerRun), counts(a.ToolCalls),
			a.ToolErrors, terminal.Count(a.Spent.Input), terminal.Count(a.Spent.Output), a.Spent.Cost, percent(a.Context.Max))
	}
	fmt.Fprint(table, "\ntool\tcalls\terrors\tmean\tmax\n")
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		t := s.Tools[name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f ms\t%.1f ms\n", terminal.OneLine(name, 70), t.Calls, t.Errors, t.Time.Mean, t.Time.Max)
	}
	fmt.Fprint(table, "\nmodel\treplies\ttokens in\tout\tcost\tmean\tfirst token\n")
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		m := s.Models[name]
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t$%.4f\t%.0f ms\t%.0f ms\n", terminal.OneLine(name, 60), m.Replies,
			terminal.Count(m.Spent.Input), terminal.Count(m.Spent.Output), m.Spent.Cost, m.Latency.Mean, m.FirstToken.Mean)
	}
	return table.Flush()
}

func percent(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**share)
}

func number(n *float64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *n)
}

// counts shows how often what happened, the most frequent first.
func counts(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(by[b]-by[a], strings.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", terminal.OneLine(name, 40), by[name]))
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ", ")
}

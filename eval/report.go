package eval

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// A Report is what a suite came to.
type Report struct {
	Suite    string    `json:"suite"`
	Started  time.Time `json:"started"`
	Millis   int64     `json:"duration_ms"`
	Variants []Variant `json:"variants"`
	Results  []Result  `json:"results"`
	Runs     []Played  `json:"runs"`
	// Passed says that every case passed as often as it must, on every variant, and Broken
	// that some run could not be carried out.
	Passed bool `json:"passed"`
	Broken bool `json:"broken"`
}

// A Result is what a case came to on a variant.
type Result struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	How     string `json:"how"`
	Runs    int    `json:"runs"`
	Passes  int    `json:"passes"`
	Errors  int    `json:"errors"`
	Skipped int    `json:"skipped_checks,omitempty"`
	// Rate is the part of runs that passed, which with a confidence of 95 % is between Low
	// and High for all runs that there could be.
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Needed is the least rate, and Passed says that it was reached.
	Needed float64 `json:"needed"`
	Passed bool    `json:"passed"`
	// Cost, Tokens and Time are those of a run, on average.
	Cost   float64 `json:"cost_usd"`
	Tokens int     `json:"tokens"`
	Millis int64   `json:"time_ms"`
	// Score is the average of judges, where there are any.
	Score *float64 `json:"score,omitempty"`
}

// report sums up runs, which are in order of case and variant.
func (s *Suite) report(runs []Played, began time.Time) *Report {
	r := &Report{Suite: s.Name, Started: began.UTC(), Millis: time.Since(began).Milliseconds(), Variants: s.Variants, Runs: runs, Passed: true}
	for i := range s.Cases {
		c := &s.Cases[i]
		for _, v := range s.Variants {
			if result, ok := sum(runs, c.Name, v.Name, s.passRate(c)); ok {
				r.Results = append(r.Results, result)
				r.Passed, r.Broken = r.Passed && result.Passed, r.Broken || result.Errors > 0
			}
		}
	}
	return r
}

// sum sums up the runs of a case on a variant.
func sum(runs []Played, name, variant string, needed float64) (Result, bool) {
	r := Result{Case: name, Variant: variant, Needed: needed}
	var score, scores float64
	for i := range runs {
		p := &runs[i]
		if p.Case != name || p.Variant != variant {
			continue
		}
		r.Runs++
		r.How = p.How
		if p.Passed() {
			r.Passes++
		}
		if p.Error != "" {
			r.Errors++
		}
		r.Skipped += len(p.Skipped)
		r.Cost += p.Spent.Cost
		r.Tokens += p.Spent.Usage.Total()
		r.Millis += p.Millis
		for _, judged := range p.Judged {
			score, scores = score+judged, scores+1
		}
	}
	if r.Runs == 0 {
		return r, false
	}
	r.Cost, r.Tokens, r.Millis = r.Cost/float64(r.Runs), r.Tokens/r.Runs, r.Millis/int64(r.Runs)
	r.Rate = float64(r.Passes) / float64(r.Runs)
	r.Low, r.High = interval(r.Passes, r.Runs)
	r.Passed = r.Rate >= needed
	if scores > 0 {
		average := score / scores
		r.Score = &average
	}
	return r, true
}

// interval is Wilson's, for a confidence of 95 %.
func interval(passes, runs int) (low, high float64) {
	const z = 1.959964
	n, rate := float64(runs), float64(passes)/float64(runs)
	middle := rate + z*z/(2*n)
	spread := z * math.Sqrt(rate*(1-rate)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	return max(0, (middle-spread)/whole), min(1, (middle+spread)/whole)
}

// WriteText writes a report for people: a row for each case and variant, and then what
// went wrong.
func (r *Report) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CASE\tVARIANT\tPASSED\tRATE\t95 %\tCOST\tTOKENS\tTIME\tSCORE")
	for _, one := range r.Results {
		mark, score := "✓", ""
		if !one.Passed {
			mark = "✗"
		}
		if one.Score != nil {
			score = fmt.Sprintf("%.2f", *one.Score)
		}
		fmt.Fprintf(table, "%s %s\t%s (%s)\t%d/%d\t%.0f %%\t%.0f–%.0f %%\t%s\t%d\t%v\t%s\n", mark, one.Case, one.Variant, one.How, one.Passes, one.Runs,
			100*one.Rate, 100*one.Low, 100*one.High, money(one.Cost), one.Tokens, time.Duration(one.Millis)*time.Millisecond, score)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i := range r.Runs {
		p := &r.Runs[i]
		where := fmt.Sprintf("%s, %s, run %d", p.Case, p.Variant, p.Run)
		if p.Error != "" {
			fmt.Fprintf(w, "\n✗ %s: could not be carried out: %s\n", where, cmp.Or(p.Problem, p.Error))
			if p.Problem != "" {
				fmt.Fprintf(w, "  details: %s\n", p.Error)
			}
		}
		for _, f := range p.Failures {
			fmt.Fprintf(w, "\n✗ %s: %s%s: %s\n", where, f.Check, atLine(f.Line), f.Reason)
		}
		for _, f := range p.Skipped {
			fmt.Fprintf(w, "\n- %s: %s%s skipped: %s\n", where, f.Check, atLine(f.Line), f.Reason)
		}
	}
	return nil
}

func atLine(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// money is what something cost, as people write it.
func money(dollars float64) string {
	if dollars == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", dollars)
}

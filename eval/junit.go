package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of a JUnit report, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a report in JUnit's format: a suite for each variant, and a test for
// each case, which fails if the case passed less often than it must.
func (r *Report) WriteJUnit(w io.Writer) error {
	var all junitSuites
	for _, v := range r.Variants {
		suite := junitSuite{Name: r.Suite + " " + v.Name}
		var millis int64
		for i := range r.Results {
			if one := &r.Results[i]; one.Variant == v.Name {
				suite.add(r, one)
				millis += one.Millis * int64(one.Runs)
			}
		}
		suite.Time = seconds(millis)
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(r *Report, one *Result) {
	s.Tests++
	test := junitCase{Name: one.Case, Class: r.Suite + "." + one.Variant, Time: seconds(one.Millis * int64(one.Runs))}
	test.Output = fmt.Sprintf("%d of %d runs passed (%s), %d tokens a run", one.Passes, one.Runs, one.How, one.Tokens)
	if one.Cost > 0 { // else nobody knows what the model costs, or it costs nothing
		test.Output += fmt.Sprintf(", $%.4f", one.Cost)
	}
	if !one.Passed {
		text := strings.Join(r.reasons(one), "\n")
		problem := &junitProblem{Message: fmt.Sprintf("%d of %d runs passed, %.0f %% are needed", one.Passes, one.Runs, 100*one.Needed), Text: text}
		if one.Errors > 0 {
			s.Errors++
			test.Error = problem
		} else {
			s.Failures++
			test.Failure = problem
		}
	}
	s.Cases = append(s.Cases, test)
}

// reasons are why runs of a case did not pass.
func (r *Report) reasons(one *Result) (list []string) {
	for i := range r.Runs {
		p := &r.Runs[i]
		if p.Case != one.Case || p.Variant != one.Variant {
			continue
		}
		if p.Error != "" {
			list = append(list, fmt.Sprintf("run %d: %s", p.Run, p.Error))
		}
		for _, f := range p.Failures {
			list = append(list, fmt.Sprintf("run %d: %s%s: %s", p.Run, f.Check, atLine(f.Line), f.Reason))
		}
	}
	return list
}

func seconds(millis int64) string { return fmt.Sprintf("%.3f", float64(millis)/1000) }

package project

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/bundle/lint"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/skill"
)

// Lint reports what is wrong with all agents, workflows and skills below a path, and
// with the configuration where there is one. Variables are looked up with lookup, as
// [os.LookupEnv] does.
func Lint(path string, lookup func(string) (string, bool)) (*lint.Report, error) {
	var options lint.Options
	var problems config.Problems
	var c *config.Config
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if lookup, err = config.Environment(path, lookup); err == nil {
			c, err = config.Load(path, lookup)
		}
		if known, ok := errors.AsType[config.Problems](err); ok {
			problems = known
		} else if err != nil {
			return nil, err
		} else {
			options.Config = bundle.Config{Core: c.Core, Bundles: c.Bundles}
		}
	}
	report, err := lint.Run(path, options)
	if err != nil {
		return nil, err
	}
	if n := countPlain(c); n > 0 {
		report.Agents += n
		report.Findings = slices.DeleteFunc(report.Findings, func(f bundle.Finding) bool { return f.Code == "nothing-found" })
	}
	report.Findings = append(report.Findings, lintSkills(path, c, report.Findings)...)
	tools, elsewhere := lintTools(path, c, lookup)
	if c != nil {
		elsewhere = append(elsewhere, missing(path, c)...) // they may be where it is used
	}
	for i, problem := range slices.Concat(elsewhere, problems, lintFlows(path, c), tools) {
		severity := bundle.Error
		if i < len(elsewhere) {
			severity = bundle.Warning
		}
		report.Findings = append(report.Findings, bundle.Finding{
			Severity: severity, Code: "invalid-config", File: filepath.Base(problem.File), Line: max(1, problem.Line), Message: problem.Message,
		})
	}
	return report, nil
}

// countPlain counts the agents that are described in troupe.yaml alone.
func countPlain(c *config.Config) int {
	n := 0
	if c != nil {
		for id := range c.Agents {
			if (&Project{config: c}).isPlain(id) {
				n++
			}
		}
	}
	return n
}

// lintFlows says what is wrong with the flows that only the agents tell.
func lintFlows(path string, c *config.Config) config.Problems {
	if c == nil || len(c.Flows) == 0 {
		return nil
	}
	bundles, err := bundle.Open(path, bundle.Config{Core: c.Core, Bundles: c.Bundles})
	if err != nil {
		return config.Problems{{File: c.Path, Message: err.Error()}}
	}
	defer bundles.Close()
	problems, _ := errors.AsType[config.Problems]((&Project{config: c, bundles: bundles}).maker(nil).Check())
	return problems
}

// lintTools says which agents have tools that nobody has, or that cannot be made: as
// [Diagnose] does. Keys may be set elsewhere than where the files are looked at, and tools may
// be those of a program that opens the project: see [Options.Tools].
func lintTools(path string, c *config.Config, lookup func(string) (string, bool)) (problems, elsewhere config.Problems) {
	if c == nil || len(c.Agents)+len(c.Approve)+len(c.Queues) == 0 {
		return nil, nil
	}
	withKey := func(name string) (string, bool) {
		if name == c.Web.Search.KeyEnv {
			return "set elsewhere", true
		}
		return lookup(name)
	}
	p, err := Open(path, Options{LookupEnv: withKey, isExamined: true})
	if err != nil {
		return nil, nil // what it fails on is reported by itself
	}
	defer p.Close()
	add := func(problem config.Problem, mayBeElsewhere bool) {
		if mayBeElsewhere && strings.HasSuffix(problem.Message, notKnownHere) {
			elsewhere = append(elsewhere, problem)
		} else {
			problems = append(problems, problem)
		}
	}
	for _, rule := range p.unknown.rules {
		add(rule, p.unknown.excused[rule])
	}
	s := &stage{project: p}
	for _, id := range p.agentIDs() {
		if len(c.Agents[id].Tools) == 0 {
			continue
		}
		if err := s.examineTools(id); err != nil {
			add(config.Problem{File: c.Path, Line: config.LineOf(c.Path, "agents", id, "tools"), Message: err.Error()}, true)
		}
	}
	return problems, elsewhere
}

// lintSkills says what is wrong with the project's skills beside what is known: names
// of tools and skills that are nobody's, and skills that need each other in a circle.
func lintSkills(path string, c *config.Config, known []bundle.Finding) []bundle.Finding {
	if c == nil {
		return nil
	}
	var roots []string
	for _, dir := range c.Skills {
		roots = append(roots, within(path, dir))
	}
	library, err := skill.Open(skill.Config{Roots: roots})
	if err != nil {
		return []bundle.Finding{{Severity: bundle.Error, Code: "invalid-config", File: config.Name, Line: 1, Message: err.Error()}}
	}
	var found []bundle.Finding
	for _, f := range library.Lint(toolNames(c)) {
		if relative, err := filepath.Rel(path, f.File); err == nil {
			f.File = filepath.ToSlash(relative)
		}
		isKnown := func(k bundle.Finding) bool { return k.File == f.File && k.Code == f.Code && k.Line == f.Line }
		if !slices.ContainsFunc(known, isKnown) {
			found = append(found, bundle.Finding{Severity: bundle.Severity(f.Severity), Code: f.Code, File: f.File, Line: f.Line, Message: f.Message})
		}
	}
	return found
}

// toolNames are the tools that a skill may count on, nil where nobody can tell
// because servers have more.
func toolNames(c *config.Config) []string {
	if len(c.MCP) > 0 {
		return nil
	}
	names := []string{"read_file", "save_output", "list_files", "execute_workflow", "invoke_agent", "use_skill", "search_skills"}
	for name := range (&stage{project: &Project{config: c}}).ready("") {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

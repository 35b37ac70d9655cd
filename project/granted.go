package project

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
)

// missing are the directories that agents are granted and that are not there: whatever such an
// agent does with files fails.
func missing(dir string, c *config.Config) (problems config.Problems) {
	for id := range c.Agents {
		own := c.Agents[id]
		for key, granted := range map[string]map[string]string{"read": own.Read, "write": own.Write} {
			for name, path := range granted {
				if info, err := os.Stat(within(dir, path)); err == nil && info.IsDir() {
					continue
				}
				problems = append(problems, config.Problem{
					File: c.Path, Line: config.LineOf(c.Path, "agents", id, key, name),
					Message: fmt.Sprintf("agents.%s.%s.%s: there is no directory %s: make it, or nothing that the agent does with files works", id, key, name, path),
				})
			}
		}
	}
	slices.SortFunc(problems, func(a, b config.Problem) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Message, b.Message)) })
	return problems
}

// examineGranted says which directories are not there that agents are granted: nothing where all are.
func (p *Project) examineGranted() (checks []doctor.Check) {
	for _, problem := range missing(p.dir, p.config) {
		checks = append(checks, doctor.Check{Name: "directories", Status: doctor.Broken, Message: problem.Message, Fix: "make the directory, or change the line in " + config.Name})
	}
	return checks
}

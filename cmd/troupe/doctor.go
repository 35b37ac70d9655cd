package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, keys, providers and directories, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := buildVersion()
			checks := []project.Check{{Name: "program", Status: project.OK, Message: fmt.Sprintf("troupe %s, %s, %s/%s", v.Version, v.Go, v.OS, v.Arch)}}
			checks = append(checks, project.Diagnose(c.Context(), p.flags.dir, p.options())...)
			if err := p.writeChecks(checks); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c project.Check) bool { return c.Status == project.Broken }) {
				return errBroken
			}
			return nil
		},
	}
}

func (p *program) writeChecks(checks []project.Check) error {
	if p.flags.json {
		return p.writeJSON(struct {
			Checks []project.Check `json:"checks"`
		}{checks})
	}
	for _, c := range checks {
		mark := map[project.Status]string{project.OK: "ok     ", project.Warning: "warning", project.Broken: "BROKEN "}[c.Status]
		fmt.Fprintf(p.out, "%s  %s: %s\n", mark, c.Name, terminal.Clean(strings.ReplaceAll(c.Message, "\n", "\n         ")))
		if c.Fix != "" {
			fmt.Fprintf(p.out, "         → %s\n", terminal.Clean(c.Fix))
		}
	}
	return nil
}

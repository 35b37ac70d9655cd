package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
)

func (p *program) doctorCommand() *cobra.Command {
	var verify bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, keys, providers and directories, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := buildVersion()
			checks := []project.Check{{Name: "program", Status: project.OK, Message: fmt.Sprintf("troupe %s, %s, %s/%s", v.Version, v.Go, v.OS, v.Arch)}}
			busy := p.busy("trying what is configured")
			checks = append(checks, project.Diagnose(c.Context(), p.flags.dir, p.options())...)
			checks = append(checks, p.examineTemporal(c.Context())...)
			busy.end()
			if verify {
				checks = append(checks, p.verifySessions(c.Context())...)
			}
			if err := p.writeChecks(checks); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c project.Check) bool { return c.Status == project.Broken }) {
				return errBroken
			}
			return nil
		},
	}
	command.Flags().BoolVar(&verify, "verify", false, "also check that no event of any session was changed or is missing, and that lists say what events do")
	return command
}

// examineTemporal looks at the cluster, where there is one.
func (p *program) examineTemporal(ctx context.Context) (checks []project.Check) {
	const name = "temporal"
	err := p.inProject(func(opened *project.Project) error {
		if opened.EngineKind() != project.EngineTemporal {
			return nil
		}
		if _, err := findTemporal(); err != nil {
			checks = append(checks, project.Check{Name: name, Status: project.Broken, Message: err.Error(), Fix: "install " + temporalProgram + " and run 'troupe doctor' again, which then looks at the cluster"})
			return nil
		}
		var said, trouble bytes.Buffer
		examine := &program{in: p.in, out: &said, err: &trouble, lookup: p.lookup, flags: p.flags}
		if err := examine.runTemporal(ctx, opened, "doctor"); err != nil {
			fix := "start Temporal, or correct TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE"
			checks = append(checks, project.Check{Name: name, Status: project.Broken, Message: cmp.Or(strings.TrimSpace(trouble.String()), err.Error()), Fix: fix})
		}
		for line := range strings.Lines(said.String()) {
			status, message, _ := strings.Cut(strings.TrimSpace(line), " ")
			checks = append(checks, project.Check{Name: name, Status: project.Status(status), Message: strings.TrimSpace(message)})
		}
		return nil
	})
	if err != nil {
		return nil // what is wrong with the project is said already
	}
	return checks
}

// maxFaults is how many faulty sessions a report names.
const maxFaults = 20

// verifySessions looks at every stored event.
func (p *program) verifySessions(ctx context.Context) (checks []project.Check) {
	defer p.busy("reading every event").end()
	err := p.inProject(func(opened *project.Project) error {
		reader, err := opened.OpenReader(ctx)
		if err != nil {
			return err
		}
		defer reader.Close()
		for fault, err := range reader.Verify(ctx) {
			if err != nil {
				return err
			}
			checks = append(checks, faultCheck(&fault))
			if len(checks) == maxFaults {
				return nil
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, project.ErrNoSessions):
		checks = append(checks, project.Check{Name: "sessions", Status: project.OK, Message: "there are none to verify"})
	case err != nil:
		checks = append(checks, project.Check{Name: "sessions", Status: project.Broken, Message: err.Error(), Fix: "put a backup of the data directory in its place"})
	case len(checks) == 0:
		checks = append(checks, project.Check{Name: "sessions", Status: project.OK, Message: "every event is as it was stored, and so is what is listed of them"})
	}
	return checks
}

// faultCheck says what is wrong in the store, where, and what to do.
func faultCheck(fault *store.Fault) project.Check {
	where, fix := fmt.Sprintf("session %s, event %d", fault.Session, fault.Seq), "put a backup of the data directory in its place, or fork the session from an event before"
	if fault.Seq == 0 {
		where, fix = "session "+fault.Session, "put a backup of the data directory in its place"
	}
	if fault.IsDerived {
		fix = "what was said and done is as it was stored: 'troupe store copy' into a new store makes lists and searches from that again; then name the new one under store in troupe.yaml"
	}
	return project.Check{Name: "sessions", Status: project.Broken, Message: where + ": " + fault.Problem, Fix: fix}
}

func (p *program) writeChecks(checks []project.Check) error {
	if p.flags.json {
		return p.writeJSON(struct {
			Checks []project.Check `json:"checks"`
		}{checks})
	}
	for _, c := range checks {
		mark := map[project.Status]string{project.OK: "ok     ", project.Warning: "warning", project.Broken: "BROKEN "}[c.Status]
		const indent = "         "
		text := fmt.Sprintf("%s  %s: %s", mark, c.Name, terminal.Clean(strings.ReplaceAll(c.Message, "\n", "\n"+indent)))
		if c.Fix != "" {
			text += "\n" + indent + "→ " + terminal.Clean(c.Fix)
		}
		fmt.Fprintln(p.out, p.folded(p.out, text, indent))
	}
	return nil
}

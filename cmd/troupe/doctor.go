package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/config"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/doctor"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/models"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

func (p *program) doctorCommand() *cobra.Command {
	var verify bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, keys, providers and directories, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			checks := p.examine(c.Context())
			if verify {
				checks = append(checks, p.verifySessions(c.Context())...)
			}
			if err := p.writeChecks(checks); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Status == doctor.Broken }) {
				return errBroken
			}
			return nil
		},
	}
	command.Flags().BoolVar(&verify, "verify", false, "also check that no event of any session was changed or is missing")
	return command
}

// maxFaults is how many faulty sessions a report names.
const maxFaults = 20

// verifySessions looks at every stored event.
func (p *program) verifySessions(ctx context.Context) []doctor.Check {
	check := doctor.Check{Name: "sessions", Status: doctor.OK, Message: "every event is as it was stored"}
	dir, err := p.projectDir()
	if err != nil {
		return nil // reported already
	}
	c, _ := p.examineConfig()
	project := &project{dir: dir, config: c}
	reader, err := project.openReader(ctx)
	if errors.Is(err, errNoSessions) {
		check.Message = "there are none to verify"
		return []doctor.Check{check}
	}
	if err != nil {
		return []doctor.Check{{Name: "sessions", Status: doctor.Broken, Message: err.Error(), Fix: "put a backup of the data directory in its place"}}
	}
	defer reader.Close()
	var broken []doctor.Check
	for fault, err := range reader.Verify(ctx) {
		message := fmt.Sprintf("session %s, event %d: %s", fault.Session, fault.Seq, fault.Problem)
		if err != nil {
			message = err.Error()
		}
		broken = append(broken, doctor.Check{
			Name: "sessions", Status: doctor.Broken, Message: message,
			Fix: "put a backup of the data directory in its place, or fork the session from an event before",
		})
		if err != nil || len(broken) == maxFaults {
			break
		}
	}
	if len(broken) > 0 {
		return broken
	}
	return []doctor.Check{check}
}

// examine looks at everything, whatever else is broken.
func (p *program) examine(ctx context.Context) []doctor.Check {
	v := buildVersion()
	checks := []doctor.Check{{Name: "program", Status: doctor.OK, Message: fmt.Sprintf("troupe %s, %s, %s/%s", v.Version, v.Go, v.OS, v.Arch)}}
	dir, err := p.projectDir()
	if err != nil {
		return append(checks, doctor.Check{Name: "project", Status: doctor.Broken, Message: err.Error(), Fix: "name an existing directory with -C"})
	}
	c, configured := p.examineConfig()
	checks = append(checks, configured)
	project := &project{dir: dir, config: c, models: models.Chooser{Config: c, Flag: p.flags.model, Getenv: p.getenv}}
	checks = append(checks, p.examineAgents(project)...)
	checks = append(checks, p.examineKeys(project))
	checks = append(checks, p.examineModels(ctx, project)...)
	return append(checks, doctor.Directory("data", project.dataDir(), project.shown(project.dataDir())))
}

// examineConfig returns the configuration, or the defaults where it is broken.
func (p *program) examineConfig() (*config.Config, doctor.Check) {
	check := doctor.Check{Name: "configuration", Status: doctor.OK, Message: "there is no troupe.yaml, so everything has its default"}
	lookup, err := config.Environment(p.flags.dir, p.lookup)
	p.lookup = lookup
	var c *config.Config
	if err == nil {
		c, err = config.Load(p.flags.dir, p.lookup)
	}
	if err != nil {
		check.Status, check.Message, check.Fix = doctor.Broken, err.Error(), "correct the file; the rest of this report goes by the defaults"
		c, _ = config.Parse(config.Name, nil, os.LookupEnv) // an empty file has no problems
	} else if c.Path != "" {
		check.Message = config.Name + " has nothing wrong with it"
	}
	return c, check
}

func (p *program) examineAgents(project *project) []doctor.Check {
	catalog, err := bundle.Find(project.dir, bundle.Config{Core: project.config.Core, Bundles: project.config.Bundles})
	if err != nil {
		return []doctor.Check{{Name: "agents", Status: doctor.Broken, Message: err.Error(), Fix: "check bundles and core in troupe.yaml"}}
	}
	project.catalog = catalog
	definitions, findings := catalog.Definitions()
	check := doctor.Check{Name: "agents", Status: doctor.OK, Message: counted(len(definitions), "agent") + " in " + counted(len(catalog.Bundles()), "bundle")}
	if len(definitions) == 0 {
		check.Status, check.Fix = doctor.Warning, "'troupe init' writes some to begin with"
	}
	checks := []doctor.Check{check}
	for _, f := range findings {
		if f.Severity == bundle.Error {
			checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: f.Error(), Fix: "'troupe lint' tells all that is wrong"})
		}
	}
	for _, stranger := range project.strangers() {
		checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: stranger, Fix: "'troupe agents' lists those that are there"})
	}
	if err := catalog.Close(); err != nil {
		checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: err.Error()})
	}
	return checks
}

// examineKeys says which keys there are, and never what they are.
func (p *program) examineKeys(project *project) doctor.Check {
	var set []string
	for _, variable := range project.models.KeyVariables() {
		if p.getenv(variable) != "" {
			set = append(set, variable)
		}
	}
	if len(set) == 0 {
		return doctor.Check{Name: "keys", Status: doctor.OK, Message: "no provider's key is in the environment"}
	}
	return doctor.Check{Name: "keys", Status: doctor.OK, Message: strings.Join(set, ", ") + " set"}
}

// examineModels checks the models that are chosen, and asks each of their servers once.
func (p *program) examineModels(ctx context.Context, project *project) []doctor.Check {
	choices := []models.Choice{project.models.For("")}
	for id := range project.config.Agents {
		if c := project.models.For(id); !slices.Contains(choices, c) {
			choices = append(choices, c)
		}
	}
	slices.SortFunc(choices[1:], func(a, b models.Choice) int { return strings.Compare(a.Ref, b.Ref) })
	var checks []doctor.Check
	for _, choice := range choices {
		if choice.IsRehearsal() {
			check := doctor.Check{Name: "model", Status: doctor.OK, Message: "rehearsal, chosen by " + choice.From}
			if choice.From == "" {
				check.Status, check.Message = doctor.Warning, "none is chosen, so agents rehearse"
				check.Fix = "set OPENAI_API_KEY, or model in troupe.yaml, or pass --model provider/name" + doctor.RunningOllama(ctx, &project.models)
			}
			checks = append(checks, check)
			continue
		}
		checks = append(checks, examineModel(ctx, project, choice)...)
	}
	return append(checks, doctor.Others(ctx, &project.models, choices)...)
}

func examineModel(ctx context.Context, project *project, choice models.Choice) []doctor.Check {
	check := doctor.Check{Name: "model", Status: doctor.OK, Message: choice.Ref + ", chosen by " + choice.From}
	endpoint, err := project.models.Endpoint(choice)
	if err == nil {
		var opened models.Opened
		if opened, err = project.models.Open(choice); err == nil {
			check.Message = opened.Ref + ", chosen by " + choice.From + doctor.Describe(opened.Facts)
			_, endpoint.Model, _ = strings.Cut(opened.Ref, "/")
		}
		if opened.Warning != "" {
			check.Status, check.Message, check.Fix = doctor.Warning, check.Message+"; "+opened.Warning, "agents need at least 8192 tokens"
		}
	}
	if err != nil {
		check.Status, check.Message, check.Fix = doctor.Broken, err.Error(), "choose a model as provider/name"
		if missing, ok := errors.AsType[*models.MissingKey](err); ok {
			check.Fix = "set " + missing.Variable + ", in the environment or in .env"
		}
		return []doctor.Check{check}
	}
	return []doctor.Check{check, doctor.Provider(ctx, endpoint)}
}

func (p *program) writeChecks(checks []doctor.Check) error {
	if p.flags.json {
		return p.writeJSON(struct {
			Checks []doctor.Check `json:"checks"`
		}{checks})
	}
	for _, c := range checks {
		mark := map[doctor.Status]string{doctor.OK: "ok     ", doctor.Warning: "warning", doctor.Broken: "BROKEN "}[c.Status]
		fmt.Fprintf(p.out, "%s  %s: %s\n", mark, c.Name, terminal.Clean(strings.ReplaceAll(c.Message, "\n", "\n         ")))
		if c.Fix != "" {
			fmt.Fprintf(p.out, "         → %s\n", terminal.Clean(c.Fix))
		}
	}
	return nil
}

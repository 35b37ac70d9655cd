package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// A Status says how bad a finding is.
type Status string

// The states of a [Check]. Only what is broken keeps agents from working.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Broken  Status = "broken"
)

// A Check is one thing that [Diagnose] has looked at.
type Check struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitempty"`
}

// Diagnose looks at everything that a project needs, whatever else is broken: its
// directory, configuration, agents, keys, models and the servers they are on. It asks
// each server for its models, and changes nothing.
func Diagnose(ctx context.Context, dir string, o Options) []Check {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	absolute, err := directory(dir)
	if err != nil {
		return []Check{{Name: "project", Status: Broken, Message: err.Error(), Fix: "name an existing directory with -C"}}
	}
	c, configured := examineConfig(dir, &o)
	checks := []doctor.Check{configured}
	p := &Project{dir: absolute, config: c, lookup: o.LookupEnv, models: models.Chooser{Config: c, Flag: o.Model, Getenv: o.getenv, Local: o.local()}}
	checks = append(checks, p.examineAgents()...)
	checks = append(checks, p.examineGranted()...)
	checks = append(checks, p.examineKeys())
	checks = append(checks, p.examineKeyFiles(ctx)...)
	checks = append(checks, p.examineModels(ctx)...)
	checks = append(checks, p.examineStore(ctx)...)
	checks = append(checks, doctor.Directory("data", p.DataDir(), p.shown(p.DataDir())))
	if configured.Status == doctor.OK {
		checks = append(checks, examineRuns(ctx, dir, o)...)
	}
	checks = append(checks, p.examineSandbox(ctx, o.SandboxHelper))
	var told []Check
	for _, c := range checks {
		told = append(told, Check{Name: c.Name, Status: Status(c.Status), Message: c.Message, Fix: c.Fix})
	}
	return told
}

// examineConfig returns the configuration, or the defaults where it is broken, and has
// the options know the variables of .env.
func examineConfig(dir string, o *Options) (*config.Config, doctor.Check) {
	check := doctor.Check{Name: "configuration", Status: doctor.OK, Message: "there is no troupe.yaml, so everything has its default"}
	lookup, err := config.Environment(dir, o.LookupEnv)
	o.LookupEnv = lookup
	var c *config.Config
	if err == nil {
		c, err = config.Load(dir, lookup)
	}
	if err != nil {
		check.Status, check.Message, check.Fix = doctor.Broken, err.Error(), "correct the file; the rest of this report goes by the defaults"
		c, _ = config.Parse(config.Name, nil, os.LookupEnv) // an empty file has no problems
	} else if c.Path != "" {
		check.Message = config.Name + " has nothing wrong with it"
	}
	return c, check
}

// memoryBound says what keeps checks from taking all of the memory.
func memoryBound() string {
	if sandbox.MemoryIsBounded() {
		return "their memory is bounded by the kernel (cgroup)"
	}
	return "their memory is only watched, because no control group (cgroup) can be made here"
}

// examineSandbox tries out how the checks of deliveries are kept apart.
func (p *Project) examineSandbox(ctx context.Context, helper []string) doctor.Check {
	check := doctor.Check{Name: "sandbox", Status: doctor.OK}
	level := sandbox.Level(p.config.Pipeline.Sandbox)
	if len(p.config.Pipeline.Wrap) > 0 {
		level = sandbox.Wrapped
	}
	s, err := sandbox.Open(ctx, level, helper, p.config.Pipeline.Wrap)
	switch {
	case err != nil:
		check.Status, check.Message = doctor.Warning, "the checks of deliveries cannot be kept apart here: "+err.Error()
		check.Fix = "allow user namespaces, or set pipeline.sandbox_command to a container engine's command, or pipeline.sandbox: off to run checks as they are"
	case s.Level() == sandbox.Full:
		check.Message = "full: checks of deliveries see no home directory, no network and no other processes; " + memoryBound()
	case s.Level() == sandbox.Files:
		check.Status, check.Message = doctor.Warning, "files: checks of deliveries write only where they may and have no sockets ("+s.Why+"); "+memoryBound()
		check.Fix = "allow user namespaces for the full sandbox, with a loopback for tests that need one"
	case s.Level() == sandbox.Wrapped:
		check.Message = "checks of deliveries are run by pipeline.sandbox_command"
	default:
		check.Status, check.Message = doctor.Warning, "off: checks of deliveries run code that a model wrote, with all that you may do"
		check.Fix = "take pipeline.sandbox: off out of " + config.Name
	}
	return check
}

func (p *Project) examineAgents() []doctor.Check {
	bundles, err := bundle.Open(p.dir, bundle.Config{Core: p.config.Core, Bundles: p.config.Bundles})
	if err != nil {
		return []doctor.Check{{Name: "agents", Status: doctor.Broken, Message: err.Error(), Fix: "check bundles and core in troupe.yaml"}}
	}
	p.bundles = bundles
	catalog := bundles.Last()
	definitions, findings := catalog.Definitions()
	check := doctor.Check{Name: "agents", Status: doctor.OK, Message: words.Counted(len(definitions), "agent") + " in " + words.Counted(len(catalog.Bundles()), "bundle")}
	plain := 0
	for id := range p.config.Agents {
		if p.isPlain(id) {
			plain++
		}
	}
	if plain > 0 {
		check.Message += ", and " + strconv.Itoa(plain) + " in " + config.Name
		if len(definitions) == 0 {
			check.Message = words.Counted(plain, "agent") + " in " + config.Name
		}
	}
	if len(definitions)+plain == 0 {
		check.Status, check.Fix = doctor.Warning, "'troupe init' writes some to begin with"
	}
	checks := []doctor.Check{check}
	for _, f := range findings {
		if f.Severity == bundle.Error {
			checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: f.Error(), Fix: "'troupe lint' tells all that is wrong"})
		}
	}
	for _, stranger := range p.Warnings() {
		checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: stranger, Fix: "'troupe agents' lists those that are there"})
	}
	if err := bundles.Close(); err != nil {
		checks = append(checks, doctor.Check{Name: "agents", Status: doctor.Warning, Message: err.Error()})
	}
	return checks
}

// examineKeys says which keys there are, and never what they are.
func (p *Project) examineKeys() doctor.Check {
	var set []string
	for _, variable := range p.models.KeyVariables() {
		if p.models.Getenv(variable) != "" {
			set = append(set, variable)
		}
	}
	if len(set) == 0 {
		return doctor.Check{Name: "keys", Status: doctor.OK, Message: "no provider's key is in the environment"}
	}
	return doctor.Check{Name: "keys", Status: doctor.OK, Message: strings.Join(set, ", ") + " set"}
}

// examineModels checks the models that are chosen, and asks each of their servers once.
func (p *Project) examineModels(ctx context.Context) []doctor.Check {
	choices := []models.Choice{p.models.For("")}
	for id := range p.config.Agents {
		if c := p.models.For(id); !slices.Contains(choices, c) {
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
				check.Fix = p.HowToChooseAModel(ctx)
			}
			checks = append(checks, check)
			continue
		}
		checks = append(checks, p.examineChoice(ctx, choice)...)
	}
	return append(checks, doctor.Others(ctx, &p.models, choices)...)
}

// HowToChooseAModel says what to do where nobody has chosen a model. Keys that are set
// and decide nothing by themselves are named, and an Ollama that answers.
func (p *Project) HowToChooseAModel(ctx context.Context) string {
	how := "set a provider's key such as OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or model in troupe.yaml, or pass --model provider/name"
	for _, way := range p.models.Undecided() {
		how += "; " + way
	}
	return how + doctor.RunningOllama(ctx, &p.models)
}

// examineChoice checks every model of a choice. What is wrong with one that others stand in
// for is a warning.
func (p *Project) examineChoice(ctx context.Context, choice models.Choice) (checks []doctor.Check) {
	each := choice.Each()
	if len(each) == 1 {
		return p.examineModel(ctx, choice)
	}
	opened, err := p.models.Open(choice)
	for _, part := range each {
		own := p.examineModel(ctx, part)
		if err == nil && own[0].Status == doctor.Broken {
			own[0].Status, own[0].Message = doctor.Warning, own[0].Message+"; it is left out, and "+opened.Ref+" is asked"
		}
		checks = append(checks, own...)
	}
	return checks
}

func (p *Project) examineModel(ctx context.Context, choice models.Choice) []doctor.Check {
	check := doctor.Check{Name: "model", Status: doctor.OK, Message: choice.Ref + ", chosen by " + choice.From}
	endpoint, err := p.models.Endpoint(choice)
	if err == nil {
		var opened models.Opened
		if opened, err = p.models.Open(choice); err == nil {
			check.Message = opened.Ref + ", chosen by " + choice.From + doctor.Describe(opened.Facts)
			_, endpoint.Model, _ = strings.Cut(opened.Ref, "/")
		}
		if slices.Contains(opened.Can, models.NoTools) {
			check.Status, check.Message, check.Fix = doctor.Warning, check.Message+"; it cannot call tools", "agents that have tools need another model"
		}
		if opened.Warning != "" {
			check.Message += "; " + opened.Warning
			if opened.IsTight {
				check.Status, check.Fix = doctor.Warning, "agents work best with 8192 tokens or more"
			}
		}
	}
	if err != nil {
		check.Status, check.Message, check.Fix = doctor.Broken, err.Error(), "choose a model as provider/name"
		if missing, ok := errors.AsType[*models.MissingKey](err); ok {
			check.Fix = "set " + missing.Variable + ", in the environment or in .env"
		}
		if refusal, ok := errors.AsType[*models.Refusal](err); ok {
			check.Message, check.Fix = fmt.Sprintf("%s, chosen by %s: %s", choice.Ref, choice.From, refusal.Why), refusal.Fix
		}
		return []doctor.Check{check}
	}
	return []doctor.Check{check, doctor.Provider(ctx, endpoint)}
}

// examineRuns finds what every run would fail on although each file by itself is well:
// flows, rules and skills that do not fit, tools that nobody has, a store that cannot be
// read, users without tokens. Nothing is written.
func examineRuns(ctx context.Context, dir string, o Options) []doctor.Check {
	o.Log, o.Observers, o.isExamined = nil, nil, true
	p, err := Open(dir, o)
	if err != nil {
		return []doctor.Check{{Name: "project", Status: doctor.Broken, Message: err.Error(), Fix: "correct it: every command fails on it"}}
	}
	defer p.Close()
	var checks []doctor.Check
	broken := func(name, fix string, err error) {
		checks = append(checks, doctor.Check{Name: name, Status: doctor.Broken, Message: err.Error(), Fix: fix})
	}
	checks = append(checks, p.examineFile(ctx)...)
	s := &stage{project: p}
	for _, id := range p.agentIDs() {
		if err := s.examineTools(id); err != nil {
			broken("tools", "correct agents."+id+".tools in "+config.Name, err)
		}
	}
	for _, rule := range p.unknown.rules {
		broken("tools", "correct it: as it is, it is about no tool", rule)
	}
	checks = append(checks, s.examineRoom(ctx)...)
	if err := errors.Join(p.checkEngine(), p.checkQueues()); err != nil {
		broken("workers", "correct "+config.Name, err)
	}
	if _, err := p.users(); err != nil {
		broken("users", "set the variable where the server is started", err)
	}
	return checks
}

// examineTools says which of an agent's tools nobody has, or cannot be made. Those of
// MCP servers are not asked for.
func (s *stage) examineTools(id string) error {
	wanted := s.project.config.Agents[id].Tools
	ready := s.ready(id)
	known := slices.Sorted(maps.Keys(ready))
	if !s.project.isPlain(id) {
		specs, err := s.project.catalog().Tools(id, s.project.optionsOf(id))
		if err != nil {
			return nil // which agents cannot start is said elsewhere
		}
		for _, spec := range specs {
			known = append(known, spec.Name)
		}
	}
	for _, pattern := range wanted {
		if pattern == ofTheBundle || s.isAbsent(pattern) {
			continue
		}
		found := false
		for _, name := range known {
			if !fits(pattern, name) {
				continue
			}
			found = true
			if ready[name] == nil {
				continue
			}
			if _, err := ready[name](); err != nil {
				return fmt.Errorf("agents.%s.tools in %s: %s: %w", id, config.Name, name, err)
			}
		}
		if !found {
			return fmt.Errorf("agents.%s.tools in %s: %s", id, config.Name, noTool(pattern, known))
		}
	}
	return nil
}

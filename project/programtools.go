package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/tool/repo"
)

// unknownTools are the places of troupe.yaml that name tools, or arguments of theirs, that
// nobody here has: the tools of agents, and the rules of approve and queues.
type unknownTools struct {
	agents, rules config.Problems
	// excused are the rules for tools that agents are given, which another program may have.
	excused map[config.Problem]bool
}

// addTools has agents find the tools of the program, and looks for names of tools that are
// nobody's.
func (p *Project) addTools(o *Options) error {
	named := map[string]troupe.Tool{}
	for i, tool := range o.Tools {
		if tool == nil {
			return fmt.Errorf("project.Options.Tools: tool %d is nil", i+1)
		}
		spec := tool.Spec()
		if _, err := troupe.NewRawTool(spec, tool.Call); err != nil {
			return fmt.Errorf("project.Options.Tools: %w", err)
		}
		if named[spec.Name] != nil {
			return fmt.Errorf("project.Options.Tools: there are two tools %s", spec.Name)
		}
		if err := p.checkName(spec.Name); err != nil {
			return fmt.Errorf("project.Options.Tools: %w", err)
		}
		named[spec.Name] = tool
	}
	p.tools = named
	p.unknown = unknownTools{agents: p.unknownOfAgents(), excused: map[config.Problem]bool{}}
	p.unknown.rules = slices.Concat(p.unknownOfRules(), p.unknownOfQueues())
	found := slices.Concat(p.unknown.agents, p.unknown.rules)
	if o.AllowUnknownTools {
		// A rule for a tool of another program is one for a tool that some agent is given. All
		// else is a mistake in any program: a rule that denies nothing must not be passed over.
		found = slices.DeleteFunc(slices.Clone(p.unknown.rules), func(problem config.Problem) bool { return p.unknown.excused[problem] })
	}
	if len(found) > 0 && !o.isExamined {
		return found
	}
	return nil
}

// isGiven says whether troupe.yaml gives an agent a tool of a name, whoever has it.
func (p *Project) isGiven(name string) bool {
	for _, agent := range p.config.Agents {
		if slices.ContainsFunc(agent.Tools, func(pattern string) bool { return fits(pattern, name) }) {
			return true
		}
	}
	return false
}

// checkName says why a tool of the program cannot have a name.
func (p *Project) checkName(name string) error {
	if name == ofTheBundle || slices.Contains(p.ownTools(), name) {
		return fmt.Errorf("%s is the name of a tool that comes with Troupe", name)
	}
	for server := range p.mcpServers() {
		if strings.HasPrefix(name, server+toolSeparator) {
			return fmt.Errorf("%s is the name of a tool of the MCP server %s", name, server)
		}
	}
	return nil
}

// ownTools are the names of all tools that agents may have, but for those of MCP servers and
// of agents that are tools.
func (p *Project) ownTools() []string {
	ready := slices.Collect(maps.Keys((&stage{project: p}).ready("")))
	return slices.Concat(ready, []string{runCommand, "use_skill", "search_skills"}, bundle.ToolNames())
}

// unknownOfAgents finds names in agents' tools that neither an agent nor a server can have.
// Which of its bundle's tools an agent has is known when it is made.
func (p *Project) unknownOfAgents() (problems config.Problems) {
	s := &stage{project: p}
	for _, id := range slices.Sorted(maps.Keys(p.config.Agents)) {
		known := slices.Collect(maps.Keys(s.ready(id)))
		if !p.isPlain(id) {
			known = append(known, bundle.ToolNames()...)
		}
		slices.Sort(known)
		known = slices.Compact(known)
		for i, pattern := range p.config.Agents[id].Tools {
			if pattern == ofTheBundle || s.isAbsent(pattern) || slices.ContainsFunc(known, func(name string) bool { return fits(pattern, name) }) {
				continue
			}
			problems = append(problems, config.Problem{
				File: p.config.Path, Line: config.LineOf(p.config.Path, "agents", id, "tools", strconv.Itoa(i)), Message: fmt.Sprintf("agents.%s.tools: %s", id, noTool(pattern, known)),
			})
		}
	}
	return problems
}

// noTool is what is wrong with the name of a tool that nobody has.
func noTool(name string, known []string) string {
	why := "there is no tool " + name
	if _, isClose := suggest.Closest(name, known); isClose {
		return fmt.Sprintf("%s%s; there are %s", why, suggest.Hint(name, known), strings.Join(known, ", "))
	}
	return fmt.Sprintf("%s; there are %s; %s", why, strings.Join(known, ", "), notKnownHere)
}

// notKnownHere is said of a name that is not close to any other, and so may be a tool's of
// another program.
const notKnownHere = "a tool that a program brings (project.Options.Tools) is not known to any other program"

// unknownOfRules finds rules that can never match: a mistyped one that was to deny a call
// would let it through. Tools of servers are not known yet, nor those that editors bring.
func (p *Project) unknownOfRules() (problems config.Problems) {
	if len(p.approve) == 0 {
		return nil
	}
	known := p.callable()
	for i, rule := range p.approve {
		message := ""
		switch {
		case strings.Contains(rule.Tool, toolSeparator):
			continue
		case !strings.ContainsAny(rule.Tool, "*?") && !slices.Contains(known, rule.Tool):
			message = noTool(rule.Tool, known)
		default:
			if err := p.checkArguments(rule); err != nil {
				_, message, _ = strings.Cut(err.Error(), ": ") // without the number of the rule: it has a line
			}
		}
		if message != "" {
			problem := config.Problem{File: p.config.Path, Line: config.LineOf(p.config.Path, "approve", strconv.Itoa(i)), Message: "approve: " + message}
			problems = append(problems, problem)
			p.unknown.excused[problem] = !slices.Contains(known, rule.Tool) && p.isGiven(rule.Tool)
		}
	}
	return problems
}

// callable are the names that calls may have, but for those of MCP servers.
func (p *Project) callable() []string {
	known := slices.Concat(p.ownTools(), pipeline.ToolNames(), p.agentIDs(), slices.Collect(maps.Keys(p.config.Flows)))
	slices.Sort(known)
	return slices.Compact(known)
}

// unknownOfQueues finds queues that wait for a tool which no run will ever have.
func (p *Project) unknownOfQueues() (problems config.Problems) {
	s := &stage{project: p}
	for i, queue := range p.config.Queues {
		for _, pattern := range queue.Tools {
			if strings.Contains(pattern, toolSeparator) || s.isAbsent(pattern) || slices.ContainsFunc(p.callable(), func(name string) bool { return isLike(pattern, name) }) {
				continue
			}
			line := config.LineOf(p.config.Path, "queues", strconv.Itoa(i))
			problem := config.Problem{File: p.config.Path, Line: line, Message: fmt.Sprintf("queues: %s: %s", queue.Name, noTool(pattern, p.callable()))}
			problems = append(problems, problem)
			p.unknown.excused[problem] = p.isGiven(pattern)
		}
	}
	return problems
}

// checkArguments says which argument of a rule none of its tools has, as far as they are
// known without asking anybody.
func (p *Project) checkArguments(rule approve.Rule) error {
	if len(rule.Where) == 0 || strings.ContainsAny(rule.Tool, "*?") && len(p.mcpServers())+len(p.config.A2A) > 0 {
		return nil
	}
	tools := repo.Tools(repo.Config{}) // some have the names of others, and not their arguments
	for name, open := range (&stage{project: p}).ready("") {
		if strings.HasPrefix(name, "ask_") && p.tools[name] == nil {
			continue // its card would be asked for
		}
		if tool, err := open(); err == nil {
			tools = append(tools, tool)
		}
	}
	tools = slices.DeleteFunc(tools, func(tool troupe.Tool) bool {
		return approve.Policy{{Tool: rule.Tool, Do: approve.Deny}}.Decide(tool.Spec().Name, nil) != approve.Deny
	})
	if len(tools) == 0 {
		return nil
	}
	return approve.Policy{rule}.Check(tools...)
}

// guardOne has the rules decide on a tool's calls. Where a rule names an argument that the tool
// of a server does not have, no call is made: nobody can say whether the rule would have let
// it through. Of other tools that is known when the project is opened.
func (p *Project) guardOne(tool troupe.Tool) troupe.Tool {
	name := tool.Spec().Name
	var policy approve.Policy
	for _, rule := range p.approve {
		err := error(nil)
		if rule.Tool == name {
			err = approve.Policy{rule}.Check(tool)
		}
		switch {
		case err == nil:
			policy = append(policy, rule)
		case strings.Contains(name, toolSeparator):
			_, why, _ := strings.Cut(err.Error(), ": ")
			p.log.Warn("tool not usable: a rule does not fit it", "tool", name, "err", why)
			return &ruledOut{tool, "approve in " + config.Name + " has a rule that does not fit: " + why}
		}
	}
	return policy.Tools(tool)[0]
}

// A ruledOut is a tool whose calls the rules cannot decide on.
type ruledOut struct {
	troupe.Tool
	why string
}

func (r *ruledOut) Call(context.Context, *troupe.Invocation) (troupe.Result, error) {
	return troupe.Result{}, &troupe.ToolError{Class: "unauthorized", Message: r.why}
}

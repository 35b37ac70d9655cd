package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/server"
)

// isInteractive says whether a person is there to talk to.
func (p *program) isInteractive() bool {
	return p.isTerminal(p.in) && p.isTerminal(p.out) && !p.flags.json
}

// chooseAgent returns the agent that the arguments name, the one that a user would
// begin with, or the one that the person in the terminal chooses.
func (p *program) chooseAgent(ctx context.Context, opened *project.Project, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	list := opened.Agents()
	if name := opened.DefaultAgent(); name != "" {
		if _, err := opened.Find(name); err != nil {
			return "", fmt.Errorf("default_agent in %s: %w", project.Name, err)
		}
		if len(list) > 1 {
			p.tell("This is %s; 'troupe agents' lists the others, and 'troupe chat NAME' begins with one of them.", name)
		}
		return name, nil
	}
	if len(list) == 0 {
		return "", fmt.Errorf("there are no agents in %s; 'troupe init' writes some to begin with", opened.Dir())
	}
	if agent, ok := firstAgent(list); ok {
		if len(list) > 1 {
			p.tell("This is %s; 'troupe agents' lists the others, and 'troupe chat NAME' begins with one of them.", nameOf(&agent))
		}
		return agent.ID, nil
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	if !p.isInteractive() {
		return "", usage("which agent? There are %s", strings.Join(ids, ", "))
	}
	return p.askForAgent(ctx, list)
}

// agentOf is who goes on with a session, as the arguments of a command would have it: nobody
// where the session is not there, or of somebody who is not there any more.
func (p *program) agentOf(ctx context.Context, session string) (args []string) {
	_ = p.inProject(func(opened *project.Project) error { // what is wrong with it is said by whoever opens it next
		id, err := sessionID(ctx, opened, session)
		if err != nil {
			return err
		}
		engine, err := opened.Engine(ctx)
		if err != nil {
			return err
		}
		info, err := converse.Info(ctx, engine, id, "")
		if err != nil {
			return err
		}
		agent, err := opened.ChosenAgent(ctx, info)
		if err != nil {
			return err
		}
		if _, err := opened.Find(agent); err == nil {
			args = []string{agent}
		}
		return nil
	})
	return args
}

// firstAgent is the one that a user begins with where nobody says: the only one, or the
// analyst, with whom work begins in BMAD. Agents that cannot start do not count if
// others can.
func firstAgent(list []server.Agent) (server.Agent, bool) {
	for _, leave := range []func(server.Agent) bool{
		func(a server.Agent) bool { return a.Broken != "" },
		func(a server.Agent) bool { return !a.EntryPoint },
	} {
		if left := slices.DeleteFunc(slices.Clone(list), leave); len(left) > 0 {
			list = left
		}
	}
	if len(list) == 1 {
		return list[0], true
	}
	for _, isAnalyst := range []func(a *server.Agent) bool{
		func(a *server.Agent) bool { return lastPart(a.ID) == "analyst" },
		func(a *server.Agent) bool { return strings.HasSuffix(lastPart(a.ID), "-analyst") },
		func(a *server.Agent) bool { return strings.Contains(strings.ToLower(a.Title), "business analyst") },
	} {
		for i := range list {
			if isAnalyst(&list[i]) {
				return list[i], true
			}
		}
	}
	return server.Agent{}, false
}

func lastPart(id string) string { return strings.ToLower(id[strings.LastIndex(id, "/")+1:]) }

// nameOf is how an agent is announced.
func nameOf(a *server.Agent) string {
	name := cmp.Or(a.Name, a.ID)
	if a.Title != "" && a.Title != name {
		name += ", " + a.Title
	}
	return terminal.OneLine(name, 100)
}

// askForAgent has the person choose from a list.
func (p *program) askForAgent(ctx context.Context, list []server.Agent) (string, error) {
	for i := range list {
		line := fmt.Sprintf("%3d  %-24s %s", i+1, list[i].ID, nameOf(&list[i]))
		if list[i].Broken != "" {
			line += " (cannot start: " + terminal.OneLine(list[i].Broken, 120) + ")"
		}
		fmt.Fprintln(p.err, line)
	}
	for {
		fmt.Fprint(p.err, "Which agent? ")
		answer, ok := p.readAnswer(ctx)
		if !ok {
			return "", errInterrupted
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(list) {
			return list[n-1].ID, nil
		}
		if answer != "" {
			return answer, nil
		}
	}
}

// readAnswer reads one line of what a person types, and nothing after it. It ends with
// ctx.
func (p *program) readAnswer(ctx context.Context) (text string, ok bool) {
	in := cancelable(p.in)
	defer in.Close()
	defer context.AfterFunc(ctx, func() { in.Cancel() })()
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		if ctx.Err() != nil {
			return "", false
		}
		if n == 0 || err != nil {
			return strings.TrimSpace(string(line)), len(line) > 0
		}
		if one[0] == '\n' || one[0] == '\r' {
			return strings.TrimSpace(string(line)), true
		}
		line = append(line, one[0])
	}
}

// offerConfiguration offers a person, once, to write the configuration with which the
// agents of a BMAD tree work in the project's own files.
func (p *program) offerConfiguration(ctx context.Context) error {
	offered := false
	err := p.inProject(func(opened *project.Project) error {
		offered = opened.IsOffered()
		return nil
	})
	if err != nil || !offered {
		return err
	}
	fmt.Fprintf(p.err, "There is a BMAD project here and no %s. With one, agents write their documents into the folders that BMAD's\n"+
		"configuration names, and may read the project's files, except keys, .env and .git. Without, documents are kept\n"+
		"in %s, and the project stays closed. Write it? [y/N] ", project.Name, "data/documents")
	answer, _ := p.readAnswer(ctx)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer == "y" || answer == "yes" {
		return p.writeProject(ctx, p.flags.dir)
	}
	return p.inProject(func(opened *project.Project) error { return opened.Refuse() })
}

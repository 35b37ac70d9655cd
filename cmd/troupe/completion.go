package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

// bashWords does for cobra's script for bash what it takes from the package
// bash-completion, which many machines lack.
//
//go:embed completion.bash
var bashWords string

// selfContained has the completion for bash work without the package bash-completion.
func selfContained(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return
	}
	bash.Long = "Writes the script that completes commands, flags, agents, sessions and models in bash.\n\n" +
		"In the shell that is open:\n\n\tsource <(troupe completion bash)\n\n" +
		"In every new one, for yourself:\n\n\ttroupe completion bash > ~/.troupe-completion.bash\n\techo 'source ~/.troupe-completion.bash' >> ~/.bashrc\n"
	bash.RunE = func(c *cobra.Command, _ []string) error {
		without, err := c.Flags().GetBool("no-descriptions")
		if err == nil {
			err = root.GenBashCompletionV2(c.OutOrStdout(), !without)
		}
		if err == nil {
			_, err = c.OutOrStdout().Write([]byte(bashWords))
		}
		return err
	}
}

// completeSessions offers the latest sessions to a shell.
func (p *program) completeSessions(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	_ = p.inProject(func(opened *project.Project) error { // a shell has no use for the error
		sessions, err := opened.Sessions(c.Context(), outputs.Filter{Limit: 50})
		for _, m := range sessions {
			if strings.HasPrefix(m.SessionID, toComplete) {
				found = append(found, cobra.CompletionWithDesc(m.SessionID[:8], terminal.OneLine(fmt.Sprintf("%s, %s: %s", m.Agent.Name, m.Execution.Status, m.UserSummary), 60)))
			}
		}
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeModels offers the models in use and providers to a shell, and those of a
// provider whose name stands there.
func (p *program) completeModels(c *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	_ = p.inProject(func(opened *project.Project) error { // a shell has no use for the error
		if provider, _, ok := strings.Cut(toComplete, "/"); ok {
			list, err := opened.ModelsOf(c.Context(), provider)
			for _, m := range list {
				found = append(found, cobra.CompletionWithDesc(m.Ref, strings.Join(m.Can, " ")))
			}
			return err
		}
		for _, m := range opened.Models(c.Context()) {
			if m.Ref != "rehearsal" {
				found = append(found, cobra.CompletionWithDesc(m.Ref, m.Use))
			}
		}
		for _, provider := range opened.Providers() {
			if provider.IsSetUp {
				found = append(found, cobra.CompletionWithDesc(provider.Name+"/", provider.Title))
			}
		}
		return nil
	})
	if !strings.Contains(toComplete, "/") {
		found = append(found, cobra.CompletionWithDesc("rehearsal", "no model at all"))
	}
	found = slices.DeleteFunc(found, func(f cobra.Completion) bool { return !strings.HasPrefix(f, toComplete) })
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFlags offers what flags take to a shell: sessions to --session, models to
// --model, and the words of those that take one of a few.
func (p *program) completeFlags(root *cobra.Command) {
	sessions := func(c *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return p.completeSessions(c, nil, toComplete)
	}
	words := map[string][]cobra.Completion{
		"log-level": {"debug", "info", "warn", "error"}, "approve": {"auto", "plan", "diff", "manual"}, "format": {"markdown", "jsonl"},
		"status": {"running", "waiting", "interrupted", "completed", "failed", "cancelled"},
	}
	// A flag that a command lacks cannot be completed, which is no mistake here.
	_ = root.RegisterFlagCompletionFunc("model", p.completeModels)
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(words["log-level"], cobra.ShellCompDirectiveNoFileComp))
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, flag := range []string{"session", "link"} {
			_ = c.RegisterFlagCompletionFunc(flag, sessions)
		}
		for flag, list := range words {
			if c.Flags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if c.ValidArgsFunction == nil && strings.Contains(c.Use, " ID") && c.Parent() != nil && c.Parent().Name() == "sessions" {
			c.ValidArgsFunction = p.completeSessions
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

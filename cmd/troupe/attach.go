package main

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/project"
)

// maxAttachment bounds a file that is attached, in bytes, as the server does.
const maxAttachment = 8 << 20

// attachFlag gives a command --attach.
func (p *program) attachFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&p.attach, "attach", nil, "attach this file to the first message; may be given several times")
}

// attachments reads the files that are to go with the first message.
func (p *program) attachments() (parts []troupe.Part, err error) {
	for _, name := range p.attach {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, usage("--attach: %w", err)
		case !info.Mode().IsRegular():
			return nil, usage("--attach: %s is no file", name)
		case info.Size() > maxAttachment:
			return nil, usage("--attach: %s has %d bytes; at most %d can be attached", name, info.Size(), maxAttachment)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usage("--attach: %w", err)
		}
		parts = append(parts, troupe.Part{Name: filepath.Base(name), MIME: typeOf(name, data), Data: data})
	}
	return parts, nil
}

// typeOf says of what type a file is, by its name or else by what it begins with.
func typeOf(name string, data []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".yaml", ".yml":
		return "application/yaml"
	}
	for _, known := range []string{mime.TypeByExtension(filepath.Ext(name)), http.DetectContentType(data)} {
		if media, _, err := mime.ParseMediaType(known); err == nil {
			return media
		}
	}
	return "application/octet-stream"
}

// shownMessages is how much of a conversation is shown when it goes on.
const shownMessages = 20

// tellSoFar shows the latest of what was said in a session, so that whoever goes on with
// it knows where it stands.
func (p *program) tellSoFar(ctx context.Context, c *conversation) error {
	var said []string
	for e, err := range c.stage.folders.Events(ctx, c.session, 0) {
		if err != nil {
			return err
		}
		c.used.Note(&e)
		if e.Parent != "" {
			continue
		}
		switch b := e.Body.(type) {
		case *troupe.UserSaid:
			if !b.Hidden {
				said = append(said, "› "+b.Text)
			}
		case *troupe.RunFinished:
			said = append(said, b.Output.Summary)
		}
	}
	if left := len(said) - shownMessages; left > 0 {
		p.tell("(%s before this; 'troupe sessions export %s' has them all)\n", counted(left, "message"), c.session[:8])
		said = said[left:]
	}
	for _, text := range said {
		p.tell("%s\n", terminal.Clean(text))
	}
	return nil
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

// completeFlags offers what flags take to a shell: sessions to --session, models to
// --model, and the words of those that take one of a few.
func (p *program) completeFlags(root *cobra.Command) {
	sessions := func(c *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return p.completeSessions(c, nil, toComplete)
	}
	models := func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found := []cobra.Completion{cobra.CompletionWithDesc("rehearsal", "no model at all")}
		_ = p.inProject(func(opened *project.Project) error {
			for _, m := range opened.Models(c.Context()) {
				found = append(found, cobra.CompletionWithDesc(m.Ref, m.Use))
			}
			for _, provider := range opened.Providers() {
				if provider.IsSetUp {
					found = append(found, cobra.CompletionWithDesc(provider.Name+"/", provider.Title))
				}
			}
			return nil
		})
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	words := map[string][]cobra.Completion{
		"log-level": {"debug", "info", "warn", "error"}, "approve": {"auto", "plan", "diff", "manual"}, "format": {"markdown", "jsonl"},
		"status": {"running", "waiting", "interrupted", "completed", "failed", "cancelled"},
	}
	// A flag that a command lacks cannot be completed, which is no mistake here.
	_ = root.RegisterFlagCompletionFunc("model", models)
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

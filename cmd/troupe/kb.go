package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) kbCommand() *cobra.Command {
	kb := &cobra.Command{Use: "kb", Short: "Keep documents and find passages in them", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage("kb: upload, search, list or serve?") }}
	var description string
	upload := &cobra.Command{Use: "upload FILE...", Short: "Keep documents", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inKnowledge(c.Context(), func(base pipeline.Knowledge) error {
				return p.upload(c.Context(), base, args, description)
			})
		}}
	upload.Flags().StringVar(&description, "description", "", "what the documents are about")
	var limit int
	search := &cobra.Command{Use: "search WORDS...", Short: "Find passages", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.inKnowledge(c.Context(), func(base pipeline.Knowledge) error {
				passages, err := base.Query(c.Context(), strings.Join(args, " "), limit)
				if err != nil {
					return err
				}
				return p.writePassages(passages)
			})
		}}
	search.Flags().IntVar(&limit, "limit", 5, "at most so many")
	list := &cobra.Command{Use: "list", Short: "List the documents", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inBase(c.Context(), func(project *project.Project, base *knowledge.Base) error {
				if server := project.KnowledgeServer(); server != "" {
					return fmt.Errorf("the server %s keeps the documents (knowledge.server) and cannot list them; 'troupe kb search' finds them", server)
				}
				return p.listDocuments(c.Context(), base)
			})
		}}
	serve := &cobra.Command{Use: "serve", Short: "Offer the knowledge base as an MCP server on standard input and output", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.inBase(c.Context(), func(project *project.Project, base *knowledge.Base) error {
				// Whoever starts the program owns the file, and may have files of the
				// project uploaded by their names.
				root, err := os.OpenRoot(project.Dir())
				if err != nil {
					return err
				}
				defer root.Close()
				return knowledge.Serve(c.Context(), base, knowledge.ServerOptions{User: project.KnowledgeUser(), Uploads: root}, p.in, output{p.out})
			})
		}}
	kb.AddCommand(upload, search, list, serve)
	return kb
}

// output is a writer that is not ours to close.
type output struct{ io.Writer }

// Close implements [io.Closer].
func (output) Close() error { return nil }

// inKnowledge opens what keeps the project's documents, a server or the embedded base.
func (p *program) inKnowledge(ctx context.Context, f func(pipeline.Knowledge) error) error {
	return p.inProject(func(project *project.Project) error {
		base, closer, err := project.OpenKnowledge(ctx)
		if err != nil {
			return err
		}
		return errors.Join(f(base), closer.Close())
	})
}

// inBase opens the project's embedded knowledge base for as long as f takes.
func (p *program) inBase(ctx context.Context, f func(*project.Project, *knowledge.Base) error) error {
	return p.inProject(func(project *project.Project) error {
		base, err := project.Knowledge(ctx)
		if err != nil {
			return err
		}
		return errors.Join(f(project, base), base.Close())
	})
}

// maxDocument bounds what is read of a file, in bytes: one more than is kept.
const maxDocument = 4<<20 + 1

func (p *program) upload(ctx context.Context, base pipeline.Knowledge, files []string, description string) error {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(f, maxDocument))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := base.Upload(ctx, knowledge.Document{Name: filepath.Base(file), Content: string(content), Description: description}); err != nil {
			return err
		}
		fmt.Fprintln(p.out, terminal.Clean(filepath.Base(file)))
	}
	return nil
}

func (p *program) writePassages(passages []knowledge.Passage) error {
	if p.flags.json {
		return p.writeJSON(listOf(passages))
	}
	if len(passages) == 0 {
		p.tell("Nothing was found.")
	}
	for _, passage := range passages {
		title := passage.Document
		if passage.Heading != "" {
			title += ", " + passage.Heading
		}
		fmt.Fprintf(p.out, "%s\n%s\n\n", terminal.OneLine(title, 120), terminal.Clean(strings.TrimSpace(passage.Text)))
	}
	return nil
}

func (p *program) listDocuments(ctx context.Context, base *knowledge.Base) error {
	documents, err := base.Documents(ctx)
	if err != nil {
		return err
	}
	if p.flags.json {
		return p.writeJSON(listOf(documents))
	}
	table := p.table()
	for _, d := range documents {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", d.ID, terminal.OneLine(d.Name, 60), d.Uploaded.Local().Format(time.DateTime), terminal.OneLine(d.Description, 80))
	}
	return table.Flush()
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/store"
)

// A sessionHit is a session in which something was found.
type sessionHit struct {
	troupe.SessionInfo
	Hits    int    `json:"hits"`
	Event   int64  `json:"event"` // the number of the latest one
	Excerpt string `json:"excerpt"`
}

func (p *program) searchSessionsCommand() *cobra.Command {
	query := store.Query{Limit: 1000}
	var since string
	var most int
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find sessions by what was said and done in them",
		Long: "Finds sessions by the words in messages, tool calls, results and errors, in any order and case; a part in double\n" +
			"quotes as it stands; a word that ends in a star as the beginning of one.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			query.Text = strings.Join(args, " ")
			var err error
			if query.Since, err = parseTime("--since", since, time.Now()); err != nil {
				return err
			}
			return p.reading(c.Context(), []sessionHit{}, func(_ *project.Project, reader store.Log) error {
				found, err := searchSessions(c.Context(), reader, query, most)
				if err != nil {
					return err
				}
				return p.listHits(found)
			})
		},
	}
	c.Flags().StringVar(&query.Agent, "agent", "", "only what this agent did")
	c.Flags().StringVar(&since, "since", "", "only since then: 2h, 2026-01-31, or a time as in 2026-01-31T12:00:00Z")
	c.Flags().IntVar(&most, "limit", 20, "at most so many sessions")
	return c
}

// searchSessions returns the sessions that the latest hits are in, the latest first.
func searchSessions(ctx context.Context, reader store.Log, query store.Query, most int) ([]sessionHit, error) {
	var found []sessionHit
	for hit, err := range reader.Search(ctx, query) {
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(found, func(h sessionHit) bool { return h.ID == hit.Event.Session })
		if i < 0 {
			if most > 0 && len(found) == most {
				continue
			}
			i = len(found)
			found = append(found, sessionHit{
				SessionInfo: troupe.SessionInfo{ID: hit.Event.Session}, Event: hit.Event.Seq, Excerpt: excerpt(hit.Event.Body, query.Text),
			})
		}
		found[i].Hits++
	}
	for i := range found {
		for info, err := range reader.Sessions(ctx, troupe.SessionFilter{ID: found[i].ID}) {
			if err != nil {
				return nil, err
			}
			found[i].SessionInfo = info
		}
	}
	return found, nil
}

// around is how much is shown before a word that was found, in bytes.
const around = 40

// excerpt returns what stands around the first of the words in an event.
func excerpt(body troupe.Body, words string) string {
	text := textOf(body)
	lower := strings.ToLower(text)
	first := len(text)
	for word := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(words, `"`, " "))) {
		if i := strings.Index(lower, strings.TrimRight(word, "*")); i >= 0 && i < first {
			first = i
		}
	}
	if first == len(text) || len(lower) != len(text) {
		first = 0
	}
	from := max(first-around, 0)
	shown := strings.ToValidUTF8(text[from:], "")
	if from > 0 {
		shown = "…" + shown
	}
	return terminal.OneLine(strings.Join(strings.Fields(shown), " "), 100)
}

// textOf is what an event can be found by.
func textOf(body troupe.Body) string {
	switch b := body.(type) {
	case *troupe.UserSaid:
		return b.Text
	case *troupe.ModelReplied:
		return b.Message.Text + b.Message.Refusal + b.Message.Thought
	case *troupe.ToolCalled:
		return b.Tool + " " + string(b.Arguments)
	case *troupe.ToolReturned:
		return b.Tool + " " + b.Content + b.Error
	case *troupe.InputRequested:
		return b.Question
	case *troupe.ArtifactSaved:
		return b.Path + " " + b.Description
	case *troupe.ContextCompacted:
		return b.Summary
	case *troupe.ModelFailed:
		return b.Error
	case *troupe.Noted:
		return b.Name + " " + string(b.Data)
	case *troupe.LimitReached:
		return b.Message
	case *troupe.HandedOff:
		return b.From + " " + b.To
	case *troupe.SessionRenamed:
		return b.Title
	case *troupe.Warned:
		return b.Message
	case *troupe.RunFailed:
		return b.Error + " " + b.Partial
	case *troupe.RunCancelled:
		return b.Reason + " " + b.Partial
	}
	return ""
}

func (p *program) listHits(found []sessionHit) error {
	if p.flags.json {
		return p.writeJSON(listOf(found))
	}
	if len(found) == 0 {
		p.tell("Nothing was found.")
	}
	for _, h := range found {
		fmt.Fprintf(p.out, "%s  %s  %s  %s: %s\n          %s\n", h.ID[:8], h.Updated.Local().Format("2006-01-02 15:04"),
			terminal.OneLine(h.Agent, 30), words.Counted(h.Hits, "hit"), terminal.OneLine(h.Title, 60), h.Excerpt)
	}
	return nil
}

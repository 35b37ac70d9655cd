package knowledge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Memory is the [Mapping] for the memory server of the MCP project. A document is an
// entity with one observation: a line with the hash of its content, and the content.
// The fields name the server's tools; the defaults are its own.
//
// The server finds texts that contain what is asked for, so a question is asked word
// by word, and the passages that have most of the words come first. It knows no
// users: there can be no Username.
type Memory struct {
	Create, Add, Remove, Search string
}

func (m Memory) create() string { return cmp.Or(m.Create, "create_entities") }
func (m Memory) add() string    { return cmp.Or(m.Add, "add_observations") }
func (m Memory) remove() string { return cmp.Or(m.Remove, "delete_observations") }
func (m Memory) search() string { return cmp.Or(m.Search, "search_nodes") }

const memoryType = "document"

func (m Memory) fits(l *link) bool {
	return l.offers(m.create(), "entities") && l.offers(m.add(), "observations") && l.offers(m.remove(), "deletions") && l.offers(m.search(), "query")
}

func (m Memory) signIn(context.Context, *link, string, Secret) error {
	return fmt.Errorf("%w: a memory server has no users to sign in as", ErrRefused)
}

// keep adds the document, and only then removes what it replaces.
func (m Memory) keep(ctx context.Context, l *link, d Document, hash string) error {
	observation := fmt.Sprintf("sha256:%s %s\n\n%s", hash, preview(d.Description+" "+strings.Join(d.Tags, " ")), d.Content)
	_, err := l.call(ctx, m.create(), map[string]any{"entities": []any{
		map[string]any{"name": d.Name, "entityType": memoryType, "observations": []string{observation}},
	}})
	if err != nil {
		return err
	}
	entities, err := m.entities(ctx, l, d.Name)
	if err != nil {
		return err
	}
	for _, e := range entities {
		if e.Name != d.Name || slices.Equal(e.Observations, []string{observation}) {
			continue
		}
		_, err := l.call(ctx, m.add(), map[string]any{"observations": []any{
			map[string]any{"entityName": d.Name, "contents": []string{observation}},
		}})
		if err != nil {
			return err
		}
		older := slices.DeleteFunc(e.Observations, func(o string) bool { return o == observation })
		_, err = l.call(ctx, m.remove(), map[string]any{"deletions": []any{
			map[string]any{"entityName": d.Name, "observations": older},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// has compares the hash of what the server returns, not of what it was told.
func (m Memory) has(ctx context.Context, l *link, d Document, sum string) (bool, error) {
	entities, err := m.entities(ctx, l, d.Name)
	return slices.ContainsFunc(entities, func(e entity) bool {
		return e.Name == d.Name && len(e.Observations) == 1 && hash(contentOf(e.Observations[0])) == sum
	}), err
}

// maxAsked is how many words of a question are asked for.
const maxAsked = 8

func (m Memory) ask(ctx context.Context, l *link, question string, limit int) ([]Passage, error) {
	asked := words(question)
	slices.SortStableFunc(asked, func(a, b string) int { return utf8.RuneCountInString(b) - utf8.RuneCountInString(a) })
	asked = asked[:min(len(asked), maxAsked)]
	seen := map[string]bool{}
	var list []Passage
	for _, word := range asked {
		entities, err := m.entities(ctx, l, word)
		if err != nil {
			return nil, err
		}
		for _, e := range entities {
			if e.Type != memoryType || seen[e.Name] || len(e.Observations) == 0 {
				continue
			}
			seen[e.Name] = true
			for _, p := range split(contentOf(e.Observations[0])) {
				text := strings.ToLower(p.heading + "\n" + p.text)
				passage := Passage{Document: e.Name, Heading: p.heading, Text: p.text}
				for _, word := range asked {
					if strings.Contains(text, word) {
						passage.Score++
					}
				}
				if passage.Score > 0 {
					list = append(list, passage)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Passage) int { return cmp.Compare(b.Score, a.Score) })
	return list[:min(len(list), limit)], nil
}

type entity struct {
	Name         string   `json:"name"`
	Type         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// entities returns those that have a text.
func (m Memory) entities(ctx context.Context, l *link, text string) ([]entity, error) {
	a, err := l.call(ctx, m.search(), map[string]any{"query": text})
	if err != nil {
		return nil, err
	}
	var graph struct {
		Entities []entity `json:"entities"`
	}
	if json.Unmarshal(a.data, &graph) != nil || graph.Entities == nil {
		if err := json.Unmarshal([]byte(a.text), &graph); err != nil {
			return nil, fmt.Errorf("%s: the answer is not a graph: %w", m.search(), err)
		}
	}
	return graph.Entities, nil
}

func contentOf(observation string) string {
	_, content, _ := strings.Cut(observation, "\n\n")
	return content
}

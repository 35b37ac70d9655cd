package project

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store"
)

// listSkills lists the project's skills for the page.
func (s *stage) listSkills(ctx context.Context) ([]server.Skill, error) {
	used, err := s.skillsUsed(ctx, time.Now().AddDate(0, 0, -7))
	if err != nil {
		return nil, err
	}
	var list []server.Skill
	for _, k := range s.project.skills.List() {
		list = append(list, server.Skill{Name: k.Name, Description: k.Description, Category: k.Category, Used: used[k.Name]})
	}
	for _, k := range s.project.skills.Off() {
		list = append(list, server.Skill{Name: k.Name, Description: k.Description, Category: k.Category, Used: used[k.Name], Off: true})
	}
	slices.SortFunc(list, func(a, b server.Skill) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// mostUses is of how many uses of skills, the latest, it is looked up which skill it was.
const mostUses = 5000

// skillsUsed counts how often each skill was loaded since a time.
func (s *stage) skillsUsed(ctx context.Context, since time.Time) (map[string]int, error) {
	used := map[string]int{}
	query := store.Query{Tool: "use_skill", Kinds: []string{"tool_called"}, Since: since, Limit: mostUses}
	for hit, err := range s.store.Search(ctx, query) {
		if err != nil {
			return nil, err
		}
		called, ok := hit.Event.Body.(*troupe.ToolCalled)
		var asked struct{ Name string }
		if ok && json.Unmarshal([]byte(called.Arguments), &asked) == nil {
			used[asked.Name]++
		}
	}
	return used, nil
}

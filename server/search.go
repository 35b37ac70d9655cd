package server

import (
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A searchResult is what was found of each kind, the best first.
type searchResult struct {
	Sessions []sessionView `json:"sessions"`
	Files    []libraryFile `json:"files"`
	Tasks    []taskFound   `json:"tasks"`
}

// A taskFound is something that an agent can do, or an agent itself.
type taskFound struct {
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Label   string `json:"label"`
	Trigger string `json:"trigger,omitempty"`
}

// mostFound is how many of each kind are returned.
const mostFound = 8

func (s *Server) search(c *call) (searchResult, error) {
	words := strings.ToLower(strings.TrimSpace(c.r.URL.Query().Get("q")))
	found := searchResult{Sessions: []sessionView{}, Files: []libraryFile{}, Tasks: []taskFound{}}
	var sessions []troupe.SessionInfo
	for info, err := range s.config.Store.Sessions(c.r.Context(), troupe.SessionFilter{User: c.user, Limit: mostSessions}) {
		if err != nil {
			return found, err
		}
		if strings.Contains(strings.ToLower(info.Title), words) {
			if sessions = append(sessions, info); len(sessions) == mostFound {
				break
			}
		}
	}
	if words != "" && len(sessions) < mostFound && s.config.Logs != nil {
		more, err := s.searchSessions(c, words, troupe.SessionFilter{User: c.user, Limit: mostFound})
		if err != nil {
			return found, err
		}
		for _, info := range more {
			if !slices.ContainsFunc(sessions, func(o troupe.SessionInfo) bool { return o.ID == info.ID }) && len(sessions) < mostFound {
				sessions = append(sessions, info)
			}
		}
	}
	var err error
	if found.Sessions, err = s.views(c.r.Context(), sessions); err != nil {
		return found, err
	}
	for _, agent := range s.config.Cast.Agents() {
		agent = completed(agent)
		if agent.Broken == "" && strings.Contains(strings.ToLower(agent.Name+" "+agent.Title), words) {
			found.Tasks = append(found.Tasks, taskFound{agent.ID, agent.Name, agent.Title, ""})
		}
		for _, command := range agent.Commands {
			if words != "" && !command.Hidden && strings.Contains(strings.ToLower(command.Label+" "+command.Cmd), words) {
				found.Tasks = append(found.Tasks, taskFound{agent.ID, agent.Name, command.Label, command.Trigger})
			}
		}
	}
	found.Tasks = found.Tasks[:min(len(found.Tasks), mostFound)]
	if words == "" {
		return found, nil
	}
	for _, list := range []func(*call) (libraryList, error){s.listDocuments, s.listLibrary} {
		files, err := list(c)
		if err != nil {
			return found, err
		}
		found.Files = append(found.Files, files.Files...)
	}
	found.Files = found.Files[:min(len(found.Files), mostFound)]
	return found, nil
}

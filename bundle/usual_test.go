package bundle

import (
	"strings"
	"testing"
)

// An installer that nobody answers leaves output_folder out and names it in other
// settings. Documents have a place all the same, and the model is told no braces.
func TestAnInstallationThatNobodyAnswered(t *testing.T) {
	const bmm = "planning_artifacts: \"{project-root}/{output_folder}/planning-artifacts\"\n"
	for name, c := range map[string]struct {
		core, bmm, want string
	}{
		"left out":         {"user_name: Ada\n", bmm, "_bmad-output/planning-artifacts"},
		"with the project": {"output_folder: \"{project-root}/out\"\n", bmm, "out/planning-artifacts"},
		"bare":             {"output_folder: out\n", bmm, "out/planning-artifacts"},
		"nothing at all":   {"x: y\n", "y: z\n", "_bmad-output/planning-artifacts"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "_bmad/core/config.yaml", c.core)
			put(t, dir, "_bmad/bmm/config.yaml", c.bmm)
			put(t, dir, "_bmad/bmm/agents/pm.md", `<agent id="pm" name="John" title="T"><activation critical="MANDATORY"><step n="1">Load and read {project-root}/_bmad/bmm/config.yaml NOW</step>
<step n="2">Greet {user_name} in {communication_language}</step></activation><menu><item cmd="*go" action="go">Go</item></menu></agent>`)
			catalog := find(t, dir, Config{})
			s := catalog.sessionsOf(define(t, catalog, "pm"), Options{})
			files, err := s.agent.bundle.open(Options{}, s.documentsThere(), noSession())
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			ws, told, err := s.agent.perform(files)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := ws.Vars().Expand("{planning_artifacts}")
			if err != nil || strings.TrimPrefix(got, projectPrefix) != c.want {
				t.Errorf("planning_artifacts is %q, %v; want %s", got, err, c.want)
			}
			parts, err := s.parts("", ws, told)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				if part.Name != "critical" && (strings.Contains(part.Text, "{user_name}") || strings.Contains(part.Text, "{output_folder}")) {
					t.Errorf("the model is told %s", part.Text)
				}
			}
		})
	}
}

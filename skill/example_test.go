package skill_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/skill"
	"github.com/troupe-dev/troupe/troupetest"
)

// An agent hears of skills by name and description, and loads one when it needs it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "skills")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "haiku"), 0o755); err != nil {
		log.Fatal(err)
	}
	text := "---\nname: haiku\ndescription: Writes haiku. Use it for short poems.\n---\nThree lines: 5, 7 and 5 syllables.\n"
	if err := os.WriteFile(filepath.Join(dir, "haiku", "SKILL.md"), []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	library, err := skill.Open(skill.Config{Roots: []string{dir}})
	if err != nil {
		log.Fatal(err)
	}
	overview := library.Overview(0).Text
	fmt.Println(strings.Contains(overview, "Writes haiku"), strings.Contains(overview, "syllables"))
	agent, err := troupe.NewAgent(troupe.AgentConfig{
		ID: "poet", Instructions: "You write poems.\n\n" + overview, Tools: skill.Tools(library),
		Model: troupetest.NewScript(nil,
			troupetest.Call("use_skill", `{"name":"haiku"}`),
			troupetest.Say("An old silent pond ...").Expect(troupetest.ToolResult("use_skill", "5, 7 and 5"))),
	})
	if err != nil {
		log.Fatal(err)
	}
	engine, err := troupe.New(troupe.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	outcome, err := troupe.Collect(engine.Run(context.Background(), agent, troupe.Input{Text: "A short poem, please."}))
	fmt.Println(outcome.Text, err)
	// Output:
	// true false
	// An old silent pond ... <nil>
}

package project

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// The page says how often a skill was loaded in the last week.
func TestSkillsAreListedWithHowOftenTheyWereUsed(t *testing.T) {
	project := t.TempDir()
	for _, name := range []string{"sum", "mend"} {
		dir := filepath.Join(project, "skills", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: Does it.\n---\nDo it.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := openIn(t, project, "model: rehearsal\nskills: [skills]\nskills_off: {mend: true}\n")
	const id = "00000000-0000-4000-8000-000000000001"
	for i, use := range []struct {
		ago             time.Duration
		tool, arguments string
	}{{time.Hour, "use_skill", `{"name":"sum"}`}, {time.Minute, "use_skill", `{"name":"sum"}`}, {8 * 24 * time.Hour, "use_skill", `{"name":"mend"}`}, {time.Minute, "use_skill", `not JSON`}, {time.Minute, "read_file", `{"name":"sum"}`}} {
		e := troupe.Event{Seq: int64(i + 1), Time: time.Now().Add(-use.ago), Session: id, Run: "r", Step: "1", Agent: "alex", Body: &troupe.ToolCalled{Tool: use.tool, Arguments: troupe.Arguments(use.arguments)}}
		if err := s.store.Append(t.Context(), id, e); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.listSkills(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "mend" || !list[0].Off || list[0].Used != 0 || list[1].Used != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

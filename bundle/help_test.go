package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// The catalogue of help is read from every version, whatever its header says.
func TestHelpOfPublishedTrees(t *testing.T) {
	for tree, code := range map[string]string{
		"installed-6.0.4": "CP", "installed-6.1.0": "CP", "installed-6.2.2": "CP", "installed-6.3.0": "CP", "installed-6.5.0": "CP", "installed-6.12.0": "PRD",
	} {
		tasks, err := find(t, corpus.Path(t, "bmad/"+tree), Config{}).Help(Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tasks, func(task Task) bool { return task.Code == code })
		if i < 0 || len(tasks) < 20 {
			t.Errorf("%s has %d tasks, none with %s", tree, len(tasks), code)
			continue
		}
		if task := tasks[i]; !strings.HasPrefix(task.Phase, "2-") || !task.Required || !slices.Contains(task.Locations, "planning_artifacts") || !strings.Contains(strings.ToLower(task.Outputs), "prd") {
			t.Errorf("%s: %+v", tree, task)
		}
		for _, task := range tasks {
			if task.Name == "" || task.Skill == "" || !helpPhase.MatchString(task.Phase) || strings.HasPrefix(task.Description, "false") {
				t.Errorf("%s: %+v", tree, task)
			}
		}
	}
}

// What was begun is found where the configuration says that it goes.
func TestHelpSaysWhatWasBegun(t *testing.T) {
	dir := unpackTree(t, "compiled")
	put(t, dir, "_bmad/bmm/module-help.csv", "module,skill,display-name,menu-code,description,action,args,phase,after,before,required,output-location,outputs\n"+
		"B,_meta,,,,,,,,,false,https://x,\nB,bmad-create-prd,Create PRD,CP,\"Write, then check\",,,2-planning,bmad-brief,,true,planning_artifacts,prd\n"+
		"B,bmad-brief,Brief,CB,Short row,,1-analysis,,,false,planning_artifacts,product brief\n")
	put(t, dir, "_bmad-output/planning-artifacts/prd.md", "# PRD\n")
	c := find(t, dir, Config{})
	tasks, err := c.Help(Options{ReadProject: true})
	if err != nil || len(tasks) != 2 {
		t.Fatalf("%+v, %v", tasks, err)
	}
	brief, prd := tasks[0], tasks[1]
	if brief.Phase != "1-analysis" || brief.Outputs != "product brief" || len(brief.Found) != 0 {
		t.Errorf("%+v", brief)
	}
	if !prd.Required || !slices.Equal(prd.After, []string{"bmad-brief"}) || len(prd.Found) != 1 || !strings.HasSuffix(prd.Found[0], "planning-artifacts/prd.md") {
		t.Errorf("%+v", prd)
	}
	put(t, dir, "_bmad-output/planning-artifacts/prd.md", "")
	put(t, dir, "_bmad-output/planning-artifacts/briefs/brief-x/BRIEF.md", "# Brief\n")
	put(t, dir, "_bmad/bmm/module-help.csv", "module,skill,display-name,menu-code,description,action,args,phase,after,before,required,output-location,outputs\n"+
		"B,bmad-brief,Brief,CB,d,,,1-analysis,,,false,planning_artifacts,product brief\n"+
		"B,bmad-architecture,Architecture,CA,d,,,plan,,,true,planning_artifacts,architecture\n"+
		"B,bmad-ux,UX,CU,d,,,plan,,,true,planning_artifacts,ux design\n")
	put(t, dir, "_bmad-output/planning-artifacts/architecture/x/ARCHITECTURE-SPINE.md", "# Spine\n")
	put(t, dir, "_bmad-output/planning-artifacts/ux-designs/ux-x/DESIGN.md", "# Design\n")
	tasks, err = find(t, dir, Config{}).Help(Options{ReadProject: true})
	if err != nil || len(tasks) != 3 {
		t.Fatalf("%+v, %v", tasks, err)
	}
	for _, task := range tasks {
		if len(task.Found) != 1 {
			t.Errorf("%s has left %q", task.Name, task.Found)
		}
	}
}

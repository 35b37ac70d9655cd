package bundle

import (
	"slices"
	"testing"
)

func TestTriggersSynonymsAndLabelsAreApart(t *testing.T) {
	for written, want := range map[string]struct {
		cmd, code string
		synonyms  []string
	}{
		"*create-prd":                                                {"*create-prd", "", nil},
		"CP or fuzzy match on create-prd":                            {"*create-prd", "CP", nil},
		"SPM or fuzzy match start party":                             {"*start party", "SPM", nil},
		"MH or fuzzy match on menu or help":                          {"*menu", "MH", []string{"help"}},
		"*exit, leave, goodbye or dismiss agent":                     {"*exit", "", []string{"leave", "goodbye", "dismiss agent"}},
		"DA or fuzzy match on exit, leave, goodbye or dismiss agent": {"*exit", "DA", []string{"leave", "goodbye", "dismiss agent"}},
		"gate {story}":                                               {"*gate {story}", "", nil},
	} {
		c := newCommand(written, "[XX] What it does: well", nil, 1)
		if code := c.Code; c.Cmd != want.cmd || want.code != "" && code != want.code || !slices.Equal(c.Synonyms, want.synonyms) || c.Label != "What it does: well" {
			t.Errorf("%s is %+v", written, c)
		}
	}
}

func TestWhatUsersTypeIsMatchedAsMenusPromise(t *testing.T) {
	d := &Definition{Commands: []Command{
		newCommand("MH or fuzzy match on menu or help", "[MH] Redisplay Menu Help", nil, 1),
		newCommand("CP or fuzzy match on create-prd", "[CP] Create PRD: expert led", []Attribute{{"exec", "a.md", 1}}, 2),
		newCommand("VP or fuzzy match on validate-prd", "[VP] Validate a PRD", []Attribute{{"exec", "b.md", 1}}, 3),
		newCommand("gate {story}", "Quality gate", []Attribute{{"exec", "c.md", 1}}, 4),
		newCommand("DA or fuzzy match on exit, leave, goodbye or dismiss agent", "[DA] Dismiss Agent", nil, 5),
	}}
	for typed, want := range map[string]struct {
		numbers   []int
		arguments string
	}{
		"2": {[]int{2}, ""}, "3.": {[]int{3}, ""}, "cp": {[]int{2}, ""}, "CP for a lamp": {[]int{2}, "for a lamp"}, "*create-prd": {[]int{2}, ""},
		"create-prd lamps": {[]int{2}, "lamps"}, "prd": {[]int{2, 3}, ""}, "validate": {[]int{3}, ""}, "gate 1.2": {[]int{4}, "1.2"},
		"goodbye": {[]int{5}, ""}, "99": {nil, ""}, "What do you think of our competitors in Spain?": {nil, ""}, "help me with this": {nil, ""}, "": {nil, ""},
	} {
		var got []int
		arguments := ""
		for _, m := range d.Match(typed) {
			got = append(got, m.Command.Line)
			arguments = m.Arguments
		}
		if !slices.Equal(got, want.numbers) || arguments != want.arguments {
			t.Errorf("%q means %v with %q", typed, got, arguments)
		}
	}
	for typed, want := range map[string]bool{"DA": true, "exit": true, "*exit": true, "leave": true, "Goodbye": true, "*quit": true, "5": true, "2": false, "leave the label empty": false} {
		if d.IsExit(typed) != want {
			t.Errorf("%q: leaving is %v", typed, !want)
		}
	}
}

// Commands that share a line of the menu are each described by their part of it.
func TestCommandsOfOneLineAreDescribedApart(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "_bmad/bmm/config.yaml", "user_name: Ada\n")
	put(t, dir, "_bmad/bmm/agents/h.md", `<agent id="h" name="Hedy"><persona><role>r</role></persona><menu>
<item type="multi">[SPM] Start Party Mode (suggest a topic), [CH] Chat
<handler match="SPM or fuzzy match start party mode" action="Party"></handler>
<handler match="CH or fuzzy match chat" action="Chat"></handler></item></menu></agent>`)
	for i, want := range []string{"[SPM] Start Party Mode (suggest a topic)", "[CH] Chat"} {
		if c := define(t, find(t, dir, Config{}), "h").Commands[i]; c.Description != want || c.Group == "" {
			t.Errorf("%s is described as %q", c.Cmd, c.Description)
		}
	}
}

package skill

import (
	"strings"
	"testing"
)

func TestNamesAreThoseOfTheStandard(t *testing.T) {
	for name, good := range map[string]bool{
		"pdf": true, "pdf-2": true, "a": true, "2d": true, "überprüfung": true, "技能": true, strings.Repeat("x", 64): true,
		"": false, " ": false, "PDF": false, "pdf_forms": false, "-pdf": false, "pdf-": false, "pdf--forms": false, "a b": false,
		"a/b": false, "..": false, "a.md": false, strings.Repeat("x", 65): false, "x\x00": false, "a\u202eb": false,
	} {
		if err := checkName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAHeaderIsHeldToTheStandard(t *testing.T) {
	for front, want := range map[string]string{
		"name: x\ndescription: y\nlicense: MIT\ncompatibility: any\nmetadata: {a: b}\nallowed-tools: Read": "",
		"label: Whatever It Is\ndescription: y\ncategory: z":                                               "",
		"name: other\ndescription: y":                                                                      CodeName,
		"name: X\ndescription: y":                                                                          CodeName,
		"name: 1\ndescription: y":                                                                          CodeName + " " + CodeName,
		"name: x\ndescription: 0777":                                                                       CodeDescription,
		"name: x\ndescription: " + strings.Repeat("y", 1024):                                               "",
		"name: x\ndescription: " + strings.Repeat("y", 1025):                                               CodeDescription,
		"name: x\ndescription: " + strings.Repeat("ü", 1024):                                               "",
		"name: x\ndescription: y\ncompatibility: " + strings.Repeat("y", 501):                              CodeKey,
		"name: x\ndescription: y\nauthor: z":                                                               CodeKey,
	} {
		h, found := parseHeader("f", "x", []byte("---\n"+front+"\n---\n"))
		if h == nil || codes(found) != want {
			t.Errorf("%.60q: %v, want %q", front, found, want)
		}
	}
	if h, found := parseHeader("f", "x", []byte("label: x\ndescription: y\n\nText")); h == nil || codes(found) != CodeFrontMatter {
		t.Errorf("without front matter: %v, %v", h, found)
	}
}

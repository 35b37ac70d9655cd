package troupetest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Users choose shapes by what the documentation says of them.
func TestTheDocumentationListsEveryShape(t *testing.T) {
	source, err := os.ReadFile("server_shapes.go")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	constants := regexp.MustCompile(`(?m)^\t((?:Shape|Error)\w+) +(?:Shape|ErrorPlace) += "([^"]+)" +// (.+)$`).FindAllStringSubmatch(string(source), -1)
	if len(constants) < 30 {
		t.Fatalf("only %d shapes and places were found", len(constants))
	}
	for _, c := range constants {
		if row := "| `" + c[1] + "` | " + c[2] + " | " + c[3] + " |"; !strings.Contains(string(docs), row) {
			t.Errorf("docs/testing.md lacks the row\n%s", row)
		}
	}
}
